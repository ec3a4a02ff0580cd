//! Broken and foreign archives: each gives one error that says what is wrong, and nothing panics.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use opgrid as _;
use opgrid_graph::{Program, read};
use serde_json::{Value as Json, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const MODEL: &str = "models/model.json";
const WEIGHTS: &str = "data/weights/model_weights_config.json";

/// The members of an archive, without the folder that they lie in.
#[derive(Clone)]
struct Members(Vec<(String, Vec<u8>)>);

impl Members {
    fn of(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name);
        let mut zip = ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
        let mut members = Vec::new();
        for index in 0..zip.len() {
            let mut file = zip.by_index(index).unwrap();
            let name = file.name().unwrap().split_once('/').unwrap().1.to_owned();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            members.push((name, bytes));
        }
        Self(members)
    }

    fn bytes(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self.0.iter_mut().find(|(known, _)| known == name).unwrap().1
    }

    fn put(&mut self, name: &str, bytes: &[u8]) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), bytes.to_vec()));
    }

    fn json(&mut self, name: &str, change: impl FnOnce(&mut Json)) {
        let bytes = self.bytes(name);
        let mut json = serde_json::from_slice(bytes).unwrap();
        change(&mut json);
        *bytes = serde_json::to_vec(&json).unwrap();
    }

    fn zipped(&self, method: CompressionMethod) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in &self.0 {
            let options = SimpleFileOptions::default().compression_method(method);
            zip.start_file(format!("any/{name}"), options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }
}

/// A file that is removed again.
struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("opgrid-hostile-{}-{name}.pt2", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Asserts that a file is refused with one error that names it and says all the parts.
fn refused(name: &str, bytes: &[u8], parts: &[&str]) {
    let file = File::new(name, bytes);
    let error = Program::load(&file.0).map(drop).expect_err(name);
    let message = error.message();
    println!("{name}: {message}");
    assert!(message.starts_with(&file.0.display().to_string()), "{name}: {message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{name}: expected {parts:?} in {message}");
    assert!(!message.contains('\n') && message.len() < 800, "{name}: {message}");
}

/// As [`refused`], of the MLP with a change.
fn changed(name: &str, change: impl FnOnce(&mut Members), parts: &[&str]) {
    let mut members = Members::of("mlp.pt2");
    change(&mut members);
    refused(name, &members.zipped(CompressionMethod::Stored), parts);
}

/// The graph in the JSON of a model.
fn graph(model: &mut Json) -> &mut Json {
    &mut model["graph_module"]["graph"]
}

#[test]
fn what_the_changes_start_from_is_sound() {
    let file = File::new("sound", &Members::of("mlp.pt2").zipped(CompressionMethod::Stored));
    Program::load(&file.0).unwrap();
}

/// torch ends every directory with records of 64 bits and says so nowhere. With them in front of the end, the place where a directory
/// would begin without them may be that of its second entry: where the name of the first one has 30 letters.
#[test]
fn directories_with_an_end_of_64_bits_are_read() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in &Members::of("mlp.pt2").0 {
        zip.start_file(
            format!("vit_tiny/{name}"),
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored),
        )
        .unwrap();
        zip.write_all(bytes).unwrap();
    }
    let mut bytes = zip.finish().unwrap().into_inner();
    let end = bytes.split_off(bytes.len() - 22);
    let number = |at: usize| u64::from(u32::from_le_bytes(end[at..at + 4].try_into().unwrap()));
    let count = u64::from(u16::from_le_bytes(end[8..10].try_into().unwrap()));
    let (length, start, at) = (number(12), number(16), bytes.len() as u64);
    assert_eq!(bytes[start as usize + 28], 30, "the length of the first name");
    // The record: its signature and length, two versions, two numbers of disks, twice the count, the length and the place.
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44u64.to_le_bytes());
    bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for value in [count, count, length, start] {
        bytes.extend(value.to_le_bytes());
    }
    // The locator of the record.
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(at.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(end);
    let file = File::new("end-of-64-bits", &bytes);
    Program::load(&file.0).unwrap();
}

#[test]
fn files_that_are_no_archives_are_refused() {
    refused("empty", b"", &["expected a zip"]);
    refused("text", b"hello, this is no archive at all", &["expected a zip"]);
    let whole = Members::of("mlp.pt2").zipped(CompressionMethod::Stored);
    refused("half", &whole[..whole.len() / 2], &["expected a zip"]);
    refused("without-start", &whole[100..], &[]);
    let missing = Path::new("no/such/file.pt2");
    assert!(read(missing).unwrap_err().message().starts_with("no/such/file.pt2: "));
    assert!(read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err().message().contains("it is a folder"));
}

