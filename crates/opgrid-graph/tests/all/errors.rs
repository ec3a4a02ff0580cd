//! What programs and the checker refuse, in words that say what was found and what was expected.

use std::collections::BTreeMap;

use opgrid::{DType, Device, Tensor, Value};
use opgrid_graph::{Graph, Program, check};

use crate::exported;

fn load(name: &str) -> Program {
    Program::load(exported::folder().join(name)).unwrap()
}

fn zeros(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::zeros(sizes, dtype, Device::CPU).unwrap()
}

#[test]
fn inputs_are_held_against_what_the_program_says() {
    let program = load("mlp.pt2");
    let refused = |inputs: &[&Tensor], parts: &[&str]| {
        let error = program.run(inputs).unwrap_err();
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    };
    refused(&[], &["found 0 inputs, expected 1: `input`"]);
    refused(&[&zeros(&[3, 8], DType::F64)], &["input `input`", "found dtype float64, expected float32"]);
    refused(&[&zeros(&[8], DType::F32)], &["found float32[8], expected float32[s"]);
    refused(&[&zeros(&[3, 9], DType::F32)], &["found float32[3, 9]", "dimension 1 is 9, expected 8"]);
    refused(&[&zeros(&[65, 8], DType::F32)], &["found 65 for the size `s", "1..64"]);
    let named = program.run_named(vec![("x", Value::from(1))]).unwrap_err();
    assert!(named.message().contains("no input is named `x`, expected one of `input`"), "{named}");
    let missing = program.run_named(vec![]).unwrap_err();
    assert!(missing.message().contains("input `input` is missing"), "{missing}");
    let x = zeros(&[3, 8], DType::F32);
    let twice = program.run_named(vec![("input", (&x).into()), ("input", (&x).into())]).unwrap_err();
    assert!(twice.message().contains("twice"), "{twice}");
    let number = program.run_values(vec![Value::from(1)]).unwrap_err();
    assert!(number.message().contains("found a value of type int, expected float32["), "{number}");
}

#[test]
fn errors_of_operators_say_the_node() {
    let graph: Graph = "graph(%x: float32[2] = input) gives * {
        %y: float32[3] = aten::view(%x, [3]) from \"head\" \"model.py:7\"
        return %y
    }"
    .parse()
    .unwrap();
    let program = Program::new(graph, BTreeMap::new()).unwrap();
    let error = program.run(&[&zeros(&[2], DType::F32)]).unwrap_err();
    assert!(error.message().starts_with("node 0 `%y` (model.py:7): "), "{error}");
}

/// A graph of one input with these lines.
fn faults(lines: &str) -> Vec<String> {
    let text = format!(
        "graph(%x: float32[2] = input, %n: int(s) = input) where s in 1..9 gives * {{ {lines} return %x }}"
    );
    let graph: Graph = text.parse().unwrap();
    check(&graph).unwrap().iter().map(|error| error.message().to_owned()).collect()
}

