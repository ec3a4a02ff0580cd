//! Archives that are written are what was read, and what has no form in them is refused before a file is touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opgrid::{DType, Device, Result, Tensor};
use opgrid_graph::{Archive, Graph, Program, read};

use crate::exported;

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("opgrid-written-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a program gives for the inputs beside the one that it is a copy of.
fn results(path: &Path, name: &str) -> Vec<String> {
    let program = Program::load(path).unwrap();
    let results = program.run_values(exported::inputs(program.graph(), name)).unwrap();
    let mut results: Vec<_> = results.iter().map(|value| format!("{value}")).collect();
    results.extend(program.buffers().iter().map(|(name, tensor)| format!("{name} {tensor}")));
    results
}

/// Everything that a tensor is: its kind and place, and the bytes of its storage as far as tensors reach.
fn described(tensors: &BTreeMap<String, Tensor>) -> Vec<String> {
    let mut storages = Vec::new();
    let one = |(name, tensor): (&String, &Tensor)| {
        let array = tensor.array().unwrap();
        let identity = (array.storage().identity(), tensor.dtype());
        let place = storages.iter().position(|known| *known == identity).unwrap_or_else(|| {
            storages.push(identity);
            storages.len() - 1
        });
        let reach = array.spec().bytes().unwrap();
        let bytes = array.storage().read().unwrap().bytes()[..reach].to_vec();
        format!("{name}: {:?} in storage {place} {bytes:?}", array.spec())
    };
    tensors.iter().map(one).collect()
}

#[test]
fn what_is_written_is_what_was_read() {
    let own = Folder::new("models");
    for name in exported::names() {
        let original = exported::path(&name);
        let archive = read(&original).unwrap();
        let path = own.file(&format!("{name}.pt2"));
        archive.write(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again.graph.to_string(), archive.graph.to_string(), "{name}");
        assert_eq!(again.graph, archive.graph, "{name}");
        assert_eq!(described(&again.tensors), described(&archive.tensors), "{name}");
        assert_eq!(again.torch_version, archive.torch_version, "{name}");
        assert_eq!(results(&path, &name), results(&original, &name), "{name}");
        // Written again, it is the same file.
        let twice = own.file("twice.pt2");
        again.write(&twice).unwrap();
        assert!(std::fs::read(&twice).unwrap() == std::fs::read(&path).unwrap(), "{name}");
    }
}

#[test]
fn members_are_stored_at_multiples_of_64_bytes() {
    let own = Folder::new("aligned");
    let path = own.file("writes.pt2");
    exported::archive("writes").write(&path).unwrap();
    let mut zip = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
    let mut names = Vec::new();
    for index in 0..zip.len() {
        let member = zip.by_index(index).unwrap();
        assert_eq!(member.compression(), zip::CompressionMethod::Stored);
        assert_eq!(member.data_start().unwrap() % 64, 0);
        names.push(member.name().unwrap().into_owned());
    }
    // Four of the five tensors share one storage.
    assert_eq!(names.iter().filter(|name| name.contains("weight_")).count(), 2, "{names:?}");
}

/// Writes a graph with its tensors, and reads it.
fn rewritten(name: &str, text: &str, tensors: &[(&str, Tensor)]) -> Result<Archive> {
    let own = Folder::new(name);
    let tensors = tensors.iter().map(|(name, tensor)| ((*name).to_owned(), tensor.clone())).collect();
    let archive = Archive::new(text.parse()?, tensors);
    let path = own.file("a.pt2");
    let written = archive.write(&path);
    if written.is_err() {
        assert_eq!(std::fs::read_dir(&own.0).unwrap().count(), 0, "nothing is left of what was refused");
    }
    written.and_then(|()| read(&path))
}

#[test]
fn everything_that_a_graph_can_say_is_kept() {
    let text = r#"graph(
  %w: float32[2, 3] = parameter "w",
  %b: float32[2] = buffer "b",
  %u: int64[] = buffer "u" unsaved,
  %c: complex64[1] = constant "c",
  %x: float32[n, 2*m + 1] = input,
  %n: int(n) = input,
  %none: any = fixed none,
  %half: float = fixed 0.5,
  %two: int(2) = fixed 2,
  %yes: bool = fixed true,
  %text: any = fixed "a \"b\"",
)
where m in .., n in 1..64
takes ((*, *, *), {"half": *, "two": *, "yes": *, "text": *})
gives namedtuple "P" {"x": *, "y": [*, None], "z": dataclass "D" {"a": *, "b": None}}
{
  %values: float32[n, 2], %places: int64[n, 2] = aten::topk(%x, 2, dim=-1) from "encoder.layers.0" "model.py:12"
  [%first: float32[n, m], %rest: float32[n, m + 1]] = aten::chunk(%x, 2, 1)
  _, %least: int64[n] = aten::min.dim(%x, 1)
  %flag: bool = _operator.gt(%n, 2)
  %root: float = math.sqrt(%n)
  %rows: float32[FloorDiv(n, 2), 2*m + 1] = aten::slice.Tensor(%x, 0, 0, none)
  %filled: float32[n, 4] = aten::full([%n, 4], -inf, dtype=torch.float32, layout=torch.strided, device=device "cpu", pin_memory=false)
  %picked: float32[n, 2*m + 1] = aten::index.Tensor(%x, [none, %places])
  %joined: float32[n, 2] = aten::cat([%values, %values], 1)
  %scaled: complex64[1] = aten::mul.Tensor(%c, complex(1.0, nan))
  %packed: float32[n, 2*m + 1] = aten::clone(%x, memory_format=torch.contiguous_format)
  %each: float32[n, 2] = aten::upsample_nearest1d.vec(%values, none, [2.0])
  %loss: float32[] = aten::sum(%values)
  return buffer "b" = %b, input "x" = %x, loss %loss, gradient parameter "w" = %w, gradient input "x" = %x, 3
}
"#;
    let tensor = |sizes: &[i64], dtype| Tensor::zeros(sizes, dtype, Device::CPU).unwrap();
    let tensors = [
        ("w", tensor(&[2, 3], DType::F32)),
        ("b", tensor(&[2], DType::F32)),
        ("u", tensor(&[], DType::I64)),
        ("c", tensor(&[1], DType::Complex64)),
        ("unused", tensor(&[0, 4], DType::F16)),
    ];
    let again = rewritten("everything", text, &tensors).unwrap();
    assert_eq!(again.graph.to_string(), text);
    assert_eq!(again.tensors.keys().collect::<Vec<_>>(), ["b", "c", "u", "unused", "w"]);
}