#[test]
fn archives_of_other_kinds_are_refused_by_name() {
    let only = |names: &[&str]| {
        let members = names.iter().map(|name| ((*name).to_owned(), b"x".to_vec())).collect();
        Members(members).zipped(CompressionMethod::Stored)
    };
    refused(
        "torchscript",
        &only(&["data.pkl", "constants.pkl", "code/a.py"]),
        &["TorchScript", "torch.export.save"],
    );
    refused("pickle", &only(&["data.pkl", "data/0"]), &["torch.save", "torch.export.save"]);
    refused("inductor", &only(&["archive_format", "data/aotinductor/model/x.so"]), &["AOTInductor"]);
    refused("old", &only(&["serialized_exported_program.json", "version"]), &["torch before 2.8"]);
    refused("other", &only(&["a.npy"]), &["archive_format"]);
    changed("format", |it| it.put("archive_format", b"onnx"), &["format is `onnx`", "pt2"]);
    changed("no-model", |it| it.0.retain(|(name, _)| name != MODEL), &["models/NAME.json"]);
    changed("two-models", |it| it.put("models/other.json", b"{}"), &["2 models", "`model`, `other`"]);
}

#[test]
fn damaged_members_are_refused() {
    changed(
        "missing-weight",
        |it| it.0.retain(|(name, _)| name != "data/weights/weight_1"),
        &["weight_1", "incomplete"],
    );
    changed(
        "short-weight",
        |it| it.bytes("data/weights/weight_0").truncate(100),
        &["`0.weight`", "weight_0", "100"],
    );
    changed("empty-json", |it| it.bytes(MODEL).clear(), &[MODEL, "expected JSON"]);
    changed("cut-json", |it| it.bytes(MODEL).truncate(1000), &[MODEL, "expected JSON"]);
    changed("no-text", |it| it.bytes(MODEL)[0] = 0xff, &[MODEL, "UTF-8"]);
    changed(
        "deep-json",
        |it| *it.bytes(MODEL) = "[".repeat(1_000_000).into_bytes(),
        &[MODEL, "recursion limit"],
    );
    changed("byteorder", |it| it.put("byteorder", b"middle"), &["byteorder", "`middle`"]);
    let packed = Members::of("mlp.pt2").zipped(CompressionMethod::Deflated);
    refused("packed", &packed, &["compressed by", "expected it stored"]);
    let mut flipped = Members::of("mlp.pt2").zipped(CompressionMethod::Stored);
    let weights =
        Members::of("mlp.pt2").0.into_iter().find(|(name, _)| name == "data/weights/weight_0").unwrap().1;
    let at = flipped.windows(16).position(|window| *window == weights[..16]).unwrap();
    flipped[at] ^= 1;
    refused("flipped", &flipped, &["weight_0", "damaged"]);
}

#[test]
fn sizes_beyond_the_file_are_refused() {
    changed(
        "huge",
        meta_of("0.weight", |meta| meta["sizes"][0] = json!({"as_int": 1i64 << 40})),
        &["`0.weight`"],
    );
    changed(
        "overflow",
        meta_of("0.weight", |meta| {
            meta["sizes"] = json!([{"as_int": i64::MAX}, {"as_int": i64::MAX}]);
        }),
        &["`0.weight`"],
    );
    changed(
        "negative",
        meta_of("0.weight", |meta| meta["sizes"][0] = json!({"as_int": -1})),
        &["`0.weight`"],
    );
    changed("offset", meta_of("0.bias", |meta| meta["storage_offset"] = json!({"as_int": 1})), &["`0.bias`"]);
    changed(
        "offset-below",
        meta_of("0.bias", |meta| meta["storage_offset"] = json!({"as_int": -1})),
        &["`0.bias`"],
    );
    changed(
        "strides",
        meta_of("0.weight", |meta| meta["strides"][0] = json!({"as_int": i64::MAX})),
        &["`0.weight`"],
    );
    changed(
        "float-size",
        meta_of("0.weight", |meta| meta["sizes"][0] = json!({"as_int": 1.5})),
        &["found `1.5`"],
    );
    changed("missing-strides", meta_of("0.weight", |meta| meta["strides"] = json!([])), &["`0.weight`"]);
    changed("no-dtype", meta_of("0.weight", |meta| meta["dtype"] = json!(99)), &["99", "dtype"]);
    changed("other-dtype", meta_of("0.weight", |meta| meta["dtype"] = json!(32)), &["float8_e5m2fnuz"]);
    changed("sparse", meta_of("0.weight", |meta| meta["layout"] = json!(1)), &["sparse", "to_dense"]);
    changed(
        "pickled",
        entry_of("0.weight", |entry| entry["use_pickle"] = json!(true)),
        &["`0.weight`", "pickle"],
    );
    changed(
        "object",
        entry_of("0.weight", |entry| entry["tensor_meta"] = json!(null)),
        &["`0.weight`", "custom class"],
    );
    changed(
        "outside",
        entry_of("0.weight", |entry| entry["path_name"] = json!("../../../etc/passwd")),
        &["no member"],
    );
    changed(
        "wrong-shape",
        meta_of("0.weight", |meta| meta["sizes"] = json!([{"as_int": 8}, {"as_int": 16}])),
        &["`0.weight` is float32[8, 16], expected float32[16, 8]"],
    );
}

