//! Programs with views and writes give the same without writes, and write the same inputs and buffers at their end.

use std::collections::{BTreeMap, BTreeSet};

use opgrid::dispatch::{List, TensorType};
use opgrid::layers::functional::inverse::order;
use opgrid::ops::CloneTensor as CloneOp;
use opgrid::samples::Plain;
use opgrid::tensor::Geometry;
use opgrid::{DType, Device, Dispatcher, MemoryFormat, Result, Tensor, Value};
use opgrid_graph::{Archive, Graph, OutputKind, Program, Trace, find_target, passes};

use crate::exported;

/// A stream of numbers that a seed decides.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = self.0 ^ (self.0 >> 29);
        mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 17
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    fn from<X: Clone>(&mut self, all: &[X]) -> X {
        all[self.below(all.len())].clone()
    }
}

fn numbers(sizes: &[i64], seed: u64) -> Tensor {
    let count: i64 = sizes.iter().product();
    let values: Vec<f32> = (0..count).map(|index| ((index as u64 * 7 + seed) as f32 * 0.37).sin()).collect();
    Tensor::from_slice(&values, sizes).unwrap()
}

fn copy(tensor: &Tensor) -> Tensor {
    CloneOp.call(tensor, Some(MemoryFormat::Preserve)).unwrap()
}

fn text(tensor: &Tensor) -> String {
    Plain::from_tensor(tensor).unwrap().to_string()
}

/// How many views and writes of which operators random programs have.
#[derive(Default)]
struct Seen {
    views: BTreeMap<&'static str, usize>,
    writes: BTreeMap<&'static str, usize>,
}

/// Calls an operator by name; tensors first, then numbers.
fn call(name: &str, args: Vec<Value>) -> Option<Vec<Tensor>> {
    let results = Dispatcher::current().find(name).unwrap().call_with(args, Vec::new()).ok()?;
    let mut tensors = Vec::new();
    for result in results {
        match result {
            Value::Tensor(tensor) => tensors.push(Tensor::try_from(tensor).unwrap()),
            Value::List(list) => {
                for item in list.values() {
                    let Value::Tensor(tensor) = item else { continue };
                    tensors.push(Tensor::try_from(tensor).unwrap());
                }
            }
            _ => {}
        }
    }
    Some(tensors)
}

fn ints(values: &[i64]) -> Value {
    Value::from(values.to_vec())
}

/// A random view of a tensor.
fn view(random: &mut Numbers, x: &Tensor, seen: &mut Seen) -> Option<Tensor> {
    let dims = x.dim();
    let dim = random.below(dims.max(1)) as i64;
    let size = x.sizes().get(dim as usize).copied().unwrap_or(1);
    let other = random.below(dims.max(1)) as i64;
    let int = |value: i64| Value::Int(value);
    let start = random.below(size.max(1) as usize) as i64;
    let choices: Vec<(&'static str, Vec<Value>)> = vec![
        ("aten::slice.Tensor", vec![int(dim), int(start), int(size), int(1 + random.below(2) as i64)]),
        ("aten::select.int", vec![int(dim), int(start)]),
        ("aten::select.int", vec![int(dim), int(-1)]),
        ("aten::narrow", vec![int(dim), int(start), int((size - start).min(2))]),
        ("aten::transpose.int", vec![int(dim), int(other)]),
        ("aten::permute", vec![ints(&(0..dims as i64).rev().collect::<Vec<_>>())]),
        ("aten::t", vec![]),
        ("aten::view", vec![ints(&[-1])]),
        ("aten::reshape", vec![ints(&[-1])]),
        ("aten::reshape", vec![ints(&[2, -1])]),
        ("aten::flatten.using_ints", vec![]),
        ("aten::unsqueeze", vec![int(dim)]),
        ("aten::squeeze", vec![]),
        ("aten::squeeze.dim", vec![int(dim)]),
        ("aten::diagonal", vec![int(random.below(2) as i64)]),
        ("aten::expand", vec![ints(&[&[2], x.sizes()].concat())]),
        ("aten::unfold", vec![int(dim), int(size.min(2)), int(2)]),
        ("aten::split.Tensor", vec![int(2), int(dim)]),
        ("aten::chunk", vec![int(2), int(dim)]),
        ("aten::unbind.int", vec![int(dim)]),
        ("aten::detach", vec![]),
        ("aten::alias", vec![]),
        ("aten::contiguous", vec![]),
        ("aten::as_strided", vec![ints(&[2, 2]), ints(&[1, 2]), int(0)]),
        ("aten::swapaxes", vec![int(dim), int(other)]),
        ("aten::movedim.int", vec![int(dim), int(other)]),
        ("aten::unflatten.int", vec![int(dim), ints(&[-1, 1])]),
    ];
    let (name, mut args) = random.from(&choices);
    args.insert(0, Value::from(x));
    // What as_strided reads of a view is the memory around it.
    if name == "aten::as_strided" && !(x.is_contiguous() && x.numel() >= 4 && x.geometry().offset() == 0) {
        return None;
    }
    let taken = call(name, args)?;
    *seen.views.entry(name).or_default() += 1;
    (!taken.is_empty()).then(|| random.from(&taken))
}

