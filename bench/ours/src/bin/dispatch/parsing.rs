//! Measures the parser on schemas that are given as text.

use std::hint::black_box;

use opgrid::dispatch::schema::FunctionSchema;
use opgrid::{Error, ErrorKind, Result};

use opgrid_bench::clock::{self, Effort};

/// The best time for all schemas of the text, one in each line, in nanoseconds.
///
/// # Errors
///
/// A line is no schema.
pub fn measure(schemas: &str, effort: Effort) -> Result<f64> {
    let lines: Vec<&str> = schemas.lines().collect();
    let mut best = f64::INFINITY;
    for _ in 0..effort.batches.div_ceil(20) {
        let (time, ()) = clock::once(|| lines.iter().try_for_each(|line| parse(line)))?;
        best = best.min(time);
    }
    Ok(best)
}

fn parse(line: &str) -> Result<()> {
    match FunctionSchema::parse(black_box(line)) {
        Ok(schema) => {
            black_box(schema);
            Ok(())
        }
        Err(error) => Err(Error::new(ErrorKind::Schema, format!("`{line}` is no schema: {error}"))),
    }
}
