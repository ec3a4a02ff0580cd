//! Programs in C that embed opgrid: the example runs a model, and calls that are wrong are errors.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use opgrid::Tensor;
// The library that programs link is built with the crate.
use opgrid_c as _;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the library, which cargo builds before this.
fn library_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let mut folders = program.ancestors().skip(1).take(2);
    folders.find(|folder| folder.join("libopgrid_c.so").is_file()).expect("the library is built").to_owned()
}

/// Compiles a source below the root and links it to the library.
fn build(source: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(folder).unwrap();
    let out = folder.join(name);
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]);
    compile.arg(root().join("python/opgrid/include")).arg("-o").arg(&out).arg(root().join(source));
    compile.arg("-L").arg(library_folder()).arg("-lopgrid_c");
    let output = compile.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

fn run(program: &Path, arguments: &[&Path], input: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("LD_LIBRARY_PATH", library_folder());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that fails may end before it reads.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn model(name: &str) -> PathBuf {
    root().join("crates/opgrid-graph/tests/models").join(name)
}

/// The numbers of a text that shows a tensor.
fn numbers(text: &str) -> Vec<f32> {
    let words = text.split(|letter: char| !(letter.is_ascii_digit() || "+-.e".contains(letter)));
    words.filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn the_example_runs_a_model() {
    let example = build("examples/run-model-c/run_model.c", "run_model");
    let array = |name: &str| Tensor::load(&format!("{}:{name}", model("mlp.npz").display())).unwrap();
    let given: Vec<String> = array("in0").to_vec::<f32>().unwrap().iter().map(f32::to_string).collect();
    let output = run(&example, &[&model("mlp.pt2")], &given.join(" "));
    let (text, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{errors}");
    let (first, result) = text.split_once('\n').unwrap();
    assert!(first.starts_with("input: float32[s") && first.ends_with(", 8]"), "{first}");
    let (found, expected) = (numbers(result), array("out0").to_vec::<f32>().unwrap());
    assert_eq!(found.len(), expected.len(), "{result}");
    for (found, expected) in found.iter().zip(&expected) {
        // Four digits are shown.
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }
}

#[test]
fn errors_of_the_example_say_what_is_wrong() {
    let example = build("examples/run-model-c/run_model.c", "run_model_errors");
    let fails = |path: &Path, input: &str, expected: &str| {
        let output = run(&example, &[path], input);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(expected), "{errors}");
    };
    fails(Path::new("no/such/model.pt2"), "", "no/such/model.pt2");
    fails(&model("mlp.npz"), "", "archive_format");
    // More rows than the model was exported for.
    fails(&model("mlp.pt2"), &"1 ".repeat(65 * 8), "found 65 for the size");
}

#[test]
fn wrong_calls_are_errors_and_threads_share_a_program() {
    let program = build("crates/opgrid-c/tests/sources/hostile.c", "hostile");
    let broken = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken.pt2");
    let whole = std::fs::read(model("mlp.pt2")).unwrap();
    std::fs::write(&broken, &whole[..whole.len() / 2]).unwrap();
    let output = run(&program, &[&model("mlp.pt2"), &broken], "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text, "done\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
}