/// A random write to a tensor.
fn write(random: &mut Numbers, x: &Tensor, pool: &[Tensor], seen: &mut Seen) -> Option<Tensor> {
    let other = Value::from(&random.from(pool));
    let another = Value::from(&random.from(pool));
    let number = Value::Float(random.below(7) as f64 - 3.0);
    let own = Value::from(x);
    let choices: Vec<(&'static str, Vec<Value>)> = vec![
        ("aten::add_.Tensor", vec![other.clone()]),
        ("aten::add_.Scalar", vec![number.clone()]),
        ("aten::mul_.Tensor", vec![number.clone()]),
        ("aten::mul_.Tensor", vec![own.clone()]),
        ("aten::sub_.Tensor", vec![other.clone()]),
        ("aten::copy_", vec![other.clone()]),
        ("aten::copy_", vec![other.clone()]),
        ("aten::fill_.Scalar", vec![number.clone()]),
        ("aten::zero_", vec![]),
        ("aten::neg_", vec![]),
        ("aten::relu_", vec![]),
        ("aten::clamp_", vec![Value::Float(-0.5), Value::Float(0.5)]),
        ("aten::ge_.Scalar", vec![number.clone()]),
        ("aten::sin_", vec![]),
        ("aten::addcmul_", vec![other.clone(), another.clone()]),
        (
            "aten::index_fill_.int_Scalar",
            vec![Value::Int(0), Value::from(&Tensor::from_slice(&[0i64], &[1]).unwrap()), number],
        ),
        ("aten::cumsum_", vec![Value::Int(0)]),
        ("aten::tril_", vec![]),
    ];
    let (name, mut args) = random.from(&choices);
    args.insert(0, own);
    let results = call(name, args)?;
    *seen.writes.entry(name).or_default() += 1;
    results.into_iter().next()
}

/// An output that is written, or a list of tensors in place.
fn write_several(random: &mut Numbers, pool: &[Tensor], seen: &mut Seen) -> Option<()> {
    let (x, y, out) = (random.from(pool), random.from(pool), random.from(pool));
    if random.below(2) == 0 {
        let handle = Dispatcher::current().find("aten::add.out").unwrap();
        let fits = x.add(&y).is_ok_and(|sum| sum.sizes() == out.sizes());
        let named = vec![("out".to_owned(), Value::from(&out))];
        if !fits || handle.call_with(vec![Value::from(&x), Value::from(&y)], named).is_err() {
            return None;
        }
        *seen.writes.entry("aten::add.out").or_default() += 1;
        return Some(());
    }
    let list = Value::from(List::Tensors(vec![x.as_any().clone(), y.as_any().clone()]));
    let name = "aten::_foreach_add_.Scalar";
    Dispatcher::current().find(name).ok()?.call_with(vec![list, Value::Float(0.25)], Vec::new()).ok()?;
    *seen.writes.entry(name).or_default() += 1;
    Some(())
}

/// What a random program does with tensors that it has and that it is given.
fn program(random: &mut Numbers, given: &[Tensor], seen: &mut Seen) -> Result<Vec<Tensor>> {
    let mut pool: Vec<Tensor> = given.to_vec();
    let steps = 6 + random.below(14);
    for _ in 0..steps {
        // Late values are views of views.
        let place = if random.below(2) == 0 { pool.len() - 1 } else { random.below(pool.len()) };
        let x = pool[place].clone();
        match random.below(10) {
            0..=3 => pool.extend(view(random, &x, seen)),
            4..=6 => pool.extend(write(random, &x, &pool, seen)),
            7 => write_several(random, &pool, seen).unwrap_or_default(),
            8 => pool.push(x.mul(0.5)?),
            _ => {
                let y = random.from(&pool);
                pool.extend(x.add(&y).ok());
            }
        }
    }
    let count = 1 + random.below(4);
    Ok((0..count).map(|_| random.from(&pool)).collect())
}

