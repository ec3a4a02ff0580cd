//! A measuring program whose costs are known: the cases of the test of `cargo xtask instructions`.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNTER: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => println!("plain 10\nlocked -\nslow 100\nfails -"),
        ["plain", n] => (0..times(n)).for_each(|index| _ = black_box(index)),
        ["locked", n] => (0..times(n)).for_each(add),
        ["slow", n] => (0..times(n) * 200).for_each(|index| _ = black_box(index)),
        _ => {
            eprintln!("this case fails on purpose");
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}

fn times(n: &str) -> u64 {
    n.parse().expect("the runner passes a number")
}

#[inline(never)]
fn add(index: u64) {
    COUNTER.fetch_add(index, Ordering::Relaxed);
}