#[test]
fn views_keep_their_strides_and_their_storage() {
    let base = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let turned = base.t().unwrap();
    let wide = base.select(0, 1).unwrap().unsqueeze(0).unwrap().expand(&[4, 3]).unwrap();
    let names = [("base", &base), ("turned", &turned), ("wide", &wide)];
    let inputs =
        names.map(|(name, tensor)| format!("%{name}: float32{:?} = constant {name:?}", tensor.sizes()));
    let text = format!("graph({}) {{ return %wide }}", inputs.join(", "));
    let again = rewritten("views", &text, &names.map(|(name, tensor)| (name, tensor.clone()))).unwrap();
    let before = names.map(|(name, tensor)| (name.to_owned(), tensor.clone())).into();
    assert_eq!(described(&again.tensors), described(&before));
    assert_eq!(again.tensors["wide"].strides(), [0, 1]);
}

#[test]
fn names_that_python_cannot_have_become_others() {
    let text = r#"graph(%"lambda": float32[] = input, %"a.b": float32[] = input, %two: int(2) = fixed 2) {
        %a_b: float32[] = aten::mul.Tensor(%"lambda", %two)
        %"1": float32[] = aten::add.Tensor(%"a.b", %a_b)
        return input "a.b" = %"1", %"1" }"#;
    let again = rewritten("names", text, &[]).unwrap().graph.to_string();
    let expected = "graph(
  %lambda_1: float32[] = input,
  %a_b_1: float32[] = input,
  %two: int(2) = fixed 2,
)
takes ()
gives ()
{
  %a_b: float32[] = aten::mul.Tensor(%lambda_1, 2)
  %_1: float32[] = aten::add.Tensor(%a_b_1, %a_b)
  return input \"a_b_1\" = %_1, %_1
}
";
    assert_eq!(again, expected);
}