/// Asserts that no call of the graph writes.
#[track_caller]
fn assert_pure(graph: &Graph) {
    let mut targets = BTreeSet::new();
    graph.block.visit(&mut |node| {
        targets.insert(node.target.clone());
    });
    for target in targets {
        let Some(operator) = find_target(&target).unwrap() else { continue };
        assert!(!operator.schema().unwrap().is_mutable(), "{target} writes in {graph}");
    }
}

/// What running a program on copies of its tensors and inputs gives and leaves behind.
fn outcome(graph: &Graph, tensors: &BTreeMap<String, Tensor>, inputs: &[Tensor]) -> Result<Vec<String>> {
    let tensors: BTreeMap<String, Tensor> =
        tensors.iter().map(|(name, tensor)| (name.clone(), copy(tensor))).collect();
    let inputs: Vec<Tensor> = inputs.iter().map(copy).collect();
    let program = Program::new(graph.clone(), tensors.clone())?;
    let results = program.run(&inputs.iter().collect::<Vec<_>>())?;
    let mut all: Vec<String> = results.iter().map(|result| format!("result {}", text(result))).collect();
    all.extend(inputs.iter().map(|input| format!("input {}", text(input))));
    all.extend(tensors.iter().map(|(name, tensor)| format!("{name} {}", text(tensor))));
    Ok(all)
}

/// Functionalizes a program and asserts that both give and write the same.
#[track_caller]
fn equal(graph: &Graph, tensors: &BTreeMap<String, Tensor>, inputs: &[Tensor]) -> Graph {
    let copies = tensors.iter().map(|(name, tensor)| (name.clone(), copy(tensor))).collect();
    let pure = passes::functionalize(Archive::new(graph.clone(), copies))
        .unwrap_or_else(|error| panic!("{error}\n{graph}"))
        .graph;
    assert_pure(&pure);
    let expected = outcome(graph, tensors, inputs).unwrap_or_else(|error| panic!("{error}\n{graph}"));
    let found = outcome(&pure, tensors, inputs).unwrap_or_else(|error| panic!("{error}\n{graph}\n{pure}"));
    assert_eq!(found, expected, "{graph}\n{pure}");
    assert_eq!(pure.to_string().parse::<Graph>().unwrap().to_string(), pure.to_string());
    pure
}

#[test]
fn random_programs_are_equal_without_writes() {
    opgrid::ops::ensure_registered().unwrap();
    let mut seen = Seen::default();
    let (mut written, mut buffers, mut inputs_written) = (0, 0, 0);
    for seed in 0..300 {
        let mut random = Numbers(seed);
        let shapes: [&[i64]; 6] = [&[3, 4], &[4], &[2, 3, 4], &[4, 4], &[1, 5], &[6]];
        let tensor = |random: &mut Numbers| numbers(random.from(&shapes[..]), random.next() % 100);
        // Tensors of the program need not be row-major.
        let stored = |random: &mut Numbers| match tensor(random) {
            whole if whole.dim() > 1 && random.below(3) == 0 => copy(&whole.transpose(0, 1).unwrap()),
            whole => whole,
        };
        let (a, b) = (stored(&mut random), stored(&mut random));
        let inputs: Vec<Tensor> = (0..1 + random.below(2)).map(|_| tensor(&mut random)).collect();
        let trace = Trace::new().parameter("a", &copy(&a));
        let kept = copy(&b);
        let trace = trace.buffer("b", &kept);
        let borrowed: Vec<&Tensor> = inputs.iter().collect();
        let state = random.0;
        let traced = trace.run(&borrowed, |given| {
            let mut all = vec![kept.clone()];
            all.extend(given.iter().cloned());
            program(&mut Numbers(state), &all, &mut seen)
        });
        let traced = traced.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let mut tensors: BTreeMap<String, Tensor> = traced.constants().into_iter().collect();
        tensors.extend([("a".to_owned(), a), ("b".to_owned(), b)]);
        let pure = equal(traced.graph(), &tensors, &inputs);
        let is_written = |kind: &OutputKind| !kind.is_returned();
        written += usize::from(pure.outputs.iter().any(is_written));
        buffers += usize::from(pure.outputs.iter().any(|kind| matches!(kind, OutputKind::BufferMutation(_))));
        inputs_written +=
            usize::from(pure.outputs.iter().any(|kind| matches!(kind, OutputKind::InputMutation(_))));
    }
    let count = |of: &BTreeMap<&str, usize>| of.values().sum::<usize>();
    println!(
        "{} views by {:?}\n{} writes by {:?}\n{written} of 300 copy back: {buffers} a buffer, {inputs_written} an input",
        count(&seen.views),
        seen.views,
        count(&seen.writes),
        seen.writes
    );
    assert!(count(&seen.views) > 600 && seen.views.len() > 20, "{:?}", seen.views);
    assert!(count(&seen.writes) > 600 && seen.writes.len() > 15, "{:?}", seen.writes);
    assert!(buffers > 100 && inputs_written > 100, "{buffers} {inputs_written}");
}

