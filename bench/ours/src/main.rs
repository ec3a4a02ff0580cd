//! Measures opgrid for `cargo xtask bench`; the programs in `bench/torch` answer to the same command lines.
//!
//! - `opgrid-bench measure [SCHEMAS]` prints a line `NAME VALUE` for each figure that a clock or the heap tells, in
//!   nanoseconds or bytes. SCHEMAS is a file with one schema in each line; without it nothing is parsed.
//! - `opgrid-bench CASE N` makes one call `N` times and nothing else, so that its instructions can be counted.
#![deny(unsafe_code)]

mod calls;
mod clock;
mod heap;
mod parsing;
mod registration;
mod threads;

use std::process::ExitCode;

use clock::Effort;
use opgrid::Result;

/// A figure's name and its value.
type Measured = (&'static str, f64);

/// Everything that a clock or the heap tells.
fn measure(schemas: Option<&str>, effort: Effort) -> Result<Vec<Measured>> {
    let mut figures = calls::measure(effort)?;
    figures.extend(threads::measure(effort)?);
    figures.extend(registration::measure(effort)?);
    if let Some(schemas) = schemas {
        figures.push(("parse_schemas", parsing::measure(schemas, effort)?));
    }
    Ok(figures)
}

fn run(arguments: &[String]) -> Result<(), String> {
    let failed = |error: opgrid::Error| error.to_string();
    match arguments {
        [command] if command == "measure" => print(&measure(None, Effort::FULL).map_err(failed)?),
        [command, file] if command == "measure" => {
            let schemas =
                std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
            print(&measure(Some(&schemas), Effort::FULL).map_err(failed)?);
        }
        [case, count] => {
            let count = count.parse().map_err(|_| format!("`{count}` is no number of calls"))?;
            calls::repeat(case, count).map_err(failed)?;
        }
        _ => return Err("expected `measure [SCHEMAS]`, or the name of a case and how often to run it".into()),
    }
    Ok(())
}

fn print(figures: &[Measured]) {
    for (name, value) in figures {
        println!("{name} {value}");
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Figures that `xtask` takes from counted instructions.
    const COUNTED: [&str; 1] = ["typed_call_2_instr"];

    /// One test, because the operators are those of the process: two at once would define them twice.
    #[test]
    fn every_defined_figure_is_measured_and_every_case_runs() {
        let definitions: serde_json::Value =
            serde_json::from_str(include_str!("../../dispatch.json")).expect("the definitions are JSON");
        let figures = definitions["figures"].as_array().expect("a list of figures");
        let defined: BTreeSet<&str> = figures
            .iter()
            .map(|figure| figure["name"].as_str().expect("a name"))
            .filter(|name| !COUNTED.contains(name))
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
