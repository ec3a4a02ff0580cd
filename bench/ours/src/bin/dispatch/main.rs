//! Measures the dispatcher for `cargo xtask bench dispatch`: calls, registration, and the parser of schemas.
//!
//! `measure` takes a file with one schema in each line; without it nothing is parsed.
#![deny(unsafe_code)]

mod calls;
mod heap;
mod parsing;
mod registration;
mod threads;

use std::process::ExitCode;

use opgrid::Result;
use opgrid_bench::clock::Effort;
use opgrid_bench::{Measured, failed};

/// Everything that a clock or the heap tells.
fn measure(schemas: Option<&str>, effort: Effort) -> Result<Vec<Measured>> {
    let mut figures = calls::measure(effort)?;
    figures.extend(threads::measure(effort)?);
    figures.extend(registration::measure(effort)?);
    if let Some(schemas) = schemas {
        figures.push(("parse_schemas".into(), parsing::measure(schemas, effort)?));
    }
    Ok(figures)
}

fn measure_with(what: &[&str]) -> std::result::Result<Vec<Measured>, String> {
    let read = |file| std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"));
    measure(what.first().copied().map(read).transpose()?.as_deref(), Effort::FULL).map_err(failed)
}

fn main() -> ExitCode {
    opgrid_bench::main(measure_with, calls::repeat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// One test, because the operators are those of the process: two at once would define them twice.
    #[test]
    fn every_defined_figure_is_measured_and_every_case_runs() {
        let definitions: serde_json::Value = serde_json::from_str(include_str!("../../../../dispatch.json"))
            .expect("the definitions are JSON");
        let figures = definitions["figures"].as_array().expect("a list of figures");
        let defined: BTreeSet<&str> = figures
            .iter()
            // `xtask` counts the instructions of some.
            .filter(|figure| figure["counted"].is_null())
            .map(|figure| figure["name"].as_str().expect("a name"))
            .collect();

        let schemas = "aten::relu(Tensor self) -> Tensor\n";
        let measured = measure(Some(schemas), Effort::SMOKE).expect("everything runs");
        let names: BTreeSet<&str> =
            measured.iter().map(|(name, _)| name.split('.').next().expect("a name")).collect();
        assert_eq!(names, defined);
        for (name, value) in measured {
            assert!(value.is_finite() && value > 0.0, "{name} is {value}");
        }

        assert!(calls::repeat("direct_call_2", 3).is_ok());
        let error = calls::repeat("typed_call_9", 3).unwrap_err().to_string();
        assert!(error.starts_with("unknown case `typed_call_9`; cases are: "), "{error}");
    }
}