/// A graph of one input with these lines.
fn graph(input: &str, lines: &str) -> Graph {
    format!("graph(%x: {input} = input) takes ((*,), {{}}) gives * {{ {lines} }}").parse().unwrap()
}

fn targets(graph: &Graph) -> Vec<&str> {
    graph.block.nodes.iter().map(|node| node.target.as_str()).collect()
}

#[test]
fn each_view_has_its_inverse() {
    let lines = |view: &str| format!("%v: any = {view} %_: any = aten::add_.Tensor(%v, 1) return %x");
    for (view, expected) in [
        ("aten::slice.Tensor(%x, 1, 1, 3)", "aten::slice_scatter"),
        ("aten::select.int(%x, 0, 1)", "aten::select_scatter"),
        ("aten::diagonal(%x)", "aten::diagonal_scatter"),
        ("aten::as_strided(%x, [2], [3], 1)", "aten::as_strided_scatter"),
        ("aten::view(%x, [4, 3])", "aten::reshape"),
        ("aten::unsqueeze(%x, 0)", "aten::reshape"),
        ("aten::transpose.int(%x, 0, 1)", "aten::permute"),
        ("aten::unfold(%x, 1, 2, 2)", "aten::reshape"),
        ("aten::unfold(%x, 0, 2, 2)", "aten::put"),
        ("aten::narrow(%x, 1, 0, 2)", "aten::put"),
    ] {
        let pure = equal(&graph("float32[3, 4]", &lines(view)), &BTreeMap::new(), &[numbers(&[3, 4], 3)]);
        assert!(targets(&pure).contains(&expected), "{view}: {pure}");
    }
    // A view of all of the value needs none.
    let pure =
        equal(&graph("float32[3, 4]", &lines("aten::detach(%x)")), &BTreeMap::new(), &[numbers(&[3, 4], 3)]);
    assert_eq!(targets(&pure), ["aten::detach", "aten::add.Tensor"]);
}

#[test]
fn views_of_lists_and_of_other_dtypes_are_written() {
    let x = [numbers(&[3, 4], 3)];
    let lines = "[%a: float32[2, 4], %b: float32[1, 4]] = aten::split.Tensor(%x, 2)
        %c: float32[2, 4] = aten::neg_(%a)
        %d: float32[1, 4] = aten::exp_(%b)
        return %x, %a";
    equal(&graph("float32[3, 4]", lines), &BTreeMap::new(), &x);
    let lines = "%bits: int32[3, 4] = aten::view.dtype(%x, torch.int32)
        %c: int32[3, 4] = aten::bitwise_xor_.Scalar(%bits, 1)
        return %x, %bits";
    equal(&graph("float32[3, 4]", lines), &BTreeMap::new(), &x);
    let pairs = Value::from(&numbers(&[3, 2], 1));
    let z = call("aten::view_as_complex", vec![pairs]).unwrap();
    for view in ["aten::real(%x)", "aten::imag(%x)", "aten::view_as_real(%x)"] {
        let lines = format!("%v: any = {view} %_: any = aten::mul_.Tensor(%v, 3) return %x, %v");
        equal(&graph("complex64[3]", &lines), &BTreeMap::new(), &z);
    }
    let pair = [numbers(&[3, 2], 1)];
    let lines = "%z: complex64[3] = aten::view_as_complex(%x) %_: any = aten::mul_.Tensor(%z, complex(0.0, 1.0)) return %x";
    equal(&graph("float32[3, 2]", lines), &BTreeMap::new(), &pair);
}

