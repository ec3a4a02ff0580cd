//! The example runs a model.

use std::path::Path;
use std::process::{Command, Output};

use opgrid::Tensor;

/// Where the models of the crate's tests are.
fn models() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/opgrid-graph/tests/models")
}

fn run(model: &str, input: &str, output: &Path) -> Output {
    let path = |name: &str| models().join(name).display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_run-model"));
    command.arg(path(model)).arg(path(input)).arg(output).output().unwrap()
}

#[test]
fn a_model_is_run() {
    let output = std::env::temp_dir().join(format!("run-model-{}.npy", std::process::id()));
    let ran = run("mlp.pt2", "mlp.npz:in0", &output);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let found = Tensor::load(&output.display().to_string()).unwrap().to_vec::<f32>().unwrap();
    std::fs::remove_file(output).unwrap();
    let expected = Tensor::load(&format!("{}:out0", models().join("mlp.npz").display())).unwrap();
    let expected = expected.to_vec::<f32>().unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
}
