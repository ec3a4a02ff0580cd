//! Measures the operators on tensors for `cargo xtask bench kernels`: small calls, and every family of loops.
//!
//! `measure` takes the beginning of the names of what is measured; without it that is everything but the cases of [`sizes`].
//! Cases run on one thread, but those of the lists for all threads.
#![forbid(unsafe_code)]

mod cases;
mod memory;
mod mlp;
mod own;
mod sizes;
mod subject;

use std::process::ExitCode;

use opgrid::Result;
use opgrid::kernels::{instructions, set_num_threads};
use opgrid_bench::clock::{self, Effort};
use opgrid_bench::{Case, Measured, failed, find};

use cases::{ALL_THREADS, ONE_THREAD};
use subject::Subject;

/// Cases, and those that only memory limits.
type Lists = ([&'static [Case<Subject>]; 3], &'static [Case<Subject>]);

/// Lists of single-threaded cases, of which the first is measured unless more is asked for.
const ON_ONE: Lists = ([ONE_THREAD, sizes::ONE_THREAD, sizes::OTHER_DTYPES], memory::ONE_THREAD);

/// Lists of multi-threaded cases.
const ON_ALL: Lists = ([ALL_THREADS, sizes::ALL_THREADS, &[]], memory::ALL_THREADS);

/// The best time of each call whose name begins as `chosen` does; without it of those that are measured by default.
fn measure(chosen: Option<&str>, effort: Effort) -> Result<Vec<Measured>> {
    let subject = Subject::new(effort.shrink)?;
    let mut figures = Vec::new();
    let lists = if chosen.is_some() { 3 } else { 1 };
    let chosen = chosen.unwrap_or_default();
    for (threads, (cases, memory_cases)) in [(1, ON_ONE), (usize::MAX, ON_ALL)] {
        set_num_threads(threads);
        let cases = cases[..lists].iter().copied().flatten();
        for (name, case) in cases.filter(|(name, _)| name.starts_with(chosen)) {
            figures.push(((*name).into(), clock::best_of_any_length(effort, |count| case(&subject, count))?));
        }
        for (name, case) in memory_cases.iter().filter(|(name, _)| name.starts_with(chosen)) {
            figures.extend(memory::measure(name, *case, &subject, effort)?);
        }
    }
    Ok(figures)
}

fn repeat(name: &str, count: u32) -> Result<()> {
    let all_of = |(cases, memory_cases): Lists| cases.into_iter().flatten().chain(memory_cases);
    let (_, case) = find(name, all_of(ON_ALL).chain(all_of(ON_ONE)))?;
    if !all_of(ON_ALL).any(|(other, _)| *other == name) {
        set_num_threads(1);
    }
    case(&Subject::new(1)?, count)
}

fn main() -> ExitCode {
    eprintln!("loops and products run with {}", instructions());
    let measure = |what: &[&str]| measure(what.first().copied(), Effort::FULL).map_err(failed);
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
        let defined = |extended: bool| -> BTreeSet<&str> {
            let wanted = figures.iter().filter(|figure| extended || figure["extended"] != true);
            wanted.map(|figure| figure["name"].as_str().expect("a name")).collect()
        };
        for (chosen, extended) in [(None, false), (Some(""), true)] {
            let measured = measure(chosen, Effort::SMOKE).expect("everything runs");
            let names: BTreeSet<&str> =
                measured.iter().map(|(name, _)| name.split('.').next().expect("a name")).collect();
            assert_eq!(names, defined(extended));
            for (name, value) in measured {
                assert!(value.is_finite() && value > 0.0, "{name} is {value}");
            }
        }
    }

    #[test]
    fn a_beginning_chooses_figures() {
        let names: Vec<String> = measure(Some("amax"), Effort::SMOKE)
            .expect("they run")
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let sizes = ["amax_64", "amax_1e4", "amax_1e6", "amax_1e6_threads"];
        assert_eq!(
            names,
            ["amax", "amax_i64", "amax_inner", "amax_outer"].into_iter().chain(sizes).collect::<Vec<_>>()
        );
    }
}
