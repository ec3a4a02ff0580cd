//! `opgrid call`: results as text, JSON and files; every mistake is one message and leaves nothing behind.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Folder, fails, json, opgrid_in, prints, root};

const A: &str = "examples/data/a.npy";
const B: &str = "examples/data/b.npy";
const DIGITS: &str = "examples/data/digits.npz:images";

fn check(args: &[&str], expected: &str) {
    assert_eq!(prints(&[&["call"], args].concat()), expected, "{args:?}");
}

#[test]
fn files_and_literals_are_arguments() {
    check(&["aten::add.Tensor", A, B, "alpha=2"], "tensor([[ 2.,  0.,  7.],\n        [24.,  5.,  0.]])\n");
    check(&["aten::sum", DIGITS], "tensor(561718.)\n");
    check(
        &["aten::mm", "[[1,2],[3,4]]:f32", "[[5,6],[7,8]]:f32"],
        "tensor([[19., 22.],\n        [43., 50.]])\n",
    );
    check(&["aten::add.Scalar", "[1,2]", "-1"], "tensor([0, 1])\n");
    check(&["aten::add.Scalar", "[1,2]", "true"], "tensor([2, 3])\n");
    check(&["aten::add.Tensor", "[true,false]", "[false,false]", "alpha=true"], "tensor([ True, False])\n");
    check(&["aten::fill_.Scalar", "[1.5]", "true"], "tensor([1.])\n");
    check(&["aten::add.Tensor", "[1,2]", "2.5"], "tensor([3.5000, 4.5000])\n");
    check(&["aten::neg", "self=[1.5,-2]"], "tensor([-1.5000,  2.0000])\n");
    check(&["aten::select.int", A, "0", "index=-1"], "tensor([4., 5., 6.])\n");
    check(&["aten::slice.Tensor", "[1,2,3,4]", "start=none", "step=2"], "tensor([1, 3])\n");
    check(
        &["aten::empty.memory_format", "[2,3]", "dtype=float64", "device=meta"],
        "tensor(..., device='meta', size=(2, 3), dtype=torch.float64)\n",
    );
    check(&["aten::sum", "[true,true]", "dtype=f64"], "tensor(2., dtype=torch.float64)\n");
}

#[test]
fn results_are_described_in_json() {
    let result = &json(&["call", "aten::add.Tensor", A, B])["results"][0];
    assert_eq!(result["dtype"], "float32");
    assert_eq!(result["device"], "cpu");
    assert_eq!(result["sizes"], serde_json::json!([2, 3]));
    assert_eq!(result["values"], serde_json::json!([[1.5, 1.0, 5.0], [14.0, 5.0, 3.0]]));
    let meta = &json(&["call", "aten::empty.memory_format", "[2]", "device=meta"])["results"][0];
    assert_eq!((&meta["device"], &meta["values"]), (&"meta".into(), &serde_json::Value::Null));
    let explained = json(&["call", "aten::neg", "[1]", "--explain"]);
    assert_eq!(explained["explanation"]["hops"][0]["key"], "CPU");
}

#[test]
fn the_path_stands_below_the_result() {
    let text = prints(&["call", "aten::neg", "[1]", "--explain"]);
    let (result, path) = text.split_once('\n').unwrap();
    assert_eq!(result, "tensor([-1])");
    assert!(path.starts_with("aten::neg(Tensor self) -> Tensor\nkeys  self {CPU, "), "{path}");
    assert!(path.contains(" 1  CPU  aten::neg") && path.contains("direct"), "{path}");
}