/// Members that lie over each other are larger together than the file, however small it is.
#[test]
fn members_that_lie_over_each_other_are_refused() {
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let mut members = Members::of("mlp.pt2");
    members.json(WEIGHTS, |json| {
        for letter in &letters {
            let mut entry = json["config"]["0.weight"].clone();
            entry["path_name"] = json!(format!("weight_{letter}"));
            json["config"][format!("more.{letter}")] = entry;
        }
    });
    let mut bytes = members.zipped(CompressionMethod::Stored);
    // The directory ends with a record of 22 bytes: at 8 and 10 the number of entries, at 12 its length, at 16 its place.
    let mut end = bytes.split_off(bytes.len() - 22);
    let start = u32::from_le_bytes(end[16..20].try_into().unwrap()) as usize;
    let name = b"any/data/weights/weight_0";
    let found = bytes[start..].windows(name.len()).position(|window| window == name).unwrap() + start;
    // An entry has 46 bytes in front of the name.
    let entry = bytes[found - 46..found + name.len()].to_vec();
    for letter in &letters {
        let mut copy = entry.clone();
        *copy.last_mut().unwrap() = *letter as u8;
        bytes.extend(copy);
    }
    let count = u16::from_le_bytes(end[8..10].try_into().unwrap()) + letters.len() as u16;
    let length = (bytes.len() - start) as u32;
    end[8..10].copy_from_slice(&count.to_le_bytes());
    end[10..12].copy_from_slice(&count.to_le_bytes());
    end[12..16].copy_from_slice(&length.to_le_bytes());
    bytes.extend(end);
    refused("overlap", &bytes, &["lie over each other"]);
}

/// A change of the entry of one weight.
fn entry_of(member: &'static str, change: fn(&mut Json)) -> impl FnOnce(&mut Members) {
    move |it| it.json(WEIGHTS, |json| change(&mut json["config"][member]))
}

/// A change of what the entry says of the tensor.
fn meta_of(member: &'static str, change: fn(&mut Json)) -> impl FnOnce(&mut Members) {
    move |it| it.json(WEIGHTS, |json| change(&mut json["config"][member]["tensor_meta"]))
}

