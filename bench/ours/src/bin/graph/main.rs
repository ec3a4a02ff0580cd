//! Measures programs for `cargo xtask bench graph`: networks that torch exported, what the interpreter costs, and the start of the
//! command line.
//!
//! `measure FOLDER [BEGINNING]` runs the programs in a folder that `bench/python/graph.py` wrote, on one thread, and refuses to
//! measure one that gives other numbers than torch. `opgrid`, the command line, stands beside this program.
#![deny(unsafe_code)]

mod mapping;
mod memory;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use opgrid::prelude::*;
use opgrid::set_num_threads;
use opgrid_bench::clock::{self, Effort};
use opgrid_bench::{Measured, failed, times};
use opgrid_graph::{Program, Trace};

/// What is measured of programs, with the name of the program.
const PROGRAMS: [&str; 12] = [
    "chain",
    "mlp_1",
    "bert_1",
    "bert_8",
    "gpt2_1",
    "gpt2_8",
    "llama_1",
    "llama_8",
    "resnet18_1",
    "resnet18_8",
    "mobilenet_v3_1",
    "convnext_tiny_1",
];

/// The programs whose memory is measured.
const IN_MEMORY: [&str; 6] =
    ["bert_8", "gpt2_8", "llama_8", "resnet18_8", "mobilenet_v3_1", "convnext_tiny_1"];

/// How many operators the program `chain` calls.
const CHAIN: u32 = 200;

/// How long a program is measured.
const SECONDS: Duration = Duration::from_secs(1);

/// How often what takes milliseconds and is done once is repeated.
const TRIES: u32 = 20;

/// The programs of a folder.
struct Folder<'p>(&'p Path);

impl Folder<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.pt2"))
    }

    /// A program with its input. Its result was compared with torch's.
    fn load(&self, name: &str) -> Result<(Program, Tensor)> {
        let program = Program::load(self.path(name))?;
        let array =
            |what: &str| Tensor::load(&format!("{}:{what}", self.0.join(format!("{name}.npz")).display()));
        Ok((program, array("input")?))
    }

    /// Refuses a program that gives something else than torch.
    fn expect(&self, name: &str, program: &Program, input: &Tensor) -> Result<()> {
        let expected = Tensor::load(&format!("{}:expected", self.0.join(format!("{name}.npz")).display()))?;
        let largest = |tensor: &Tensor| tensor.abs()?.max()?.to_vec::<f32>();
        let found = &program.run(&[input])?[0];
        let (difference, size) = (largest(&found.sub(&expected)?)?[0], largest(&expected)?[0]);
        if difference <= 1e-3 * size {
            return Ok(());
        }
        let message = format!("{name}: differs from torch by {difference}, expected at most 1e-3 of {size}");
        Err(Error::new(ErrorKind::Value, message))
    }

    /// The time of a run, in nanoseconds.
    fn time(&self, name: &str) -> Result<f64> {
        let (program, input) = self.load(name)?;
        self.expect(name, &program, &input)?;
        let time = lowest(|| program.run(&[&input]))?;
        Ok(if name == "chain" { time / f64::from(CHAIN) } else { time })
    }
}

/// The time of a call at best, in nanoseconds: torch's side measures alike.
fn lowest<X>(call: impl Fn() -> Result<X>) -> Result<f64> {
    times(3, &call)?;
    let (once, _) = clock::once(&call)?;
    let count = (100_000.0 / once).max(1.0) as u32;
    let (mut best, mut rounds) = (f64::INFINITY, 0);
    let end = Instant::now() + SECONDS;
    while Instant::now() < end || rounds < 5 {
        let (time, ()) = clock::once(|| times(count, &call))?;
        best = best.min(time / f64::from(count));
        rounds += 1;
    }
    Ok(best)
}

