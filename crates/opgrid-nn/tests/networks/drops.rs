//! Modules and schedules that own one another a hundred thousand deep are dropped on a small stack.

use opgrid_nn::optim::schedule::{LambdaLR, Schedule, SequentialLR};
use opgrid_nn::{ReLU, Sequential};

const LINKS: usize = 100_000;

fn on_a_small_stack(body: fn()) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(body).unwrap().join().unwrap();
}

#[test]
fn sequences_of_sequences_are_dropped_without_recursion() {
    on_a_small_stack(|| {
        let mut last = Sequential::new().then(ReLU);
        for _ in 0..LINKS {
            last = Sequential::new().then(last);
        }
        drop(last);
    });
}

#[test]
fn schedules_of_schedules_are_dropped_without_recursion() {
    on_a_small_stack(|| {
        let rate = || LambdaLR(|_| 0.5);
        let (mut first, mut then) =
            (SequentialLR::new(rate(), 1, rate()), SequentialLR::new(rate(), 1, rate()));
        for _ in 0..LINKS {
            first = SequentialLR::new(first, 1, rate());
            then = SequentialLR::new(rate(), 1, then);
        }
        assert!(then.rate(1.0, 0) > 0.0);
        drop((first, then));
    });
}