#[test]
fn tensors_that_change_their_sizes_in_place_are_views() {
    let lines = "%v: float32[3, 4] = aten::alias(%x)
        %y: any = aten::unsqueeze_(%v, 0)
        %z: any = aten::transpose_(%v, 0, 2)
        %_: any = aten::add_.Tensor(%v, 1)
        return %x, %y, %z";
    equal(&graph("float32[3, 4]", lines), &BTreeMap::new(), &[numbers(&[3, 4], 3)]);
}

#[test]
fn dtypes_of_what_is_written_stay() {
    let x = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
    let lines = "%_: any = aten::ge_.Scalar(%x, 2) %y: float32[3] = aten::mul.Scalar(%x, 0.5)
        %z: any = aten::copy_(%x, %y) return %x, %z";
    equal(&graph("int64[3]", lines), &BTreeMap::new(), &[x]);
    let lines = "%y: float64[3] = aten::zeros([3], dtype=torch.float64) %_: any = aten::sum.IntList_out(%x, [0], out=%y) return %y";
    equal(&graph("float32[2, 3]", lines), &BTreeMap::new(), &[numbers(&[2, 3], 5)]);
    let lines =
        "%y: int32[4] = aten::zeros([4], dtype=torch.int32) %_: any = aten::arange.out(4, out=%y) return %y";
    equal(&graph("float32[2, 3]", lines), &BTreeMap::new(), &[numbers(&[2, 3], 5)]);
}

#[test]
fn sizes_that_vary_stay_symbols() {
    let text = "graph(%x: float32[n, 4] = input) where n in 1..64 takes ((*,), {}) gives (*, *) {
        %t: float32[4, n] = aten::transpose.int(%x, 0, 1)
        %n: int(n) = aten::sym_size.int(%x, 0)
        %f: float32[4*n] = aten::reshape(%t, [-1])
        %v: float32[4*n] = aten::view(%x, [-1])
        %w: float32[2*n, 2] = aten::unfold(%v, 0, 2, 2)
        %_: any = aten::add_.Tensor(%v, 1)
        %_2: any = aten::mul_.Tensor(%w, 2)
        %_3: any = aten::neg_(%t)
        return %v, %f
    }";
    let graph: Graph = text.parse().unwrap();
    for rows in [2, 7] {
        equal(&graph, &BTreeMap::new(), &[numbers(&[rows, 4], 3)]);
    }
}