/// Asserts that a graph is refused with a message that has all the parts.
fn refused(name: &str, text: &str, parts: &[&str]) {
    let error = rewritten(name, text, &[]).expect_err(name);
    let message = error.message();
    println!("{name}: {message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{name}: expected {parts:?} in {message}");
}

#[test]
fn what_has_no_form_is_refused() {
    refused(
        "float-input",
        "graph(%x: float = input) { return %x }",
        &["input `x`", "float", "expected a tensor or an int"],
    );
    refused("fixed-list", "graph(%x: any = fixed [1, 2]) { return }", &["input `x`", "fixed"]);
    refused(
        "number-kept",
        "graph(%x: int = parameter \"x\") { return %x }",
        &["input `x`", "expected a tensor"],
    );
    refused(
        "missing",
        "graph(%x: float32[] = parameter \"p\") { return %x }",
        &["tensor `p` is missing", "`%x`"],
    );
    refused("text-result", "graph() { return \"a\" }", &["output 0", "constant"]);
    refused(
        "mutation",
        "graph(%x: float32[] = input) { return input \"x\" = 3 }",
        &["output 0", "expected a tensor"],
    );
    refused("nobody", "graph(%x: float32[] = input) { return input \"y\" = %x }", &["the input `y`"]);
    refused(
        "twice",
        "graph(%x: float32[] = input, %x: float32[] = input) { return }",
        &["`%x` is defined twice"],
    );
    let node = |name: &str, node: &str, parts: &[&str]| {
        refused(name, &format!("graph(%x: float32[2] = input, %n: int = input) {{ {node} return }}"), parts);
    };
    node("unknown", "%y: float32[2] = aten::rellu(%x)", &["node 0", "aten::rellu"]);
    node(
        "many",
        "%y: float32[2] = aten::relu(%x, 1, 2)",
        &["node 0 aten::relu", "3 arguments by position", "at most 1"],
    );
    node(
        "undefined",
        "%y: float32[2] = aten::relu(%z)",
        &["node 0", "argument 0 `self`", "`%z` is not defined"],
    );
    node(
        "mixed",
        "%y: float32[2] = aten::view(%x, [%x, %n])",
        &["argument 1 `size`", "`sym_int`, `tensor`", "one kind"],
    );
    node("deep", "%y: float32[2] = aten::view(%x, [[[1]]])", &["nested deeper than 2"]);
    node("any", "%y: any = aten::relu(%x)", &["nothing is known of `%y`"]);
    node("numbers", "[%y: int] = aten::chunk(%x, 2)", &["results that are no tensors"]);
    node("block", "%y: float32[2] = aten::add.Tensor(%x, [block b() { return }])", &["the block `b`"]);
    refused(
        "function",
        "graph(%x: float32[exit(1)] = input) { return }",
        &["input `x`", "no function `exit`"],
    );
    let deep = format!(
        "graph() {{ {} return }}",
        "higher_order::cond(block b() {".repeat(20) + &" return })".repeat(20)
    );
    refused("deep-blocks", &deep, &["blocks are nested deeper than 14"]);
    let nowhere = Archive::new(Graph::default(), BTreeMap::new());
    let error = nowhere.write("no/such/folder/a.pt2").unwrap_err();
    assert!(error.message().contains("make its folder first"), "{error}");
}

#[test]
fn blocks_as_deep_as_they_may_be_are_read_again() {
    let deep = "higher_order::cond(block b(%x: float32[n, n] = input) {".replace(" = input", "");
    let text = format!(
        "graph(%x: float32[n, n] = input) where n in 2.. {{ {} {} }}",
        deep.repeat(14),
        "%y: float32[2*n + 1, FloorDiv(n, 2)] = aten::cat([%x, %x], 1) return %y".to_owned()
            + &" }) return %x".repeat(14)
    );
    let again = rewritten("deepest", &text, &[]).unwrap();
    assert_eq!(again.graph, text.parse().unwrap());
}

#[test]
fn tensors_without_data_are_refused() {
    let text = "graph(%x: float32[2] = parameter \"p\") { return %x }";
    let meta = Tensor::empty(&[2], DType::F32, Device::META).unwrap();
    let error = rewritten("meta", text, &[("p", meta)]).unwrap_err();
    assert!(error.message().contains("tensor `p`: it has no data"), "{error}");
}