#[test]
fn the_checker_finds_every_fault() {
    assert_eq!(
        faults("%y: float32[2] = aten::add.Tensor(%x, 1) %z: float32[2] = aten::mul.Scalar(%y, %n)"),
        [""; 0]
    );
    let all = faults(
        "%a: float32[2] = aten::reluu(%x)
         %b: float32[2] = aten::relu(%a)
         %c: float32[2] = aten::sum.dim_IntList(%x, %x)
         %c: float32[2] = aten::relu(%x)
         %d: float32[2] = aten::relu(%later)
         %later: float32[2] = aten::relu(%x)
         %e: float32[2] = aten::softmax.int(%x, 1.5)
         %f: float32[2] = aten::cat([%x, %n])
         %g: float32[2] = aten::relu(block b() { return })",
    );
    let expected = [
        "node 0 `%a`: ",
        "node 2 `%c`: aten::sum.dim_IntList: argument `dim`: found `%x`, which is float32[2], expected",
        "node 3 `%c`: value `%c` is defined twice",
        "node 4 `%d`: aten::relu: argument `self`: value `%later` is used before it is defined",
        "node 6 `%e`: aten::softmax.int: argument `dim`",
        "node 8 `%g`: aten::relu: argument `self`: found the block `b`",
    ];
    assert_eq!(all.len(), expected.len(), "{all:#?}");
    for (found, expected) in all.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn blocks_are_checked() {
    let cond = |branches: &str, results: &str| {
        faults(&format!("{results} = higher_order::cond(true, {branches}, [%x])")).join("; ")
    };
    let fine = "block a(%x: float32[2]) { return %x }, block b(%x: float32[2]) { return %x }";
    assert_eq!(cond(fine, "%y: float32[2]"), "");
    assert!(cond(fine, "%y: float32[2], %z: float32[2]").contains("2 results are named, expected 1"));
    let outer = "block a(%z: float32[2]) { return %x }, block b(%x: float32[2]) { return %x }";
    assert!(
        cond(outer, "%y: float32[2]").contains("`%x` is not defined in this block"),
        "{}",
        cond(outer, "%y: float32[2]")
    );
    let fewer = "block a() { return 1 }, block b(%x: float32[2]) { return %x }";
    assert!(cond(fewer, "%y: float32[2]").contains("a block of 0 parameters is given 1 values"));
    assert!(
        faults("%y: any = higher_order::cond(true)")
            .join("")
            .contains("expected arguments (condition, block")
    );
    let mut deep = String::from("return %x");
    for _ in 0..40 {
        deep = format!(
            "%y: any = higher_order::cond(true, block a(%x: float32[2]) {{ {deep} }}, block b(%x: float32[2]) {{ return %x }}, [%x]) return %y"
        );
    }
    let text = format!("graph(%x: float32[2] = input) {{ {deep} }}");
    let errors = check(&text.parse().unwrap()).unwrap();
    assert!(errors[0].message().contains("nested deeper than 32"), "{errors:?}");
}

#[test]
fn tensors_of_a_program_are_those_of_its_graph() {
    let graph: Graph = "graph(%w: float32[2] = parameter \"w\") gives * { return %w }".parse().unwrap();
    let with = |tensor: Option<Tensor>| {
        Program::new(graph.clone(), tensor.map(|tensor| ("w".to_owned(), tensor)).into_iter().collect())
    };
    assert_eq!(with(Some(zeros(&[2], DType::F32))).unwrap().run(&[]).unwrap().len(), 1);
    assert!(with(None).unwrap_err().message().contains("tensor `w` is missing"));
    let wrong = with(Some(zeros(&[2], DType::F64))).unwrap_err();
    assert!(wrong.message().contains("tensor `w` is float64[2], expected float32[2]"), "{wrong}");
}

#[test]
fn results_that_are_no_tensors_are_values() {
    let graph: Graph =
        "graph(%n: int(s) = input) where s in 1..9 gives * { %m: int = _operator.mul(%n, 2) return %m }"
            .parse()
            .unwrap();
    let program = Program::new(graph, BTreeMap::new()).unwrap();
    assert_eq!(program.run_values(vec![4.into()]).unwrap(), [Value::from(8)]);
    assert!(program.run_values(vec![10.into()]).unwrap_err().message().contains("1..9"));
    let endless: Graph = "graph(%n: int = input) gives * {
        %m: int = higher_order::while_loop(block c(%n: int) { %b: bool = _operator.lt(%n, 3) return %b },
            block b(%n: int) { %m: int = _operator.add(%n, 1) return %m }, [%n], [])
        return %m
    }"
    .parse()
    .unwrap();
    assert_eq!(
        Program::new(endless, BTreeMap::new()).unwrap().run_values(vec![0.into()]).unwrap(),
        [Value::from(3)]
    );
}

#[test]
fn values_are_freed_behind_their_last_use() {
    let mut text = String::from("graph(%x0: float32[262144] = input) gives * {");
    for index in 0..64 {
        text.push_str(&format!("%x{}: float32[262144] = aten::add.Tensor(%x{index}, 1)\n", index + 1));
    }
    let graph: Graph = format!("{text} return %x64 }}").parse().unwrap();
    let program = Program::new(graph, BTreeMap::new()).unwrap();
    let before = peak();
    let x = zeros(&[262_144], DType::F32);
    program.run(&[&x]).unwrap();
    // All 64 at once take 64 MiB.
    assert!(peak() - before < 16 << 20, "{}", peak() - before);
}

/// The largest resident set so far, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn programs_are_shared_by_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Program>();
    is_shared::<Graph>();
}