#[test]
fn times_stand_below_the_result_and_in_a_trace() {
    let folder = Folder::new();
    let trace = folder.file("trace.json");
    let text = prints(&["call", "aten::add.Tensor", A, B, "--profile", &trace]);
    let (_, table) = text.split_once("calls").unwrap_or_else(|| panic!("no table in: {text}"));
    assert!(table.contains("total µs") && table.contains("aten::add.Tensor"), "{text}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let add = events.iter().find(|event| event["name"] == "aten::add.Tensor").unwrap();
    assert_eq!((&add["ph"], &add["args"]["column"]), (&"X".into(), &"CPU".into()));
    let times = json(&["call", "aten::neg", "[1]", "--profile", &folder.file("other.json")]);
    assert_eq!(times["profile"][0]["operator"], "aten::neg");
    assert_eq!(times["profile"][0]["calls"], 1);
}

#[test]
fn a_profile_of_a_call_that_fails_is_not_written() {
    let folder = Folder::new();
    let trace = folder.file("trace.json");
    fails(&["call", "aten::add.Tensor", A, "[1,2]", "--profile", &trace], &["does not broadcast"]);
    let nowhere = folder.file("no/such/folder.npy");
    fails(&["call", "aten::neg", "[1]", "--profile", &trace, "--out", &nowhere], &["no/such"]);
    assert_eq!(folder.count(), 0);
    fails(
        &["call", "aten::neg", "[1]", "--profile", &folder.file("no/trace.json")],
        &["make its folder first"],
    );
}

#[test]
fn slow_paths_are_shown() {
    let text = prints(&["call", "aten::neg", "[1]", "--stats", "--strict"]);
    assert!(text.starts_with("tensor([-1])\nno slow paths\nalive: kernels "), "{text}");
    let stats = &json(&["call", "aten::neg", "[1]", "--stats"])["stats"];
    assert_eq!(stats["slow_paths"], serde_json::json!([]));
    assert!(stats["kernels"].as_u64().unwrap() > 0);
}

#[test]
fn results_are_written_and_read_again() {
    let folder = Folder::new();
    let (one, set) = (folder.file("c.npy"), folder.file("set.npz"));
    assert_eq!(prints(&["call", "aten::add.Tensor", A, B, "--out", &one]), "");
    check(
        &["aten::neg", &one],
        "tensor([[ -1.5000,  -1.0000,  -5.0000],\n        [-14.0000,  -5.0000,  -3.0000]])\n",
    );
    assert_eq!(prints(&["call", "aten::neg", "[1,2]", "--out", &set]), "");
    check(&["aten::neg", &format!("{set}:0")], "tensor([1, 2])\n");
    let path = prints(&["call", "aten::neg", "[3]", "--out", &one, "--explain"]);
    assert!(path.starts_with("aten::neg("), "{path}");
    check(&["aten::neg", &one], "tensor([3])\n");
}

#[test]
fn sets_of_tensors_are_written_and_read_again() {
    let folder = Folder::new();
    let set = folder.file("set.safetensors");
    assert_eq!(prints(&["call", "aten::neg", "[1,2]:bf16", "--out", &set]), "");
    check(&["aten::neg", &format!("{set}:0")], "tensor([1., 2.], dtype=torch.bfloat16)\n");
    mistake(&["aten::neg", &format!("{set}:w")], &["set.safetensors: no array `w`, expected one of 0"]);
    mistake(&["aten::neg", &set], &["set.safetensors:NAME with one of 0"]);
    mistake(&["aten::neg", "none.safetensors:w"], &["none.safetensors: cannot be read"]);
    let broken = folder.file("broken.safetensors");
    std::fs::write(&broken, b"\x08\0\0\0\0\0\0\0{\"w\":{} ").unwrap();
    mistake(&["aten::neg", &format!("{broken}:w")], &["broken.safetensors: byte 16: found EOF"]);
    let npy = folder.file("c.npy");
    fails(
        &["call", "aten::neg", "[1]:bf16", "--out", &npy],
        &["numpy has no dtype for bfloat16", ".safetensors"],
    );
}

/// Checks that a call with a mistake says every part and writes no file.
fn mistake(args: &[&str], parts: &[&str]) {
    let folder = Folder::new();
    let out = folder.file("out.npy");
    fails(&[&["call"], args, &["--out", &out]].concat(), parts);
    assert_eq!(folder.count(), 0, "{args:?}");
}

#[test]
fn a_wrong_shape() {
    mistake(
        &["aten::add.Tensor", A, "[1,2]"],
        &[
            "aten::add.Tensor: argument `other` has shape [2]",
            "does not broadcast with `self` of shape [2, 3]",
        ],
    );
    mistake(&["aten::mm", A, B], &["aten::mm", "2x3"]);
    mistake(&["aten::empty.memory_format", "[-1]"], &["aten::empty.memory_format", "-1"]);
}

#[test]
fn a_wrong_dtype() {
    mistake(
        &["aten::empty.memory_format", "[2]", "dtype=flaot64"],
        &["aten::empty.memory_format: argument `dtype`", "`flaot64`", "expected one of", "float64"],
    );
    mistake(&["aten::add.Tensor", "[1]", "[2]", "alpha=1.5"], &["`alpha`", "1.5", "int64"]);
    mistake(&["aten::add_.Tensor", "[1]", "[2.5]"], &["aten::add_.Tensor"]);
    mistake(&["aten::neg", "[1.5]:i64"], &["argument `self`", "1.5", "expected an integer", ":f32"]);
}

#[test]
fn a_wrong_operator() {
    mistake(
        &["aten::ad.Tensor", A, B],
        &["aten::ad.Tensor", "did you mean aten::add.Tensor?", "`opgrid list`"],
    );
    mistake(
        &["aten::qqqqqqqqqq", A, B],
        &["list the operators with `Dispatcher::operators` or `opgrid list`"],
    );
    mistake(&["add.Tensor", A, B], &["add.Tensor", "did you mean aten::add.Tensor?"]);
    mistake(
        &["aten::ad", A, B],
        &[
            "did you mean aten::add? its overloads are aten::add.Tensor, aten::add.Scalar, aten::add.Scalar_out, aten::add.out;",
        ],
    );
    mistake(&["torch::mm", A, B], &["did you mean aten::mm?"]);
    mistake(&["aten::add.Tensro", A, B], &["aten::add.Tensro", "its overloads are", "aten::add.Tensor"]);
    mistake(&["no name", A], &["no name"]);
}

#[test]
fn a_wrong_keyword() {
    mistake(
        &["aten::add.Tensor", A, B, "beta=1"],
        &["aten::add.Tensor: unknown argument `beta`", "expected one of `self`, `other`, `alpha`"],
    );
    mistake(&["aten::add.Tensor", A, B, "alpha=1", "alpha=2"], &["argument `alpha` is given twice"]);
    mistake(&["aten::add.Tensor", A, B, "other=2"], &["argument `other` is given twice"]);
    mistake(&["aten::add.Tensor", A, "alpha=1", B], &["after named ones", B]);
}

#[test]
fn a_missing_file_or_a_broken_one() {
    mistake(&["aten::neg", "none.npy"], &["aten::neg: argument `self`: none.npy: cannot be read"]);
    mistake(&["aten::neg", "none.npz:x"], &["none.npz: cannot be read"]);
    mistake(&["aten::neg", "examples/data/digits.npz:x"], &["no array `x`, expected one of images, labels"]);
    mistake(&["aten::neg", "examples/data/digits.npz"], &["digits.npz:NAME with one of images, labels"]);
    let folder = Folder::new();
    let broken = folder.file("broken.npy");
    std::fs::write(&broken, b"\x93NUMPY and no more").unwrap();
    mistake(&["aten::neg", &broken], &["aten::neg: argument `self`", "broken.npy"]);
}

#[test]
fn a_missing_argument_or_one_too_many() {
    mistake(
        &["aten::add.Tensor", A],
        &["aten::add", "argument `other` is missing", "Tensor self, Tensor other"],
    );
    mistake(&["aten::neg", A, B], &["aten::neg: expected at most 1 positional arguments but got 2"]);
}

#[test]
fn an_unreadable_literal() {
    mistake(
        &["aten::neg", "[1,2"],
        &["argument `self`", "`[1,2`", "it ends unexpectedly", "expected `,` or `]`"],
    );
    mistake(
        &["aten::neg", "[[1,2],[3]]"],
        &["found a list of length 1 in dimension 1 where others have length 2"],
    );
    mistake(&["aten::neg", "abc"], &["found `abc`, expected a tensor", "x.npy"]);
    mistake(&["aten::select.int", A, "0", "x"], &["argument `index`", "found `x`", "such as 2"]);
    mistake(&["aten::empty.memory_format", "2.5"], &["argument `size`", "`2.5`"]);
    mistake(&["aten::neg", &"[".repeat(5_000)], &["at most 64 levels of nested lists"]);
}

#[test]
fn a_backend_that_is_not_there() {
    mistake(&["aten::empty.memory_format", "[2]", "device=cuda"], &["aten::empty.memory_format", "'CUDA'"]);
    mistake(&["aten::empty.memory_format", "[2]", "layout=sparse_coo"], &["'SparseCPU'"]);
    mistake(&["aten::empty.memory_format", "[2]", "device=gpu"], &["argument `device`", "gpu", "cuda"]);
    mistake(&["aten::empty.memory_format", "[99999999999,99999]"], &["aten::empty.memory_format"]);
}

/// What `opgrid` writes to a pipe, as bytes.
fn piped(args: &[&str], input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_opgrid"));
    program.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = program.spawn().unwrap();
    running.stdin.take().unwrap().write_all(input).unwrap();
    let output = running.wait_with_output().unwrap();
    (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn results_go_from_program_to_program() {
    let (status, bytes, err) = piped(&["call", "aten::neg", "[1,2]:f32", "--out", "-"], b"");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(bytes.starts_with(b"\x93NUMPY"));
    let (status, text, err) = piped(&["call", "aten::neg", "-"], &bytes);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert_eq!(String::from_utf8(text).unwrap(), "tensor([1., 2.])\n");

    for other in ["--json", "--explain", "--stats"] {
        fails_with_json(
            &["call", "aten::neg", "[1]", "--out", "-", other],
            "both write to the standard output",
        );
    }
    let (status, bytes, err) = piped(&["call", "aten::unbind.int", "[1,2]", "--out", "-"], b"");
    assert_eq!((status, bytes.len()), (Some(2), 0));
    assert!(err.contains("found 2 tensors for the standard output, expected one"), "{err}");
}

fn fails_with_json(args: &[&str], part: &str) {
    let run = opgrid_in(&root(), args);
    assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}: {}", run.err);
    assert!(run.err.contains(part), "{args:?}: {}", run.err);
}

#[test]
fn a_result_that_cannot_be_written() {
    let folder = Folder::new();
    let text = folder.file("out.txt");
    fails(
        &["call", "aten::neg", "[1]", "--out", &text],
        &["out.txt", "expected a name that ends in .npy, .npz or .safetensors"],
    );
    let nowhere = folder.file("nowhere/out.npy");
    fails(
        &["call", "aten::neg", "[1]", "--out", &nowhere],
        &["out.npy", "cannot be written, make its folder first"],
    );
    let meta = folder.file("meta.npy");
    let empty = ["call", "aten::empty.memory_format", "[2]", "device=meta"];
    fails(&[&empty[..], &["--out", &meta]].concat(), &["aten::empty.memory_format", "meta"]);
    assert_eq!(folder.count(), 0);
}

#[test]
fn a_failed_call_leaves_the_older_file() {
    let folder = Folder::new();
    let out = folder.file("out.npy");
    prints(&["call", "aten::neg", "[1]", "--out", &out]);
    fails(&["call", "aten::add.Tensor", A, "[1,2]", "--out", &out], &["does not broadcast"]);
    check(&["aten::neg", &out], "tensor([1])\n");
}
