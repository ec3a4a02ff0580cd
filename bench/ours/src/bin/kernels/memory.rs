//! Measures calls that only memory limits, beside copies between blocks of the same size.
//!
//! A figure is the time for each byte that is read or written, in parts of that of a copy.

use std::hint::black_box;

use opgrid::Result;
use opgrid::kernels::num_threads;
use opgrid_bench::clock::{self, Effort};
use opgrid_bench::{Case, Measured, times};

use crate::subject::Subject;

/// Single-threaded cases: each reads two tensors of [`Subject::large`] elements, and writes one.
pub const ONE_THREAD: &[Case<Subject>] = &[
    ("add_1e7", |s, n| times(n, || s.large_a.add(&s.large_b))),
    ("mul_1e7", |s, n| times(n, || s.large_a.mul(&s.large_b))),
];

/// Multi-threaded cases.
pub const ALL_THREADS: &[Case<Subject>] = &[
    ("add_1e7_threads", |s, n| times(n, || s.large_a.add(&s.large_b))),
    ("mul_1e7_threads", |s, n| times(n, || s.large_a.mul(&s.large_b))),
];

/// The time of a copy for each byte as `name.one`, that of the case as `name.two`.
///
/// # Errors
///
/// That of a call.
pub fn measure(
    name: &str,
    case: fn(&Subject, u32) -> Result<()>,
    subject: &Subject,
    effort: Effort,
) -> Result<[Measured; 2]> {
    let (from, mut to) = (vec![1.0f32; subject.large], vec![0.0f32; subject.large]);
    let bytes = size_of_val(from.as_slice()) as f64;
    let (mut one, mut two) = (f64::INFINITY, f64::INFINITY);
    // In turn, so that both see the machine in the same states.
    for _ in 0..5 {
        let copied = clock::once(|| {
            copy(&mut to, &from);
            Ok(())
        });
        one = one.min(copied?.0 / (2.0 * bytes));
        let called = clock::best_of_any_length(effort, |count| case(subject, count))?;
        two = two.min(called / (3.0 * bytes));
    }
    Ok([(format!("{name}.one"), one), (format!("{name}.two"), two)])
}

/// Copies a part on each of as many threads as the cases have.
fn copy(to: &mut [f32], from: &[f32]) {
    let part = from.len().div_ceil(num_threads());
    std::thread::scope(|scope| {
        let mut parts = to.chunks_mut(part).zip(from.chunks(part));
        let own = parts.next();
        for (to, from) in parts {
            scope.spawn(|| black_box(to).copy_from_slice(black_box(from)));
        }
        if let Some((to, from)) = own {
            black_box(to).copy_from_slice(black_box(from));
        }
    });
}
