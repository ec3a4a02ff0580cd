//! Measures whether two threads that call one operator on one tensor slow each other down.

use std::hint;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use opgrid::Registration;
use opgrid::prelude::*;

use opgrid_bench::Measured;
use opgrid_bench::clock::Effort;

operator! {
    pub Shared = "bench_threads::shared(Tensor a, Tensor b) -> ()";
}

#[inline(never)]
fn shared(_: &Tensor, _: &Tensor) -> Result<()> {
    Ok(())
}

fn register() -> Result<Registration> {
    let mut library = Dispatcher::global().library("bench_threads");
    library.define(Shared).kernel(DispatchKey::Cpu, shared).fallthrough(DispatchKey::Autograd);
    library.finish()
}

/// Nanoseconds per call of one thread alone, and of the slower of two at once.
///
/// # Errors
///
/// That of a call.
pub fn measure(effort: Effort) -> Result<[Measured; 2]> {
    let _registration = register()?;
    let tensor = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    let calls = effort.calls * 10;
    let (mut one, mut two) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..effort.batches {
        one = one.min(batch(&tensor, calls)?);
        two = two.min(both(&tensor, calls)?);
    }
    Ok([("two_threads.one".into(), one), ("two_threads.two".into(), two)])
}

/// Nanoseconds per call.
fn batch(tensor: &Tensor, calls: u32) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..calls {
        Shared.call(tensor, tensor)?;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(calls))
}

/// The slower of two threads that begin together. They wait without sleeping, so that neither has to be woken.
fn both(tensor: &Tensor, calls: u32) -> Result<f64> {
    let ready = AtomicU32::new(0);
    let round = || {
        // The first call of a thread does more than later ones.
        Shared.call(tensor, tensor)?;
        ready.fetch_add(1, Ordering::AcqRel);
        while ready.load(Ordering::Acquire) < 2 {
            hint::spin_loop();
        }
        batch(tensor, calls)
    };
    let (here, there) = std::thread::scope(|scope| {
        let other = scope.spawn(round);
        (round(), other.join())
    });
    let there = there.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(here?.max(there?))
}
