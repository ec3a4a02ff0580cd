//! Broken and foreign archives, texts and JSON: each gives one error that says what is wrong, and nothing panics.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use opgrid::{DType, Device, Error, Tensor, Value};
use opgrid_graph::{Graph, Limits, Program, check, read};
use serde_json::{Value as Json, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::exported;

const MODEL: &str = "models/model.json";
const WEIGHTS: &str = "data/weights/model_weights_config.json";

/// The members of an archive, without the folder that they lie in.
#[derive(Clone)]
struct Members(Vec<(String, Vec<u8>)>);

impl Members {
    fn read(name: &str) -> Self {
        let path = exported::folder().join(name);
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

/// The broken files, and what is said about them.
#[derive(Default)]
struct Broken {
    names: BTreeSet<String>,
    messages: BTreeSet<String>,
    archives: usize,
    texts: usize,
    runs: usize,
}

impl Broken {
    /// Takes an error down: it is one line, says all the parts, and is that of no other file.
    fn note(&mut self, name: &str, message: &str, parts: &[&str]) {
        println!("{name}: {message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{name}: expected {parts:?} in {message}");
        assert!(!message.contains('\n') && message.len() < 800, "{name}: {message}");
        assert!(self.names.insert(name.to_owned()), "{name} is there twice");
        self.messages.insert(message.to_owned());
    }

    /// Asserts that an archive is refused with one error that names the file and says all the parts.
    fn refused(&mut self, name: &str, bytes: &[u8], parts: &[&str]) {
        let file = File::new(name, bytes);
        let error = Program::load(&file.0).map(drop).expect_err(name);
        let path = file.0.display().to_string();
        assert!(error.message().starts_with(&path), "{name}: {error}");
        self.note(name, &error.message()[path.len()..], parts);
        self.archives += 1;
    }

    /// As [`refused`](Self::refused), of the MLP with a change.
    fn changed(&mut self, name: &str, change: impl FnOnce(&mut Members), parts: &[&str]) {
        let mut members = Members::read("mlp.pt2");
        change(&mut members);
        self.refused(name, &members.zipped(CompressionMethod::Stored), parts);
    }

    /// Asserts that the text of a graph is refused when it is read, checked or made a program.
    fn text(&mut self, name: &str, text: &str, parts: &[&str]) {
        let error = text.parse::<Graph>().and_then(|graph| {
            let first = check(&graph)?.into_iter().next();
            first.map_or_else(|| Program::new(graph, BTreeMap::new()).map(drop), Err)
        });
        self.note(name, error.expect_err(name).message(), parts);
        self.texts += 1;
    }

    /// As [`text`](Self::text), of nodes between an input `%x: float32[2]` and its return.
    fn nodes(&mut self, name: &str, nodes: &str, parts: &[&str]) {
        self.text(
            name,
            &format!("graph(%x: float32[2] = input) takes ((*,), {{}}) gives * {{ {nodes} return %x }}"),
            parts,
        );
    }

    /// Asserts that the JSON of a graph is refused, which is that of a sound one with a change.
    fn json(&mut self, name: &str, change: impl FnOnce(&mut Json), parts: &[&str]) {
        let graph: Graph = "graph(%x: float32[n] = input) where n in 1..64 gives * { %y: float32[n] = aten::neg(%x) return %y }"
            .parse()
            .unwrap();
        let mut json = graph.to_json();
        change(&mut json);
        self.note(name, Graph::from_json(&json).expect_err(name).message(), parts);
        self.texts += 1;
    }

    /// Asserts that a sound program ends with an error.
    fn run(&mut self, name: &str, nodes: &str, parts: &[&str]) {
        self.limited(name, nodes, Limits::default(), parts);
    }

    /// As [`run`](Self::run), with limits.
    fn limited(&mut self, name: &str, nodes: &str, limits: Limits, parts: &[&str]) {
        let text =
            format!("graph(%x: float32[2] = input) takes ((*,), {{}}) gives * {{ {nodes} return %y }}");
        let program = Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap();
        let program = match program.with_limits(limits) {
            Ok(program) => program,
            Err(error) => return self.note(name, error.message(), parts),
        };
        let x = Tensor::ones(&[2], DType::F32, Device::CPU).unwrap();
        let error: Error = program.run_values(vec![Value::from(&x)]).expect_err(name);
        self.note(name, error.message(), parts);
        self.runs += 1;
    }
}

/// The graph in the JSON of a model.
fn graph(model: &mut Json) -> &mut Json {
    &mut model["graph_module"]["graph"]
}

#[test]
fn what_the_changes_start_from_is_sound() {
    let file = File::new("sound", &Members::read("mlp.pt2").zipped(CompressionMethod::Stored));
    Program::load(&file.0).unwrap();
}

/// torch ends every directory with records of 64 bits and says so nowhere. With them in front of the end, the place where a directory
/// would begin without them may be that of its second entry: where the name of the first one has 30 letters.
#[test]
fn directories_with_an_end_of_64_bits_are_read() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in &Members::read("mlp.pt2").0 {
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

fn files_that_are_no_archives(broken: &mut Broken) {
    broken.refused("empty", b"", &["expected a zip"]);
    broken.refused("text", b"hello, this is no archive at all", &["expected a zip"]);
    let whole = Members::read("mlp.pt2").zipped(CompressionMethod::Stored);
    broken.refused("half", &whole[..whole.len() / 2], &["expected a zip"]);
    broken.refused("without-start", &whole[100..], &[]);
    let missing = read(Path::new("no/such/file.pt2")).unwrap_err();
    broken.note("missing", missing.message(), &["no/such/file.pt2: "]);
    let folder = read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
    broken.note("folder", folder.message().rsplit_once(": ").unwrap().1, &["it is a folder"]);
}

fn archives_of_other_kinds(broken: &mut Broken) {
    let only = |names: &[&str]| {
        let members = names.iter().map(|name| ((*name).to_owned(), b"x".to_vec())).collect();
        Members(members).zipped(CompressionMethod::Stored)
    };
    broken.refused(
        "torchscript",
        &only(&["data.pkl", "constants.pkl", "code/a.py"]),
        &["TorchScript", "torch.export.save"],
    );
    broken.refused("pickle", &only(&["data.pkl", "data/0"]), &["torch.save", "torch.export.save"]);
    broken.refused("inductor", &only(&["archive_format", "data/aotinductor/model/x.so"]), &["AOTInductor"]);
    broken.refused("old", &only(&["serialized_exported_program.json", "version"]), &["torch before 2.8"]);
    broken.refused("other", &only(&["a.npy"]), &["archive_format"]);
    broken.changed("format", |it| it.put("archive_format", b"onnx"), &["format is `onnx`", "pt2"]);
    broken.changed("no-model", |it| it.0.retain(|(name, _)| name != MODEL), &["models/NAME.json"]);
    broken.changed("two-models", |it| it.put("models/other.json", b"{}"), &["2 models", "`model`, `other`"]);
}

fn damaged_members(broken: &mut Broken) {
    broken.changed(
        "missing-weight",
        |it| it.0.retain(|(name, _)| name != "data/weights/weight_1"),
        &["weight_1", "incomplete"],
    );
    broken.changed(
        "short-weight",
        |it| it.bytes("data/weights/weight_0").truncate(100),
        &["`0.weight`", "weight_0", "100"],
    );
    broken.changed("empty-json", |it| it.bytes(MODEL).clear(), &[MODEL, "expected JSON"]);
    broken.changed("cut-json", |it| it.bytes(MODEL).truncate(1000), &[MODEL, "expected JSON"]);
    broken.changed("no-text", |it| it.bytes(MODEL)[0] = 0xff, &[MODEL, "UTF-8"]);
    broken.changed(
        "deep-json",
        |it| *it.bytes(MODEL) = "[".repeat(1_000_000).into_bytes(),
        &[MODEL, "recursion limit"],
    );
    broken.changed("byteorder", |it| it.put("byteorder", b"middle"), &["byteorder", "`middle`"]);
    let packed = Members::read("mlp.pt2").zipped(CompressionMethod::Deflated);
    broken.refused("packed", &packed, &["compressed by", "expected it stored"]);
    let mut bomb = Members::read("mlp.pt2");
    bomb.put("data/weights/weight_0", &vec![0; 1 << 26]);
    let bomb = bomb.zipped(CompressionMethod::Deflated);
    assert!(bomb.len() < 1 << 18, "{} bytes", bomb.len());
    broken.refused("zip-bomb", &bomb, &["compressed by", "expected it stored"]);
    let mut flipped = Members::read("mlp.pt2").zipped(CompressionMethod::Stored);
    let weights =
        Members::read("mlp.pt2").0.into_iter().find(|(name, _)| name == "data/weights/weight_0").unwrap().1;
    let at = flipped.windows(16).position(|window| *window == weights[..16]).unwrap();
    flipped[at] ^= 1;
    broken.refused("flipped", &flipped, &["weight_0", "damaged"]);
}

fn sizes_beyond_the_file(broken: &mut Broken) {
    broken.changed(
        "huge",
        meta_of("0.weight", |meta| meta["sizes"][0] = json!({"as_int": 1i64 << 40})),
        &["`0.weight`"],
    );
    broken.changed(
        "overflow",
        meta_of("0.weight", |meta| {
            meta["sizes"] = json!([{"as_int": i64::MAX}, {"as_int": i64::MAX}]);
        }),
        &["`0.weight`"],
    );
    broken.changed(
        "negative",
        meta_of("0.weight", |meta| meta["sizes"][0] = json!({"as_int": -1})),
        &["`0.weight`"],
    );
    broken.changed(
        "offset",
        meta_of("0.bias", |meta| meta["storage_offset"] = json!({"as_int": 1})),
        &["`0.bias`"],
    );
    broken.changed(
        "offset-below",
        meta_of("0.bias", |meta| meta["storage_offset"] = json!({"as_int": -1})),
        &["`0.bias`"],
    );
    broken.changed(
        "strides",
        meta_of("0.weight", |meta| meta["strides"][0] = json!({"as_int": i64::MAX})),
        &["`0.weight`"],
    );
    broken.changed(
        "float-size",
        meta_of("0.weight", |meta| meta["sizes"][0] = json!({"as_int": 1.5})),
        &["found `1.5`"],
    );
    broken.changed(
        "missing-strides",
        meta_of("0.weight", |meta| meta["strides"] = json!([])),
        &["`0.weight`"],
    );
    broken.changed("no-dtype", meta_of("0.weight", |meta| meta["dtype"] = json!(99)), &["99", "dtype"]);
    broken.changed(
        "other-dtype",
        meta_of("0.weight", |meta| meta["dtype"] = json!(32)),
        &["float8_e5m2fnuz"],
    );
    broken.changed("sparse", meta_of("0.weight", |meta| meta["layout"] = json!(1)), &["sparse", "to_dense"]);
    broken.changed(
        "pickled",
        entry_of("0.weight", |entry| entry["use_pickle"] = json!(true)),
        &["`0.weight`", "pickle"],
    );
    broken.changed(
        "object",
        entry_of("0.weight", |entry| entry["tensor_meta"] = json!(null)),
        &["`0.weight`", "custom class"],
    );
    broken.changed(
        "outside",
        entry_of("0.weight", |entry| entry["path_name"] = json!("../../../etc/passwd")),
        &["no member"],
    );
    broken.changed(
        "wrong-shape",
        meta_of("0.weight", |meta| meta["sizes"] = json!([{"as_int": 8}, {"as_int": 16}])),
        &["`0.weight` is float32[8, 16], expected float32[16, 8]"],
    );
}

/// Members that lie over each other are larger together than the file, however small it is.
fn members_that_lie_over_each_other(broken: &mut Broken) {
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let mut members = Members::read("mlp.pt2");
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
    broken.refused("overlap", &bytes, &["lie over each other"]);
}

/// A change of the entry of one weight.
fn entry_of(member: &'static str, change: fn(&mut Json)) -> impl FnOnce(&mut Members) {
    move |it| it.json(WEIGHTS, |json| change(&mut json["config"][member]))
}

/// A change of what the entry says of the tensor.
fn meta_of(member: &'static str, change: fn(&mut Json)) -> impl FnOnce(&mut Members) {
    move |it| it.json(WEIGHTS, |json| change(&mut json["config"][member]["tensor_meta"]))
}

fn models_of_other_versions_and_kinds(broken: &mut Broken) {
    let model = |change: fn(&mut Json)| move |it: &mut Members| it.json(MODEL, change);
    broken.changed(
        "major",
        model(|it| it["schema_version"]["major"] = json!(9)),
        &["version 9", "expected version 8", "2.15"],
    );
    broken.changed(
        "no-version",
        model(|it| drop(it.as_object_mut().unwrap().remove("schema_version"))),
        &["schema_version"],
    );
    broken.changed("list", model(|it| *it = json!([])), &["schema_version"]);
    broken.changed(
        "no-graph",
        model(|it| drop(it["graph_module"].as_object_mut().unwrap().remove("graph"))),
        &["no field `graph`"],
    );
    broken.changed(
        "kind",
        model(|it| graph(it)["nodes"][0]["inputs"][0]["arg"] = json!({"as_future": 1})),
        &["node 0 `linear`", "`as_future`"],
    );
    broken.changed(
        "two-kinds",
        model(|it| graph(it)["nodes"][0]["inputs"][0]["arg"] = json!({"as_int": 1, "as_bool": true})),
        &["an object with one field"],
    );
    broken.changed(
        "custom",
        model(|it| {
            graph(it)["nodes"][0]["inputs"][0]["arg"] =
                json!({"as_custom_obj": {"name": "a", "class_fqn": "C"}})
        }),
        &["custom class `C`"],
    );
    broken.changed(
        "input-kind",
        model(|it| it["graph_module"]["signature"]["input_specs"][0] = json!({"token": {}})),
        &["input 0", "`token`"],
    );
    broken.changed(
        "output-kind",
        model(|it| it["graph_module"]["signature"]["output_specs"][0] = json!({"token": {}})),
        &["output 0", "`token`"],
    );
    broken.changed(
        "fewer-specs",
        model(|it| drop(it["graph_module"]["signature"]["input_specs"].as_array_mut().unwrap().pop())),
        &["inputs, expected"],
    );
    broken.changed(
        "no-meta",
        model(|it| drop(graph(it)["tensor_values"].as_object_mut().unwrap().remove("relu"))),
        &["`relu` has no entry in `tensor_values`"],
    );
    broken.changed(
        "expression",
        model(|it| {
            graph(it)["tensor_values"]["relu"]["sizes"][0] =
                json!({"as_expr": {"expr_str": "__import__('os')"}})
        }),
        &["value `relu`", "size expression"],
    );
    broken.changed(
        "tree",
        model(|it| it["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = json!("[2, {}]")),
        &["version 2"],
    );
    broken.changed(
        "deep-tree",
        |it| {
            it.json(MODEL, |it| {
                it["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] =
                    json!("[".repeat(100_000));
            })
        },
        &["tree of values", "recursion limit"],
    );
    broken.changed(
        "unknown-weight",
        model(|it| {
            it["graph_module"]["signature"]["input_specs"][0]["parameter"]["parameter_name"] = json!("other");
        }),
        &["tensor `other` is missing"],
    );
}

fn graphs_that_cannot_run(broken: &mut Broken) {
    let node = |change: fn(&mut Json)| {
        move |it: &mut Members| it.json(MODEL, |it| change(&mut graph(it)["nodes"][1]))
    };
    broken.changed(
        "operator",
        node(|it| it["target"] = json!("torch.ops.aten.rellu.default")),
        &["node 1 `%relu`", "aten::relu"],
    );
    broken.changed(
        "function",
        node(|it| it["target"] = json!("_operator.matmul")),
        &["_operator.matmul", "`_operator.add`"],
    );
    broken.changed(
        "higher",
        node(|it| it["target"] = json!("torch.ops.higher_order.flex_attention")),
        &["higher_order::flex_attention", "`higher_order::cond`"],
    );
    broken.changed("path", node(|it| it["target"] = json!("os.system")), &["os.system"]);
    broken.changed(
        "undefined",
        node(|it| it["inputs"][0]["arg"]["as_tensor"]["name"] = json!("nobody")),
        &["`%nobody` is not defined"],
    );
    broken.changed(
        "itself",
        node(|it| it["inputs"][0]["arg"]["as_tensor"]["name"] = json!("relu")),
        &["`%relu` is used before"],
    );
    broken.changed(
        "later",
        node(|it| it["inputs"][0]["arg"]["as_tensor"]["name"] = json!("softmax")),
        &["`%softmax` is used before"],
    );
    broken.changed(
        "twice",
        node(|it| it["outputs"][0]["as_tensor"]["name"] = json!("linear")),
        &["`%linear` is defined twice"],
    );
    broken.changed(
        "argument-kind",
        node(|it| it["inputs"][0]["arg"] = json!({"as_string": "x"})),
        &["aten::relu", "`self`", "Tensor"],
    );
    broken.changed(
        "argument-name",
        node(|it| {
            it["inputs"][0]["kind"] = json!(2);
            it["inputs"][0]["name"] = json!("x");
        }),
        &["unknown argument `x`"],
    );
    broken.changed(
        "too-many",
        node(|it| {
            let first = it["inputs"][0].clone();
            it["inputs"].as_array_mut().unwrap().push(first);
        }),
        &["at most 1 positional arguments"],
    );
    broken.changed("too-few", node(|it| it["inputs"] = json!([])), &["`self` is missing"]);
    broken.changed(
        "results",
        node(|it| {
            let first = it["outputs"][0].clone();
            it["outputs"] = json!([{"as_tensors": [first["as_tensor"]]}]);
        }),
        &["result 0 is Tensor, found a list of names"],
    );
    broken.changed(
        "returns-nothing",
        |it| it.json(MODEL, |it| graph(it)["outputs"][0]["as_tensor"]["name"] = json!("nobody")),
        &["result 0", "`%nobody`"],
    );
}

fn texts_that_are_no_graphs(broken: &mut Broken) {
    broken.text("no text", "", &["line 1, column 1", "found the end, expected `graph`"]);
    broken.text("no end", "graph(%x: float32[2] = input) { return %x", &["found the end, expected `}`"]);
    broken.text("more", "graph() { return } graph", &["expected the end of the graph"]);
    broken.text("no dtype", "graph(%x: float33[2] = input) { return %x }", &["not float33"]);
    broken.text("large number", "graph() { return 99999999999999999999 }", &["an integer of 64 bits"]);
    broken.text("large size", "graph(%x: float32[99999999999999999999] = input) { return %x }", &["64 bits"]);
    let lists = format!("graph() {{ return {}1{} }}", "[".repeat(5000), "]".repeat(5000));
    broken.text("deep lists", &lists, &["at most 128 levels"]);
    let trees = format!("graph() takes {} gives * {{ return }}", "(".repeat(5000));
    broken.text("deep trees", &trees, &["at most 128 levels"]);
    let sizes = format!("graph(%x: float32[{}1] = input) {{ return %x }}", "(".repeat(5000));
    broken.text("deep sizes", &sizes, &["at most 128 levels"]);
    broken.text("open string", "graph(%w: float32[2] = parameter \"w) { return %w }", &["in quotes"]);
    broken.text("no kind", "graph(%x: float32[2] = output) { return %x }", &["what the input is"]);
    broken.text(
        "no device",
        "graph() { %x: any = aten::zeros([2], device=device \"moon\") return %x }",
        &["moon"],
    );
    broken.text(
        "missing tensor",
        "graph(%w: float32[2] = parameter \"w\") gives * { return %w }",
        &["`w` is missing"],
    );
}

fn nodes_that_cannot_run(broken: &mut Broken) {
    broken.nodes("unknown operator", "%y: float32[2] = aten::reluu(%x)", &["aten::reluu", "aten::relu"]);
    broken.nodes("unknown overload", "%y: float32[2] = aten::add.Tensr(%x, %x)", &["aten::add.Tensor"]);
    broken.nodes("unknown function", "%y: int = math.sqr(4)", &["math.sqr", "`math.sqrt`"]);
    broken.nodes(
        "unknown block",
        "%y: any = higher_order::for(%x)",
        &["higher_order::for", "`higher_order::cond`"],
    );
    broken.nodes(
        "cycle",
        "%y: float32[2] = aten::neg(%z) %z: float32[2] = aten::neg(%y)",
        &["`%z` is used before it is defined"],
    );
    broken.nodes("another name", "%x: float32[2] = aten::neg(%x)", &["`%x` is defined twice"]);
    broken.nodes("wrong kind", "%y: float32[2] = aten::add.Tensor(%x, \"1\")", &["argument `other`"]);
    broken.nodes(
        "wrong value",
        "%y: float32[2] = aten::softmax.int(%x, %x)",
        &["argument `dim`", "float32[2]"],
    );
    broken.nodes("wrong dtype", "%y: float64[2] = aten::neg(%x)", &["float64[2]", "expected float32[2]"]);
    broken.nodes("wrong size", "%y: float32[3] = aten::neg(%x)", &["float32[3]", "expected float32[2]"]);
    broken.nodes("wrong rank", "%y: float32[2] = aten::sum(%x)", &["expected float32[]"]);
    broken.nodes("wrong number", "%y: int(3) = aten::sym_size.int(%x, 0)", &["int(3)", "expected int(2)"]);
    broken.nodes(
        "no dimension",
        "%y: float32[2] = aten::sum.dim_IntList(%x, [1])",
        &["aten::sum.dim_IntList", "dim"],
    );
    broken.nodes(
        "no broadcast",
        "%z: float32[3] = aten::zeros([3]) %y: any = aten::add.Tensor(%x, %z)",
        &["broadcast"],
    );
    broken.nodes("block twice", "%y: any = aten::neg(block b() { return 1 })", &["found the block `b`"]);
    broken.nodes(
        "outer value",
        "%y: any = higher_order::cond(true, block a() { return %x }, block b() { return 1 }, [])",
        &["blocks see only"],
    );
    let deep = (0..40).fold("return %x".to_owned(), |inner, _| {
        format!("%y: any = higher_order::cond(true, block a(%x: float32[2]) {{ {inner} }}, block b(%x: float32[2]) {{ return %x }}, [%x]) return %y")
    });
    broken.text(
        "deep blocks",
        &format!("graph(%x: float32[2] = input) {{ {deep} }}"),
        &["nested deeper than 32"],
    );
}

fn json_that_is_no_graph(broken: &mut Broken) {
    broken.json("JSON of a list", |it| *it = json!([]), &["an object with `format`"]);
    broken.json("JSON of another format", |it| it["format"] = json!("onnx"), &["found `onnx`"]);
    broken.json("JSON of another version", |it| it["version"] = json!(2), &["found 2, expected 1"]);
    broken.json(
        "JSON without nodes",
        |it| drop(it.as_object_mut().unwrap().remove("nodes")),
        &["no field `nodes`"],
    );
    broken.json("JSON type", |it| it["inputs"][0]["type"] = json!("float32["), &["type of `x`"]);
    broken.json(
        "JSON kind",
        |it| it["inputs"][0]["kind"] = json!("weight"),
        &["parameter, buffer, constant, input or fixed"],
    );
    broken.json(
        "JSON number",
        |it| it["symbols"] = json!({"n": {"min": u64::MAX}}),
        &["an integer of 64 bits"],
    );
    broken.json(
        "JSON value",
        |it| it["nodes"][0]["positional"][0] = json!({"tensor": 1}),
        &["an object that says its kind"],
    );
    broken.json("JSON symbol", |it| it["symbols"] = json!({"a b": {}}), &["symbol `a b`"]);
    broken.json("JSON tree", |it| it["output_tree"] = json!("(*"), &["field `output_tree`"]);
}

fn programs_that_do_not_end_well(broken: &mut Broken) {
    broken.run("division by zero", "%y: int = _operator.floordiv(1, 0)", &["node 0", "division by zero"]);
    broken.run("number beyond 64 bits", "%y: int = _operator.pow(9, 99)", &["64 bits"]);
    broken.run(
        "assertion",
        "%y: any = aten::neg(%x) aten::_assert_scalar(false, \"x is even\")",
        &["node 1", "x is even"],
    );
    broken.run("item of two", "%y: float = aten::item(%x)", &["node 0", "aten::item"]);
    broken.run("overflow of sizes", "%y: any = aten::zeros([4611686018427387904, 4])", &["node 0"]);
    broken.run("memory", "%y: any = aten::zeros([1099511627776, 1048576])", &["node 0", "aten::zeros"]);
    let row = "block b(%v: any) { return %v }";
    broken.run(
        "no rows",
        &format!("%z: any = aten::sum(%x) %y: any = higher_order::map_impl({row}, [%z], [])"),
        &["rows"],
    );
    broken.run(
        "other length",
        "[%y: any, %z: any, %w: any] = aten::split.Tensor(%x, 1)",
        &["2 elements, expected 3"],
    );
    let mut steps = Limits::default();
    steps.steps = 5000;
    let endless = |condition: &str, body: &str| {
        format!(
            "%y: any = higher_order::while_loop(block c(%v: any) {{ {condition} }}, block b(%v: any) {{ {body} }}, [%x], [])"
        )
    };
    let grows = "%w: any = aten::add.Tensor(%v, 1) return %w";
    broken.limited(
        "endless loop",
        &endless("return true", grows),
        steps,
        &["node 0", "5000 steps", "does not end"],
    );
    broken.limited(
        "endless loop without nodes",
        &endless("return true", "return %v"),
        steps,
        &["5000 steps"],
    );
    let inner = endless("return true", grows).replace("%x", "%v");
    broken.limited(
        "endless loop in a loop",
        &endless("return true", &format!("{inner} return %y")),
        steps,
        &["node 0 `%y`: node 0 `%y`: ", "5000 steps"],
    );
    broken.limited(
        "more rows than steps",
        &format!("%z: any = aten::expand(%x, [1152921504606846976, 2]) %y: any = higher_order::map_impl({row}, [%z], [])"),
        steps,
        &["5000 steps"],
    );
    let mut depth = Limits::default();
    depth.depth = 1;
    broken.limited(
        "deeper than the limit",
        &endless("return false", &format!("{inner} return %y")),
        depth,
        &["nested 2 deep", "expected at most 1"],
    );
    depth.depth = 33;
    broken.limited("a limit above the interpreter's", "%y: any = aten::neg(%x)", depth, &["at most 32"]);
}

#[test]
fn every_broken_file_gives_one_clear_error() {
    let mut broken = Broken::default();
    files_that_are_no_archives(&mut broken);
    archives_of_other_kinds(&mut broken);
    damaged_members(&mut broken);
    sizes_beyond_the_file(&mut broken);
    members_that_lie_over_each_other(&mut broken);
    models_of_other_versions_and_kinds(&mut broken);
    graphs_that_cannot_run(&mut broken);
    texts_that_are_no_graphs(&mut broken);
    nodes_that_cannot_run(&mut broken);
    json_that_is_no_graph(&mut broken);
    programs_that_do_not_end_well(&mut broken);
    let (count, messages) = (broken.names.len(), broken.messages.len());
    println!(
        "{count} broken files with {messages} messages: {} archives, {} texts, {} that run",
        broken.archives, broken.texts, broken.runs
    );
    assert!(count >= 60, "{count} broken files");
    // Files that are broken in one way may have one error.
    assert!(messages >= 100, "{messages} messages for {count} files");
}

#[test]
fn no_cut_of_an_archive_panics() {
    let whole = Members::read("loop.pt2").zipped(CompressionMethod::Stored);
    for step in 1..40 {
        let bytes = &whole[..whole.len() * step / 40];
        let file = File::new("cut", bytes);
        assert!(Program::load(&file.0).is_err(), "{step}");
    }
}

#[test]
fn no_changed_byte_of_an_archive_panics() {
    let whole = Members::read("mlp.pt2").zipped(CompressionMethod::Stored);
    for step in 0..400 {
        let mut bytes = whole.clone();
        let at = whole.len() * step / 400;
        bytes[at] = bytes[at].wrapping_add(1 + (step % 255) as u8);
        let file = File::new("byte", &bytes);
        let _ = Program::load(&file.0);
    }
}

/// The checker calls operators, so that no number in a text may make it slow or end it.
#[test]
fn no_changed_text_panics_or_takes_long() {
    let numbers = [
        "0",
        "-1",
        "1",
        "65536",
        "4294967296",
        "9223372036854775807",
        "-9223372036854775808",
        "1e308",
        "nan",
    ];
    let (mut state, mut checked) = (7u64, 0);
    let mut below = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    for name in ["mlp", "convolutions", "recurrent", "sizes", "scans", "counted", "modes", "training"] {
        let text = exported::archive(name).graph.to_string();
        // Where numbers and the names of operators are.
        let digits: Vec<usize> =
            text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).map(|(at, _)| at).collect();
        for _ in 0..150 {
            let mut changed = text.clone();
            let at = digits[below(digits.len())];
            let behind = text[at..].find(|letter: char| !letter.is_ascii_digit()).unwrap_or(1);
            match below(3) {
                0 => changed.replace_range(at..at + 1, ""),
                _ => changed.replace_range(at..at + behind, numbers[below(numbers.len())]),
            }
            let Ok(graph) = changed.parse::<Graph>() else { continue };
            checked += 1;
            let _ = check(&graph).unwrap();
        }
    }
    assert!(checked > 500, "{checked} graphs");
}
