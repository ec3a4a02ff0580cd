//! `cargo xtask conformance [SUITE]`: compares opgrid with PyTorch, run beside it.
//!
//! `differences` and `missing-operators` print a page of the documentation, and write it to `docs/reference`.
//!
//! A suite has a program of ours and one linked against PyTorch, or a script for it. This file prepares both and
//! hands the rest of the command line over; what is compared stands in the crate `conformance`. Suites of other libraries have
//! an environment with pinned packages instead of PyTorch.

use crate::failure::Failure;
use crate::python::Package;
use crate::torch::Torch;
use crate::workspace::{Workspace, output, passes};
use std::path::PathBuf;
use std::process::Command;

/// Something that is compared.
struct Suite {
    name: &'static str,
    /// Prepares the suite and gives the command that runs it, without the user's options.
    prepare: Prepare,
}

/// How a suite is prepared.
#[derive(Clone, Copy)]
enum Prepare {
    /// Beside PyTorch.
    BesideTorch(fn(&Workspace, &Torch) -> Result<Command, Failure>),
    /// By a script below `conformance`, in an environment with packages.
    WithPackages(&'static str, &'static [&'static str]),
}

use Prepare::{BesideTorch, WithPackages};

/// The suites; the first one runs when none is named.
const SUITES: &[Suite] = &[
    Suite { name: "dispatcher", prepare: BesideTorch(dispatcher) },
    Suite { name: "tensors", prepare: BesideTorch(tensors) },
    Suite { name: "python", prepare: BesideTorch(python) },
    Suite { name: "names", prepare: BesideTorch(names) },
    Suite { name: "modules", prepare: BesideTorch(modules) },
    Suite { name: "operators", prepare: BesideTorch(operators) },
    Suite { name: "autograd", prepare: BesideTorch(autograd) },
    Suite { name: "transforms", prepare: BesideTorch(transforms) },
    Suite { name: "models", prepare: BesideTorch(models) },
    Suite { name: "training", prepare: BesideTorch(training) },
    Suite { name: "autocast", prepare: BesideTorch(autocast) },
    Suite { name: "programs", prepare: BesideTorch(programs) },
    Suite { name: "exported", prepare: BesideTorch(exported) },
    Suite { name: "torch-operators", prepare: BesideTorch(torch_operators) },
    Suite { name: "torch-cost", prepare: BesideTorch(torch_cost) },
    Suite { name: "array-api", prepare: WithPackages("array-api/run.py", &ARRAY_API_NEEDS) },
    Suite { name: "clients", prepare: WithPackages("clients/run.py", &CLIENTS) },
];

/// A page of the documentation that a program of the suite prints; it needs no PyTorch.
struct Page {
    name: &'static str,
    /// Where it is, below the root.
    path: &'static str,
    /// The program that prints it.
    program: &'static str,
}

/// The pages that are written here.
const PAGES: [Page; 2] = [
    Page {
        name: "differences",
        path: "docs/reference/differences.md",
        program: "opgrid-conformance-differences",
    },
    Page {
        name: "missing-operators",
        path: "docs/reference/missing-operators.md",
        program: "opgrid-conformance-missing-operators",
    },
];

/// The options of the suites that take a value.
const OPTIONS: [&str; 13] = [
    "--seeds",
    "--seed",
    "--show",
    "--break",
    "--record",
    "--only",
    "--sample",
    "--max-samples",
    "--details",
    "--jobs",
    "--seconds",
    "--suite",
    "--max-examples",
];

/// The options of the suites that take none.
const FLAGS: [&str; 10] = [
    "--all",
    "--again",
    "--reference",
    "--backward",
    "--missing",
    "--scope",
    "--no-meta",
    "--list",
    "--page",
    "--tracebacks",
];

/// What the test suite of the array API standard imports.
const ARRAY_API_NEEDS: [&str; 6] = [
    "hypothesis==6.170.17",
    "ndindex==1.10.1",
    "numpy==2.4.6",
    "pytest==9.2.0",
    "pytest-json-report==1.5.0",
    "pytest-xdist==3.8.0",
];

/// Libraries that are written for any array.
const CLIENTS: [&str; 8] = [
    "array-api-compat==1.16.0",
    "array-api-extra==0.11.5",
    "einops==0.8.2",
    "numpy==2.4.6",
    "opt_einsum==3.4.0",
    "scikit-learn==1.9.1",
    "scipy==1.17.1",
    "xarray==2026.9.0",
];

/// What torch's database of operators imports.
const DATABASE_NEEDS: [&str; 2] = ["expecttest", "scipy"];

/// The libraries whose networks are exported; another torchvision would bring another torch.
const MODEL_LIBRARIES: [&str; 4] =
    ["safetensors", "torchvision==0.29.*", "timm==1.0.*", "transformers==5.24.*"];

/// Prints every schema that PyTorch has once it is imported.
const PRINT_SCHEMAS: &str = "\
import torch
print('\\n'.join(sorted(str(schema) for schema in torch._C._jit_get_all_schemas())))";

/// Runs a suite.
///
/// # Errors
/// The command line is wrong (a usage error); PyTorch cannot be had; the programs do not build; something differs
/// that is not on the list of wanted differences.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(page) = arguments.first().and_then(|name| PAGES.iter().find(|page| page.name == name)) {
        return match arguments {
            [_] => write_page(&Workspace::current()?, page),
            _ => Err(Failure::usage(format!("`{}` takes no options", page.name))),
        };
    }
    let (suite, options) = suite_of(arguments)?;
    let workspace = Workspace::current()?;
    let mut command = match suite.prepare {
        BesideTorch(prepare) => {
            let torch = Torch::prepare(&workspace)?;
            println!("comparing with torch {}", torch.version());
            prepare(&workspace, &torch)?
        }
        WithPackages(script, packages) => {
            let package = Package::beside(&workspace, suite.name, packages)?;
            let mut command = package.command();
            command.arg(workspace.root().join("conformance").join(script));
            command
        }
    };
    let status = command.current_dir(workspace.root()).args(options).status();
    let status = status.map_err(|error| Failure::new(format!("cannot run the suite: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failure::usage("the suite did not understand its options")),
        _ => Err(Failure::new(format!("the suite `{}` did not pass", suite.name))),
    }
}

/// Prints a page, and writes it to its file, which a test compares with what the code says.
fn write_page(workspace: &Workspace, page: &Page) -> Result<(), Failure> {
    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--package", "opgrid-conformance", "--bin", page.program]);
    let text = output(&mut command)?;
    print!("{text}");
    let file = workspace.root().join(page.path);
    std::fs::write(&file, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

/// The suite that the arguments name, and the options that are left.
fn suite_of(arguments: &[String]) -> Result<(&'static Suite, &[String]), Failure> {
    let (suite, options) = match arguments.split_first() {
        Some((name, rest)) if !name.starts_with('-') => {
            let suite = SUITES.iter().find(|suite| suite.name == name);
            let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
            let unknown = || format!("unknown suite `{name}`; suites are: {}", known.join(", "));
            (suite.ok_or_else(|| Failure::usage(unknown()))?, rest)
        }
        _ => (&SUITES[0], arguments),
    };
    let mut words = options.iter().map(String::as_str);
    while let Some(option) = words.next() {
        if FLAGS.contains(&option) {
            continue;
        }
        if !OPTIONS.contains(&option) {
            let known = [&OPTIONS[..], &FLAGS].concat().join(", ");
            return Err(Failure::usage(format!("unknown option `{option}`; options are: {known}")));
        }
        if words.next().is_none() {
            return Err(Failure::usage(format!("`{option}` needs a value")));
        }
    }
    Ok((suite, options))
}

fn dispatcher(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    let source = workspace.root().join("conformance/driver.cpp");
    let driver = torch.compile(workspace, &source, &["-Wall", "-Wno-maybe-uninitialized"])?;
    let schemas = schemas(workspace, torch)?;
    const PROGRAM: &str = "opgrid-conformance-dispatcher";
    let ours = workspace.build(&["--package", "opgrid-conformance", "--bin", PROGRAM], PROGRAM)?;
    let mut command = Command::new(ours);
    command.arg("--driver").arg(driver).arg("--schemas").arg(schemas);
    Ok(command)
}

fn tensors(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    const PROGRAM: &str = "opgrid-conformance-tensors";
    let ours = workspace.build(&["--package", "opgrid-conformance", "--bin", PROGRAM], PROGRAM)?;
    let mut command = Command::new(ours);
    command.arg("--python").arg(torch.python().get_program());
    command.arg("--program").arg(workspace.root().join("conformance/tensors.py"));
    Ok(command)
}

fn python(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    beside_torch(workspace, torch, "conformance/python/compare.py")
}

/// A call of every public name of torch and of its tensors.
fn names(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    beside_torch(workspace, torch, "conformance/names/run.py")
}

/// Layers, functions and tools of networks, from one seed.
fn modules(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    beside_torch(workspace, torch, "conformance/python/modules.py")
}

/// PyTorch's own database of operators, of which the run needs some packages more.
fn operators(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    torch.require(&DATABASE_NEEDS)?;
    beside_torch(workspace, torch, "conformance/operators/run.py")
}

/// The gradients of the same operators, on the same samples.
fn autograd(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    torch.require(&DATABASE_NEEDS)?;
    beside_torch(workspace, torch, "conformance/autograd/run.py")
}

/// Transforms of the same operators, beside those of torch.func.
fn transforms(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    torch.require(&DATABASE_NEEDS)?;
    beside_torch(workspace, torch, "conformance/transforms/run.py")
}

/// Whole networks, whose weights go from one side to the other by a file.
fn models(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    torch.require(&["safetensors"])?;
    beside_torch(workspace, torch, "conformance/models/run.py")
}

/// The losses of the first steps of training.
fn training(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    beside_torch(workspace, torch, "conformance/training/run.py")
}

/// Result dtypes of the operators in torch's lists for autocast.
fn autocast(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    beside_torch(workspace, torch, "conformance/autocast/run.py")
}

/// Programs that are written for torch, run with opgrid in its place.
fn programs(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    beside_torch(workspace, torch, "conformance/programs/run.py")
}

/// Networks of torch's model libraries, exported by torch and run by a program of ours.
fn exported(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    torch.require(&MODEL_LIBRARIES)?;
    const PROGRAM: &str = "opgrid-conformance-exported";
    let ours = workspace.build(&["--package", "opgrid-conformance", "--bin", PROGRAM], PROGRAM)?;
    let mut command = torch.python();
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.arg(workspace.root().join("conformance/exported/run.py")).arg("--program").arg(ours);
    Ok(command)
}

/// Our operators inside of torch, and torch's here.
fn torch_operators(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    let mut command = beside_torch(workspace, torch, "conformance/torch-operators/run.py")?;
    // The library that torch loads itself.
    passes(workspace.cargo().args(["build", "--package", "torch-operator"]))?;
    command.arg("--example").arg(workspace.target()?.join("debug/libtorch_operator.so"));
    Ok(command)
}

/// What calls of our operators cost there, beside the same operators in C++.
fn torch_cost(workspace: &Workspace, torch: &Torch) -> Result<Command, Failure> {
    let folder = workspace.root().join("conformance/torch-operators");
    let peer = torch.compile(workspace, &folder.join("peer.cpp"), &["-shared", "-fPIC"])?;
    let mut command = torch.python();
    command.env("PYTHONPATH", Package::assemble(workspace, "wheel")?).env("PYTHONDONTWRITEBYTECODE", "1");
    command.arg(folder.join("cost.py")).arg("--peer").arg(peer);
    Ok(command)
}

/// A script that imports both libraries in PyTorch's interpreter.
fn beside_torch(workspace: &Workspace, torch: &Torch, script: &str) -> Result<Command, Failure> {
    let site = Package::assemble(workspace, "dev")?;
    let mut command = torch.python();
    command.env("PYTHONPATH", site).env("PYTHONDONTWRITEBYTECODE", "1");
    command.arg(workspace.root().join(script));
    Ok(command)
}

/// A file with PyTorch's schemas, one per line.
fn schemas(workspace: &Workspace, torch: &Torch) -> Result<PathBuf, Failure> {
    let file = workspace.target()?.join("torch").join(format!("schemas-{}.txt", torch.version()));
    let text = output(torch.python().args(["-c", PRINT_SCHEMAS]))?;
    std::fs::write(&file, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn a_suite_may_be_left_out() {
        let cases = [
            ("", "dispatcher", 0),
            ("--seeds 5 --break 4", "dispatcher", 4),
            ("dispatcher --show 3", "dispatcher", 2),
            ("tensors --seed 3", "tensors", 2),
            ("operators --all --only add,sum --missing", "operators", 4),
            ("array-api --suite checkout --max-examples 20", "array-api", 4),
            ("clients --only sklearn", "clients", 2),
            ("programs --only vae,nanogpt --tracebacks", "programs", 3),
        ];
        for (line, name, left) in cases {
            let arguments = words(line);
            let Ok((suite, options)) = suite_of(&arguments) else { panic!("{line}") };
            assert_eq!((suite.name, options.len()), (name, left), "{line}");
        }
    }

    #[test]
    fn a_wrong_command_line_is_told_before_anything_is_prepared() {
        for line in [
            "nothing",
            "--what 1",
            "--seeds",
            "differences --seeds 3",
            "dispatcher --seeds 1 --show",
            "operators --all --only",
        ] {
            assert!(run(&words(line)).unwrap_err().is_usage(), "{line}");
        }
    }
}
