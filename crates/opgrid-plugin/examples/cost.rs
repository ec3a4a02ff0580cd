//! What a call and a fallback through the plugin interface cost beside ours, in nanoseconds.
//!
//! ```text
//! cc -shared -fPIC -O2 -I python/opgrid/include -o cost.so crates/opgrid-plugin/examples/cost.c
//! cargo run --release -p opgrid-plugin --example cost -- ./cost.so
//! ```

use std::hint::black_box;
use std::time::Instant;

use opgrid_core::{DispatchKey, Dispatcher, Error, ErrorKind, Kernel, Result, Returns, ValueRef, including};
use opgrid_plugin::Load;
use opgrid_tensor::Tensor;

/// The calls of one round, and the rounds, of which the fastest counts.
const CALLS: u32 = 20_000;
const ROUNDS: u32 = 30;

fn nanoseconds(dispatcher: &Dispatcher, operator: &str, args: &[ValueRef<'_>]) -> Result<f64> {
    let handle = dispatcher.find(operator)?;
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            let mut returns = Returns::new();
            handle.call_boxed(black_box(args), &mut returns)?;
            black_box(&returns);
        }
        fastest = fastest.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    Ok(fastest)
}

fn main() -> Result<()> {
    let path =
        std::env::args().nth(1).ok_or_else(|| Error::new(ErrorKind::File, "give the path of the plugin"))?;
    let (ours, theirs) = (Dispatcher::new(), Dispatcher::new());
    let mut library = ours.library("cost");
    library.define("same(Tensor self, Tensor other) -> Tensor").boxed(DispatchKey::Cpu, |call| {
        let first = call.tensor(0)?.clone();
        call.push(first);
        Ok(())
    });
    let mut everything = ours.implementations("_", DispatchKey::TestingOnlyGenericMode);
    everything.fallback(Kernel::boxed(|call| call.below()));
    let _own = (library.finish()?, everything.finish()?);
    let _plugin = theirs.load(path)?;

    let (x, y) = (Tensor::from_slice(&[1.0f32], &[1])?, Tensor::from_slice(&[2.0f32], &[1])?);
    let args = [
        ValueRef::from(opgrid_core::TensorType::as_any(&x)),
        ValueRef::from(opgrid_core::TensorType::as_any(&y)),
    ];
    let report = |what: &str, ours: f64, theirs: f64| {
        println!(
            "{what}: ours {ours:.1} ns, through the interface {theirs:.1} ns, ratio {:.2}",
            theirs / ours
        );
    };
    let call = |dispatcher: &Dispatcher| nanoseconds(dispatcher, "cost::same", &args);
    let (a, b) = (call(&ours)?, call(&theirs)?);
    report("call of a boxed kernel", a, b);
    let hooked =
        |dispatcher: &Dispatcher| including(DispatchKey::TestingOnlyGenericMode, || call(dispatcher));
    report("call through a fallback", hooked(&ours)? - a, hooked(&theirs)? - b);
    Ok(())
}
