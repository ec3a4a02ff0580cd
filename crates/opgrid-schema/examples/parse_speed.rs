//! Measures how long parsing takes: schemas from a file, one per line, or a built-in sample.
//!
//! ```text
//! cargo run --release -p opgrid-schema --example parse_speed [FILE]
//! ```

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use opgrid_schema::FunctionSchema;

const SAMPLE: &[&str] = &[
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    "aten::relu(Tensor self) -> Tensor",
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, \
     SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
     Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> \
     (Tensor(a!) values, Tensor(b!) indices)",
];

fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(path)?,
        None => SAMPLE.join("\n"),
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let start = Instant::now();
        for line in &lines {
            black_box(FunctionSchema::parse(black_box(line))?);
        }
        best = best.min(start.elapsed());
    }
    let each = best.as_secs_f64() * 1e9 / lines.len() as f64;
    let speed = text.len() as f64 / best.as_secs_f64() / 1e6;
    println!("{} schemas in {best:?}: {each:.0} ns each, {speed:.0} MB/s", lines.len());
    Ok(())
}
