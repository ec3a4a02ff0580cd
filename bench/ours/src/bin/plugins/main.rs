//! Measures the plugin interface for `cargo xtask bench plugins`: what a call and a fallback cost through it, in parts of what
//! ours cost.
//!
//! The plugin is `cost.c`, which this program compiles with `cc`. Both sides do the same: the kernel returns its first
//! argument, the fallback goes on below. What a fallback costs is what it adds to a call of one and the same kernel of ours.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use opgrid::dispatch::{IncludeGuard, Returns, TensorType, ValueRef};
use opgrid::plugin::Plugin;
use opgrid::prelude::*;
use opgrid::{Error, ErrorKind, Registration};
use opgrid_bench::clock::{self, Effort};
use opgrid_bench::{Case, Measured, failed, find, times};

/// The key of our fallback.
const OURS: DispatchKey = DispatchKey::TestingOnlyGenericWrapper;
/// The key of the plugin's fallback.
const THEIRS: DispatchKey = DispatchKey::TestingOnlyGenericMode;

/// Compiles the plugin, beside this program.
fn plugin() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = std::env::current_exe().map_err(Error::from_source)?;
    let path = program.with_extension("cost.so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O2", "-std=c11", "-I"])
        .arg(root.join("../../python/opgrid/include"));
    compiler.arg("-o").arg(&path).arg(root.join("src/bin/plugins/cost.c"));
    let output =
        compiler.output().map_err(|error| file(format!("cannot run cc: {error}; install a C compiler")))?;
    if output.status.success() { Ok(path) } else { Err(file(String::from_utf8_lossy(&output.stderr))) }
}

fn file(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, message)
}

/// What the cases work on: the plugin's operator and ours, on the process's own dispatcher, as programs have them.
struct Subject {
    ours: OperatorHandle,
    theirs: OperatorHandle,
    x: Tensor,
    y: Tensor,
    _registration: Registration,
    _plugin: Plugin,
}

impl Subject {
    fn new() -> Result<Self> {
        let dispatcher = Dispatcher::global();
        let mut library = dispatcher.library("own");
        library.define("same(Tensor self, Tensor other) -> Tensor").boxed(DispatchKey::Cpu, |call| {
            let first = call.tensor(0)?.clone();
            call.push(first);
            Ok(())
        });
        let mut registration = library.finish()?;
        let mut everything = dispatcher.implementations("_", OURS);
        everything.fallback(Kernel::boxed(|call| call.below()));
        registration.join(everything.finish()?);
        let plugin = dispatcher.load(plugin()?)?;
        Ok(Self {
            ours: dispatcher.find("own::same")?,
            theirs: dispatcher.find("cost::same")?,
            x: Tensor::from_slice(&[1.0f32], &[1])?,
            y: Tensor::from_slice(&[2.0f32], &[1])?,
            _registration: registration,
            _plugin: plugin,
        })
    }

    #[inline(always)]
    fn call(&self, operator: &OperatorHandle) -> Result<Returns> {
        let args = [ValueRef::from(self.x.as_any()), ValueRef::from(self.y.as_any())];
        let mut returns = Returns::new();
        operator.call_boxed(&args, &mut returns)?;
        Ok(returns)
    }
}

const CASES: [Case<Subject>; 4] = [
    ("call_ours", |subject, count| times(count, || subject.call(&subject.ours))),
    ("call_plugin", |subject, count| times(count, || subject.call(&subject.theirs))),
    ("hooked_ours", |subject, count| {
        let _hooked = IncludeGuard::new(OURS);
        times(count, || subject.call(&subject.ours))
    }),
    ("hooked_plugin", |subject, count| {
        let _hooked = IncludeGuard::new(THEIRS);
        times(count, || subject.call(&subject.ours))
    }),
];

/// The best time of each call; what fallbacks cost is the difference of two.
fn measure(effort: Effort) -> Result<Vec<Measured>> {
    let subject = Subject::new()?;
    let mut best = [f64::INFINITY; CASES.len()];
    // In turn, so that all see the machine in the same states.
    for _ in 0..effort.batches {
        for ((_, case), best) in CASES.iter().zip(&mut best) {
            let (time, ()) = clock::once(|| case(&subject, effort.calls))?;
            *best = best.min(time / f64::from(effort.calls));
        }
    }
    let [call_ours, call_plugin, hooked_ours, hooked_plugin] = best;
    let figures = [
        ("call.one", call_ours),
        ("call.two", call_plugin),
        ("fallback.one", hooked_ours - call_ours),
        ("fallback.two", hooked_plugin - call_ours),
        ("call_ns", call_plugin),
        ("fallback_ns", hooked_plugin - call_ours),
    ];
    Ok(figures.map(|(name, value)| (name.to_owned(), value)).into())
}

fn repeat(name: &str, count: u32) -> Result<()> {
    let (_, case) = find(name, CASES.iter())?;
    case(&Subject::new()?, count)
}

fn main() -> ExitCode {
    opgrid_bench::main(|_| measure(Effort::FULL).map_err(failed), repeat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_defined_figure_is_measured_and_every_case_runs() {
        let definitions: serde_json::Value =
            serde_json::from_str(include_str!("../../../../plugins.json")).expect("the definitions are JSON");
        let figures = definitions["figures"].as_array().expect("a list of figures");
        let defined: BTreeSet<&str> =
            figures.iter().map(|figure| figure["name"].as_str().expect("a name")).collect();
        let measured = measure(Effort::SMOKE).expect("everything runs");
        let names: BTreeSet<&str> =
            measured.iter().map(|(name, _)| name.split('.').next().expect("a name")).collect();
        assert_eq!(names, defined);
        assert!(measured.iter().all(|(_, value)| value.is_finite()), "{measured:?}");
        assert!(repeat("call_plugin", 3).is_ok());
        let error = repeat("call_nobody", 3).unwrap_err().to_string();
        assert!(error.starts_with("unknown case `call_nobody`; cases are: "), "{error}");
    }
}