#[test]
fn constants_that_are_written_become_buffers() {
    let text = "graph(%c: float32[2] = constant \"total\", %x: float32[2] = input) takes ((*,), {}) gives * {
        %_: any = aten::add_.Tensor(%c, %x) return %c }";
    let tensors = BTreeMap::from([("total".to_owned(), numbers(&[2], 0))]);
    let pure = equal(&text.parse().unwrap(), &tensors, &[numbers(&[2], 1)]);
    assert!(pure.to_string().contains(r#"buffer "total" unsaved"#), "{pure}");
    let program = Program::new(pure, tensors).unwrap();
    let x = numbers(&[2], 1);
    let first = text_of_run(&program, &x);
    assert_ne!(text_of_run(&program, &x), first);
}

fn text_of_run(program: &Program, x: &Tensor) -> String {
    text(&program.run(&[x]).unwrap()[0])
}

#[test]
fn statistics_of_batch_normalization_are_written() {
    let text = "graph(%m: float32[3] = buffer \"mean\", %v: float32[3] = buffer \"var\", %x: float32[2, 3, 4] = input)
        takes ((*,), {}) gives * {
        %y: float32[2, 3, 4] = aten::batch_norm(%x, none, none, %m, %v, true, 0.1, 1e-5, true) return %y }";
    let ones = Tensor::ones(&[3], DType::F32, Device::CPU).unwrap();
    let tensors = BTreeMap::from([("mean".to_owned(), numbers(&[3], 0)), ("var".to_owned(), ones)]);
    let pure = equal(&text.parse().unwrap(), &tensors, &[numbers(&[2, 3, 4], 1)]);
    assert_eq!(pure.outputs.len(), 3, "{pure}");
}

#[test]
fn blocks_give_what_they_write() {
    let set = "higher_order::wrap_with_set_grad_enabled(false, block b(%p: float32[3], %q: float32[3]) {
            %t: float32[3] = aten::mul.Tensor(%q, 2)
            %_: any = aten::add_.Tensor(%p, %t)
            %s: float32[2] = aten::slice.Tensor(%q, 0, 1, 3)
            return %t, %p }, %r, %y)";
    let lines = format!(
        "%r: float32[3] = aten::select.int(%x, 0, 0) %y: float32[3] = aten::exp(%r) %t: float32[3], %p: float32[3] = {set}
         %_: any = aten::neg_(%p) return %x, %t, %p, %r"
    );
    let pure = equal(&graph("float32[2, 3]", &lines), &BTreeMap::new(), &[numbers(&[2, 3], 1)]);
    assert!(matches!(&pure.outputs[0], OutputKind::InputMutation(name) if name == "x"), "{pure}");
    let branch = |name: &str, writes: &str| {
        format!("block {name}(%p: float32[3]) {{ {writes} %z: float32[3] = aten::exp(%p) return %z }}")
    };
    for (yes, no) in
        [("%_: any = aten::neg_(%p)", ""), ("", "%_: any = aten::neg_(%p) %_1: any = aten::zero_(%p)")]
    {
        for condition in ["true", "false"] {
            let lines = format!(
                "%r: float32[3] = aten::select.int(%x, 0, 1) %z: float32[3] = higher_order::cond({condition}, {}, {}, [%r]) return %z, %x",
                branch("yes", yes),
                branch("no", no)
            );
            equal(&graph("float32[2, 3]", &lines), &BTreeMap::new(), &[numbers(&[2, 3], 1)]);
        }
    }
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let refused = |graph: &Graph, tensors: BTreeMap<String, Tensor>, part: &str| {
        let error = passes::functionalize(Archive::new(graph.clone(), tensors)).unwrap_err();
        assert!(error.message().contains(part), "{error}");
    };
    let one = |lines: &str, part: &str| refused(&graph("float32[3]", lines), BTreeMap::new(), part);
    one(
        "%y: float32[3] = aten::exp(%x) %_: any = aten::set_.source_Tensor(%y, %x) return %y",
        "aten::set_.source_Tensor",
    );
    one(
        "%y: float32[3] = higher_order::while_loop(block c(%v: float32[3]) { return false },
            block b(%v: float32[3]) { %_: any = aten::neg_(%v) return %v }, [%x], []) return %y",
        "blocks write the value 0",
    );
    one(
        "%y: float32[2] = higher_order::wrap_with_set_grad_enabled(false, block b(%v: float32[3]) {
            %s: float32[2] = aten::slice.Tensor(%v, 0, 0, 2) return %s }, %x)
         %_: any = aten::neg_(%y) return %x",
        "`%y`, which a block gives",
    );
    let whole = numbers(&[6], 1);
    let part = whole.narrow(0, 0, 3).unwrap();
    let text = "graph(%a: float32[6] = buffer \"a\", %b: float32[3] = buffer \"b\") gives * { %_: any = aten::neg_(%b) return %a }";
    refused(
        &text.parse().unwrap(),
        BTreeMap::from([("a".to_owned(), whole), ("b".to_owned(), part)]),
        "the program writes `b`, whose memory is that of `a`",
    );
}

#[test]
fn exported_programs_that_write_are_equal() {
    for name in ["writes", "training", "modes", "branches", "recurrent", "transformer"] {
        let archive = exported::archive(name);
        // Its weights share memory, and the buffers that it writes do not.
        equal(&archive.graph, &archive.tensors, &exported::arrays(name, "in"));
    }
}

#[test]
fn the_order_of_dimensions_of_a_view_is_found() {
    let whole = Geometry::contiguous(&[2, 3, 1, 4]).unwrap();
    let view = Geometry::strided(&[1, 4, 2, 3], &[9, 1, 12, 4], 0).unwrap();
    assert_eq!(order(&whole, &view), Some(vec![2, 3, 0, 1]));
    assert_eq!(order(&whole, &Geometry::contiguous(&[4, 3, 1, 2]).unwrap()), None);
    assert_eq!(order(&whole, &Geometry::contiguous(&[2, 3, 4]).unwrap()), None);
}
