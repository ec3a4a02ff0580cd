//! Measures the operators on tensors for `cargo xtask bench kernels`: small calls, and every family of loops.
//!
//! `measure` takes the beginning of the names of what is measured; without it that is everything. Cases run on one
//! thread, but those of [`cases::ALL_THREADS`].
#![forbid(unsafe_code)]

mod cases;
mod memory;
mod mlp;
mod subject;

use std::process::ExitCode;

use opgrid::Result;
use opgrid::kernels::{isa, set_num_threads};
use opgrid_bench::clock::{self, Effort};
use opgrid_bench::{Case, Measured, failed, find};

use cases::{ALL_THREADS, ONE_THREAD};
use subject::Subject;

/// The best time of each call whose name begins as `chosen` does.
fn measure(chosen: &str, effort: Effort) -> Result<Vec<Measured>> {
    let subject = Subject::new(effort.shrink)?;
    let mut figures = Vec::new();
    for (threads, cases, memory_cases) in
        [(1, ONE_THREAD, memory::ONE_THREAD), (usize::MAX, ALL_THREADS, memory::ALL_THREADS)]
    {
        set_num_threads(threads);
        for (name, case) in cases.iter().filter(|(name, _)| name.starts_with(chosen)) {
            figures.push(((*name).into(), clock::best_of_any_length(effort, |count| case(&subject, count))?));
        }
        for (name, case) in memory_cases.iter().filter(|(name, _)| name.starts_with(chosen)) {
            figures.extend(memory::measure(name, *case, &subject, effort)?);
        }
    }
    Ok(figures)
}

fn repeat(name: &str, count: u32) -> Result<()> {
    let all: [&[Case<Subject>]; 4] = [ALL_THREADS, memory::ALL_THREADS, ONE_THREAD, memory::ONE_THREAD];
    let (_, case) = find(name, all.into_iter().flatten())?;
    if !ALL_THREADS.iter().chain(memory::ALL_THREADS).any(|(other, _)| *other == name) {
        set_num_threads(1);
    }
    case(&Subject::new(1)?, count)
}

fn main() -> ExitCode {
    eprintln!("loops run with {}", isa());
    let measure = |chosen: Option<&str>| measure(chosen.unwrap_or_default(), Effort::FULL).map_err(failed);
    opgrid_bench::main(measure, repeat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_defined_figure_is_measured() {
        let definitions: serde_json::Value =
            serde_json::from_str(include_str!("../../../../kernels.json")).expect("the definitions are JSON");
        let figures = definitions["figures"].as_array().expect("a list of figures");
        let defined: BTreeSet<&str> =
            figures.iter().map(|figure| figure["name"].as_str().expect("a name")).collect();

        let measured = measure("", Effort::SMOKE).expect("everything runs");
        let names: BTreeSet<&str> =
            measured.iter().map(|(name, _)| name.split('.').next().expect("a name")).collect();
        assert_eq!(names, defined);
        for (name, value) in measured {
            assert!(value.is_finite() && value > 0.0, "{name} is {value}");
        }
    }

    #[test]
    fn a_beginning_chooses_figures() {
        let names: Vec<String> =
            measure("amax", Effort::SMOKE).expect("they run").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["amax", "amax_i64", "amax_inner", "amax_outer"]);
    }
}