#[test]
fn models_of_other_versions_and_unknown_kinds_are_refused_by_name() {
    let model = |change: fn(&mut Json)| move |it: &mut Members| it.json(MODEL, change);
    changed(
        "major",
        model(|it| it["schema_version"]["major"] = json!(9)),
        &["version 9", "expected version 8", "2.15"],
    );
    changed(
        "no-version",
        model(|it| drop(it.as_object_mut().unwrap().remove("schema_version"))),
        &["schema_version"],
    );
    changed("list", model(|it| *it = json!([])), &["schema_version"]);
    changed(
        "no-graph",
        model(|it| drop(it["graph_module"].as_object_mut().unwrap().remove("graph"))),
        &["no field `graph`"],
    );
    changed(
        "kind",
        model(|it| graph(it)["nodes"][0]["inputs"][0]["arg"] = json!({"as_future": 1})),
        &["node 0 `linear`", "`as_future`"],
    );
    changed(
        "two-kinds",
        model(|it| graph(it)["nodes"][0]["inputs"][0]["arg"] = json!({"as_int": 1, "as_bool": true})),
        &["an object with one field"],
    );
    changed(
        "custom",
        model(|it| {
            graph(it)["nodes"][0]["inputs"][0]["arg"] =
                json!({"as_custom_obj": {"name": "a", "class_fqn": "C"}})
        }),
        &["custom class `C`"],
    );
    changed(
        "input-kind",
        model(|it| it["graph_module"]["signature"]["input_specs"][0] = json!({"token": {}})),
        &["input 0", "`token`"],
    );
    changed(
        "output-kind",
        model(|it| it["graph_module"]["signature"]["output_specs"][0] = json!({"token": {}})),
        &["output 0", "`token`"],
    );
    changed(
        "fewer-specs",
        model(|it| drop(it["graph_module"]["signature"]["input_specs"].as_array_mut().unwrap().pop())),
        &["inputs, expected"],
    );
    changed(
        "no-meta",
        model(|it| drop(graph(it)["tensor_values"].as_object_mut().unwrap().remove("relu"))),
        &["`relu` has no entry in `tensor_values`"],
    );
    changed(
        "expression",
        model(|it| {
            graph(it)["tensor_values"]["relu"]["sizes"][0] =
                json!({"as_expr": {"expr_str": "__import__('os')"}})
        }),
        &["value `relu`", "size expression"],
    );
    changed(
        "tree",
        model(|it| it["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = json!("[2, {}]")),
        &["version 2"],
    );
    changed(
        "deep-tree",
        |it| {
            it.json(MODEL, |it| {
                it["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] =
                    json!("[".repeat(100_000));
            })
        },
        &["tree of values", "recursion limit"],
    );
    changed(
        "unknown-weight",
        model(|it| {
            it["graph_module"]["signature"]["input_specs"][0]["parameter"]["parameter_name"] = json!("other");
        }),
        &["tensor `other` is missing"],
    );
}

#[test]
fn graphs_that_cannot_run_are_refused() {
    let node = |change: fn(&mut Json)| {
        move |it: &mut Members| it.json(MODEL, |it| change(&mut graph(it)["nodes"][1]))
    };
    changed(
        "operator",
        node(|it| it["target"] = json!("torch.ops.aten.rellu.default")),
        &["node 1 `%relu`", "aten::relu"],
    );
    changed(
        "function",
        node(|it| it["target"] = json!("_operator.matmul")),
        &["_operator.matmul", "`_operator.add`"],
    );
    changed(
        "higher",
        node(|it| it["target"] = json!("torch.ops.higher_order.flex_attention")),
        &["higher_order::flex_attention", "`higher_order::cond`"],
    );
    changed("path", node(|it| it["target"] = json!("os.system")), &["os.system"]);
    changed(
        "undefined",
        node(|it| it["inputs"][0]["arg"]["as_tensor"]["name"] = json!("nobody")),
        &["`%nobody` is not defined"],
    );
    changed(
        "itself",
        node(|it| it["inputs"][0]["arg"]["as_tensor"]["name"] = json!("relu")),
        &["`%relu` is used before"],
    );
    changed(
        "later",
        node(|it| it["inputs"][0]["arg"]["as_tensor"]["name"] = json!("softmax")),
        &["`%softmax` is used before"],
    );
    changed(
        "twice",
        node(|it| it["outputs"][0]["as_tensor"]["name"] = json!("linear")),
        &["`%linear` is defined twice"],
    );
    changed(
        "argument-kind",
        node(|it| it["inputs"][0]["arg"] = json!({"as_string": "x"})),
        &["aten::relu", "`self`", "Tensor"],
    );
    changed(
        "argument-name",
        node(|it| {
            it["inputs"][0]["kind"] = json!(2);
            it["inputs"][0]["name"] = json!("x");
        }),
        &["no argument is named `x`"],
    );
    changed(
        "too-many",
        node(|it| {
            let first = it["inputs"][0].clone();
            it["inputs"].as_array_mut().unwrap().push(first);
        }),
        &["at most 1 arguments"],
    );
    changed("too-few", node(|it| it["inputs"] = json!([])), &["`self` is missing"]);
    changed(
        "results",
        node(|it| {
            let first = it["outputs"][0].clone();
            it["outputs"] = json!([{"as_tensors": [first["as_tensor"]]}]);
        }),
        &["result 0 is Tensor, found a list of names"],
    );
    changed(
        "returns-nothing",
        |it| it.json(MODEL, |it| graph(it)["outputs"][0]["as_tensor"]["name"] = json!("nobody")),
        &["result 0", "`%nobody`"],
    );
}

#[test]
fn no_cut_of_an_archive_panics() {
    let whole = Members::of("loop.pt2").zipped(CompressionMethod::Stored);
    for step in 1..40 {
        let bytes = &whole[..whole.len() * step / 40];
        let file = File::new("cut", bytes);
        assert!(Program::load(&file.0).is_err(), "{step}");
    }
}

#[test]
fn no_changed_byte_of_an_archive_panics() {
    let whole = Members::of("mlp.pt2").zipped(CompressionMethod::Stored);
    for step in 0..400 {
        let mut bytes = whole.clone();
        let at = whole.len() * step / 400;
        bytes[at] = bytes[at].wrapping_add(1 + (step % 255) as u8);
        let file = File::new("byte", &bytes);
        let _ = Program::load(&file.0);
    }
}