/// What the interpreter adds to each typed call, in nanoseconds.
fn node() -> Result<f64> {
    let x = Tensor::from_slice(&[1.0f32], &[1])?;
    let chain = |x: &Tensor| (0..CHAIN).try_fold(x.clone(), |y, _| y.mul(&y));
    let program = Trace::new().run(&[&x], |inputs| Ok(vec![chain(&inputs[0])?]))?;
    let typed = clock::best_of_any_length(Effort::FULL, |count| times(count, || chain(&x)))?;
    let run = clock::best_of_any_length(Effort::FULL, |count| times(count, || program.run(&[&x])))?;
    Ok((run - typed) / f64::from(CHAIN))
}

/// How long the command line takes to run a small program, in nanoseconds.
fn first_output(folder: &Folder<'_>) -> Result<f64> {
    let program = std::env::current_exe().map_err(Error::from_source)?.with_file_name("opgrid");
    let input = format!("{}:input", folder.0.join("mlp_1.npz").display());
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let mut command = Command::new(&program);
        command.arg("run").arg(folder.path("mlp_1")).arg(&input).stdout(Stdio::null());
        let (time, status) = clock::once(|| command.status().map_err(Error::from_source))?;
        if !status.success() {
            return Err(Error::new(ErrorKind::Value, format!("`{}` ended with {status}", program.display())));
        }
        best = best.min(time);
    }
    Ok(best)
}

/// The memory that a program takes while it runs, in bytes: measured by a process of its own, as memory is one process's.
fn memory_of(folder: &Folder<'_>, name: &str) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe().map_err(Error::from_source)?);
    let output = command.args(["memory", name]).arg(folder.0).output().map_err(Error::from_source)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.trim().parse().map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        Error::new(ErrorKind::Value, format!("the memory of {name} could not be measured: {said}"))
    })
}

/// Prints that figure.
fn print_memory(folder: &Folder<'_>, name: &str) -> Result<()> {
    set_num_threads(1);
    let (program, input) = folder.load(name)?;
    println!("{}", memory::growth(|| times(3, || program.run(&[&input])))?);
    Ok(())
}

fn measure(folder: &Folder<'_>, beginning: &str) -> Result<Vec<Measured>> {
    set_num_threads(1);
    let mut figures = Vec::new();
    let mut add = |name: &str, value: &dyn Fn() -> Result<f64>| -> Result<()> {
        if name.starts_with(beginning) {
            figures.push((name.to_owned(), value()?));
        }
        Ok(())
    };
    for name in IN_MEMORY {
        add(&format!("{name}_memory"), &|| memory_of(folder, name))?;
    }
    add("node", &node)?;
    for name in PROGRAMS {
        add(name, &|| folder.time(name))?;
    }
    add("map", &|| mapping::time(&folder.path("map_1"), TRIES))?;
    add("first_output", &|| first_output(folder))?;
    Ok(figures)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, name, folder] = arguments.as_slice()
        && command == "memory"
    {
        return match print_memory(&Folder(Path::new(folder)), name) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(2)
            }
        };
    }
    opgrid_bench::main(
        |arguments| match arguments {
            [folder] => measure(&Folder(Path::new(folder)), "").map_err(failed),
            [folder, beginning] => measure(&Folder(Path::new(folder)), beginning).map_err(failed),
            _ => Err("expected a folder with programs, and the beginning of names".into()),
        },
        |case, _| {
            Err(Error::new(
                ErrorKind::Unknown,
                format!("no case `{case}`, instructions are not counted here"),
            ))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_defined_figure_is_measured() {
        let definitions: serde_json::Value =
            serde_json::from_str(include_str!("../../../../graph.json")).expect("the definitions are JSON");
        let figures = definitions["figures"].as_array().expect("a list of figures");
        let defined: BTreeSet<_> =
            figures.iter().filter_map(|figure| figure["name"].as_str()).map(str::to_owned).collect();
        let mut measured: BTreeSet<_> = PROGRAMS.iter().map(|name| (*name).to_owned()).collect();
        measured.extend(IN_MEMORY.map(|name| format!("{name}_memory")));
        measured.extend(["node", "map", "first_output"].map(str::to_owned));
        assert_eq!(measured, defined);
        assert!(node().expect("the chain runs").is_finite());
    }
}
