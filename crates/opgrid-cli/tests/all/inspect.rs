//! The commands that show what the dispatcher knows, and the demo.

use crate::common::{Folder, fails, json, opgrid_in, prints};
use serde_json::json as value;

#[test]
fn operators_are_listed() {
    let all = prints(&["list"]);
    let adds = prints(&["list", "aten::add*"]);
    assert!(all.contains("aten::mm(Tensor self, Tensor mat2) -> Tensor\n"), "{all}");
    assert!(adds.lines().count() >= 4 && adds.lines().all(|line| line.starts_with("aten::add")), "{adds}");
    assert_eq!(json(&["list", "aten::mm"])[0]["name"], "aten::mm");
}

#[test]
fn schemas_are_read_and_printed() {
    let text =
        prints(&["schema", "my::scale( Tensor(a!) self,int[2] by=[2,2], *, float? to=None)->Tensor(a!)"]);
    let canonical = "my::scale(Tensor(a!) self, int[2] by=2, *, float? to=None) -> Tensor(a!)";
    assert_eq!(text.lines().next(), Some(canonical));
    for part in ["alias (a!), written", "2 elements", "default", "keyword-only", "mutable: yes"] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let add = json(&["schema", "aten::add.Tensor"]);
    assert_eq!(add["schema"], "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
    assert_eq!(add["arguments"][2]["default"], "1");
    assert_eq!(add["arguments"][2]["keyword_only"], true);
    fails(
        &["schema", "my::op(Tensor x,) -> Tensor"],
        &["expected ident but found ')' here:\nmy::op(Tensor x,) -> Tensor\n                ~ <--- HERE"],
    );
    fails(&["schema", "aten::ad.Tensor"], &["did you mean aten::add.Tensor?"]);
}

#[test]
fn schemas_are_compared() {
    let (old, new) = ("my::op(int x) -> int", "my::op(int x, int y=1) -> int");
    let both = prints(&["schema", "compare", new, old]);
    assert!(both.contains("backward compatible: yes\nforward compatible: yes\n"), "{both}");
    let without = json(&["schema", "compare", "my::op(int x, int y) -> int", old]);
    assert_eq!(without["backward"]["compatible"], false);
    assert_eq!(without["backward"]["reasons"].as_array().map(Vec::len), Some(1));
    fails(&["schema", "compare", new], &["<OLD>"]);
}

#[test]
fn backends_are_covered() {
    let counts = prints(&["coverage"]);
    assert!(counts.starts_with("backend  native  composite  fallback  missing\n"), "{counts}");
    assert!(
        counts.contains("\nCPU ") && counts.contains("\nMeta ") && !counts.contains("\nCUDA "),
        "{counts}"
    );
    let cpu = prints(&["coverage", "--backend", "CPU"]);
    let (native, composite) = cpu.split_once("\ncomposite: ").unwrap();
    assert!(native.contains("\n  aten::add.Tensor\n") && composite.contains("\n  aten::reshape\n"), "{cpu}");
    let cuda = json(&["coverage", "--backend", "CUDA"]);
    let names = |source: &str| cuda[0]["operators"][source].as_array().unwrap().clone();
    assert!(names("native").is_empty() && names("missing").contains(&value!("aten::add.Tensor")), "{cuda}");
    assert!(names("composite").contains(&value!("aten::reshape")), "{cuda}");
    fails(&["coverage", "--backend", "AutogradCPU"], &["AutogradCPU", "expected a backend key"]);
    fails(
        &["coverage", "--backend", "NoSuch"],
        &["could not parse dispatch key: NoSuch", "`opgrid keys` lists all"],
    );
}

#[test]
fn names_of_torch_are_covered() {
    let counts = prints(&["coverage"]);
    let row = |namespace: &str| -> Vec<usize> {
        let line = counts.lines().find(|line| line.split_whitespace().next() == Some(namespace)).unwrap();
        line.split_whitespace().skip(1).map(|number| number.parse().unwrap()).collect()
    };
    for (namespace, all) in [("torch.linalg", 44), ("torch.fft", 22), ("torch.special", 56)] {
        let [here, of, missing] = row(namespace)[..] else { panic!("{counts}") };
        assert!(of == all && here + missing == all && here > all / 2, "{counts}");
    }
    let linalg = prints(&["coverage", "--namespace", "torch.linalg"]);
    let (here, missing) = linalg.split_once("\nmissing: ").unwrap();
    assert!(here.contains("\n  svd") && here.contains("\n  LinAlgError"), "{linalg}");
    assert!(!missing.contains("  svd\n"), "{linalg}");
    // An operator, what is only in the package, and what is not there.
    let functions = json(&["coverage", "--namespace", "torch"]);
    for (name, place) in [("add", "here"), ("is_tensor", "here"), ("sspaddmm", "missing")] {
        assert!(functions[place].as_array().unwrap().contains(&value!(name)), "{name}: {functions}");
    }
    let methods = json(&["coverage", "--namespace", "torch.Tensor"]);
    let here = methods["here"].as_array().unwrap();
    assert!(here.contains(&value!("add_")) && here.contains(&value!("tolist")), "{methods}");
    assert!(!here.contains(&value!("zeros")), "{methods}");
    let all = json(&["coverage"]);
    let both = (all["backends"].as_array().unwrap().len(), all["namespaces"].as_array().unwrap().len());
    assert!(both.0 > 1 && both.1 > 5, "{all}");
    fails(&["coverage", "--namespace", "torch.linlag"], &["did you mean torch.linalg?"]);
    fails(&["coverage", "--namespace", "torch.fft", "--backend", "CPU"], &["cannot be used with"]);
}

#[test]
fn tables_are_shown() {
    let text = prints(&["table", "aten::add.Tensor"]);
    let cpu = text.lines().find(|line| line.starts_with("CPU ")).unwrap();
    assert!(cpu.contains("direct") && cpu.contains("/pointwise/add.rs:"), "{cpu}");
    assert!(!text.contains("missing"), "{text}");
    let all = json(&["table", "aten::add.Tensor", "--all"]);
    assert_eq!(
        all["columns"].as_array().map(Vec::len),
        Some(138),
        "those of torch, and the mark of gradients"
    );
    assert_eq!(all["columns"][1]["key"], "CPU");
    let raw = prints(&["table", "aten::add.Tensor", "--raw"]);
    assert!(raw.starts_with("CPU: ") && raw.contains("[kernel]"), "{raw}");
    fails(&["table", "aten::nothing"], &["aten::nothing"]);
}

#[test]
fn calls_are_explained_without_tensors() {
    let text = prints(&["explain", "aten::add.Tensor", "cpu+grad", "cpu"]);
    assert!(text.contains("keys  self {CPU, AutogradCPU, RequiresGrad}  other {CPU}"), "{text}");
    assert!(text.contains(" 1  AutogradCPU  aten::add.Tensor") && text.contains(" 2  CPU  "), "{text}");
    let text = prints(&["explain", "aten::add.Tensor", "{CPU,AutogradCPU}", "cpu"]);
    assert!(text.contains(" 1  CPU  aten::add.Tensor"), "{text}");
    assert!(text.contains("AutogradCPU (fallthrough)"), "{text}");
    let meta = json(&["explain", "aten::add.Tensor", "{CPU,AutogradCPU}", "meta"]);
    assert_eq!(meta["arguments"][0], value!({"name": "self", "keys": ["CPU", "AutogradCPU"]}));
    assert_eq!(meta["hops"][0]["key"], "Meta");
    let missing = json(&["explain", "aten::neg", "cuda"]);
    assert_eq!(
        (&missing["hops"][0]["key"], &missing["hops"][0]["reason"]),
        (&"CUDA".into(), &"missing".into())
    );
    let local = json(&["explain", "aten::neg", "cpu", "--include", "Tracer", "--exclude", "ADInplaceOrView"]);
    let holds = |set: &str, key: &str| local[set].as_array().unwrap().contains(&key.into());
    assert!(holds("included", "Tracer") && holds("excluded", "ADInplaceOrView"), "{local}");
    fails(
        &["explain", "aten::add.Tensor", "cpu"],
        &["the number of tensor descriptions is 1, expected 2", "`self`, `other`"],
    );
    fails(
        &["explain", "aten::neg", "cpo"],
        &["aten::neg: argument `self`: `cpo` does not describe a tensor"],
    );
    fails(&["explain", "aten::neg", "cpu", "--include", "Tracr"], &["--include", "Tracr", "Tracer"]);
}

#[test]
fn keys_are_listed() {
    let text = prints(&["keys"]);
    assert!(text.contains("\n137 columns: ") && text.ends_with("\n1 column of users' keys\n"), "{text}");
    for part in ["\naliases\n", "\nnamed sets\n", "\nFuncTorchBatchedDecomposition  {FuncTorchBatched}\n"] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let all = json(&["keys"]);
    let key = |name: &str| {
        let keys = all["keys"].as_array().unwrap();
        keys.iter().find(|key| key["name"] == name).unwrap_or_else(|| panic!("no key {name}")).clone()
    };
    assert_eq!(all["columns"], 137);
    assert_eq!(all["aliases"].as_array().map(Vec::len), Some(6));
    assert_eq!((&key("AutogradCPU")["column"], &key("AutogradCPU")["backend"]), (&96.into(), &"CPU".into()));
    assert_eq!((&key("Dense")["offset"], &key("Dense")["mask"]), (&1.into(), &65535.into()));
    assert_eq!((&key("FPGA")["torch_bit"], &key("FPGA")["mask"]), (&17.into(), &0.into()));
}

#[test]
fn the_demo_runs_anywhere_and_tells_the_same() {
    let here = prints(&["demo", "--epochs", "0"]);
    for part in
        ["accuracy  88.1 %", "accuracy  83.4 %", "3 x aten::mm", "size=(597, 10)", "alias CompositeImplicit"]
    {
        assert!(here.contains(part), "`{part}` is not in {here}");
    }
    let elsewhere = opgrid_in(Folder::new().path(), &["demo", "--epochs", "0"]);
    assert_eq!((elsewhere.status, elsewhere.err.as_str()), (Some(0), ""));
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(body(&elsewhere.out), body(&here));
}

#[test]
fn the_network_of_the_demo_learns() {
    let demo = ["demo", "--epochs", "1", "--seed", "3"];
    let text = prints(&demo);
    for part in
        ["passes over 1200 images: 1", "pass  1  loss ", "┤█", "where centroids reach 88.1 %", "AutogradCPU"]
    {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let told = json(&demo);
    assert_eq!(told["accuracy"], told["restored_accuracy"]);
    assert_eq!(told["calls"]["demo::normalize"], 1);
    let numbers = |list: &serde_json::Value| -> Vec<f64> {
        list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let losses = numbers(&told["network"]["losses"]);
    assert_eq!(losses.len(), 38);
    let sum = |losses: &[f64]| losses.iter().sum::<f64>();
    assert!(sum(&losses[28..]) < 0.8 * sum(&losses[..10]), "{losses:?}");
    // The same seed gives the same numbers in another process.
    let mean = format!("pass  1  loss {:.4}", sum(&losses) / 38.0);
    assert!(text.contains(&mean), "`{mean}` is not in {text}");
    let accuracy = told["network"]["accuracy"].as_f64().unwrap();
    assert!(text.contains(&format!("accuracy  {:.1} %", 100.0 * accuracy)) && accuracy > 0.3, "{accuracy}");
}

#[test]
fn the_demo_refuses_other_data() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.file("examples/data")).unwrap();
    let path = folder.file("examples/data/digits.npz");
    std::fs::write(&path, "no archive").unwrap();
    let broken = opgrid_in(folder.path(), &["demo"]);
    assert_eq!((broken.status, broken.out.as_str()), (Some(2), ""));
    assert!(broken.err.starts_with("error: examples/data/digits.npz: "), "{}", broken.err);
}

#[test]
fn mistakes_in_the_arguments_are_one_message() {
    fails(&[], &["subcommand"]);
    fails(&["tabel"], &["tabel", "table"]);
    fails(&["call"], &["<OPERATOR>"]);
    fails(&["call", "aten::neg", "[1]", "--ouut", "x.npy"], &["--ouut", "--out"]);
    fails(&["demo", "--epochs", "many"], &["--epochs", "many"]);
    fails(&["table", "aten::neg", "--all", "--raw"], &["--all", "--raw"]);
    assert!(prints(&["--help"]).contains("explain"));
    assert!(prints(&["call", "--help"]).contains("--out <FILE[:NAMES]>"));
    let version = prints(&["--version"]);
    assert!(
        version.starts_with("opgrid ")
            && version.trim_end().ends_with(&format!("({})", opgrid::kernels::instructions())),
        "{version}"
    );
}

#[test]
fn keys_of_users_are_listed_where_they_would_stand() {
    let arguments = ["--backend", "Toy", "--layer", "Profile", "--above", "Autograd", "--below", "Tracer"];
    let text = prints(&[&["keys", "--all"], &arguments[..]].concat());
    let row = |name: &str| text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap().to_owned();
    let words = |name: &str| row(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words("Profile"), ["Profile", "layer", "30"]);
    assert_eq!(words("AutogradToy"), ["AutogradToy", "instance", "26", "b15", "36"]);
    assert_eq!(words("AutocastToy")[..4], ["AutocastToy", "instance", "44", "b15"]);
    assert!(text.contains("\n9 columns of users' keys\n"), "{text}");
    assert!(text.contains("AutogradToy, AutogradMeta, AutogradNestedTensor}"), "{text}");
    let all = json(&[&["keys"], &arguments[..]].concat());
    assert_eq!((&all["columns"], &all["columns_of_users"]), (&137.into(), &9.into()));
    fails(&["keys", "--backend", "cuda"], &["backend `cuda`: its key `cuda` would be confused with CUDA"]);
    fails(&["keys", "--layer", "Lost"], &["layer `Lost`: has no position; say with `above` and `below`"]);
    fails(&["keys", "--above", "Tracer"], &["--layer"]);
    fails(&["keys", "--layer", "Lost", "--above", "Tracr"], &["did you mean `Tracer`?"]);
}
