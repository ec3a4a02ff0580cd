//! Compiled programs: random ones and those that torch exported give the bits and strides of interpreted ones.

use std::collections::BTreeMap;

use opgrid::layers::autograd::GradMode;
use opgrid::samples::Plain;
use opgrid::{DType, Device, Dispatcher, Result, Scalar, Tensor, Value};
use opgrid_graph::{Graph, Program, Trace, passes};

use crate::exported;

/// What a tensor holds to the last bit, and how it lies.
fn described(tensor: &Tensor) -> String {
    format!("{} {:?}", Plain::from_tensor(tensor).unwrap(), tensor.strides())
}

fn described_values(values: Vec<Value>) -> Vec<String> {
    let one = |value: Value| match value {
        Value::Tensor(tensor) => described(&Tensor::try_from(tensor).unwrap()),
        other => other.to_string(),
    };
    values.into_iter().map(one).collect()
}

fn program(text: &str) -> Program {
    Program::new(text.parse::<Graph>().unwrap(), BTreeMap::new()).unwrap()
}

fn fused_runs(program: &Program) -> u64 {
    program.report().groups.iter().map(|group| group.fused_runs).sum()
}

/// Numbers below a bound, drawn from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn choice<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const DTYPES: [DType; 8] =
    [DType::F32, DType::F32, DType::F64, DType::BF16, DType::F16, DType::I64, DType::I32, DType::Bool];

/// Elements among which are zeros of both signs, NaN and infinities.
const ELEMENTS: [f64; 12] =
    [0.0, -0.0, 1.0, -1.0, 0.5, -2.25, 3.0, 1e-40, 1e30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// A tensor of a shape that broadcasts to `[3, 4, 5]`, maybe with gaps or in another order.
fn input(random: &mut Random) -> Result<Tensor> {
    let dtype = random.choice(&DTYPES);
    let shape = random.choice::<&[i64]>(&[&[3, 4, 5], &[3, 4, 5], &[4, 5], &[5], &[3, 1, 5], &[1], &[]]);
    let count: i64 = shape.iter().product::<i64>() * 2;
    let elements: Vec<f64> = (0..count).map(|_| random.choice(&ELEMENTS)).collect();
    let doubled: Vec<i64> = shape.iter().copied().chain([2]).collect();
    let tensor = Tensor::from_slice(&elements, doubled.as_slice())?;
    let tensor = opgrid::ops::ToDtype.call(&tensor, dtype, false, false, None)?;
    let last = shape.len() as i64;
    match random.below(3) {
        0 => opgrid::ops::SelectInt.call(&tensor, last, 1),
        1 if shape.len() == 3 => {
            let columns = opgrid::ops::SelectInt.call(&tensor, last, 0)?;
            let order = [2, 0, 1];
            let turned = opgrid::ops::Permute.call(&columns, &order)?;
            let turned = opgrid::ops::Contiguous.call(&turned, opgrid::MemoryFormat::Contiguous)?;
            opgrid::ops::Permute.call(&turned, &[1, 2, 0])
        }
        _ => opgrid::ops::Contiguous
            .call(&opgrid::ops::SelectInt.call(&tensor, last, 0)?, opgrid::MemoryFormat::Contiguous),
    }
}

const UNARY: [&str; 15] = [
    "neg",
    "abs",
    "exp",
    "tanh",
    "sigmoid",
    "relu",
    "gelu",
    "silu",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "floor",
    "logical_not",
    "square",
    "erf",
];
const BINARY: [&str; 12] = [
    "add.Tensor",
    "sub.Tensor",
    "mul.Tensor",
    "div.Tensor",
    "maximum",
    "minimum",
    "lt.Tensor",
    "ge.Tensor",
    "eq.Tensor",
    "logical_and",
    "add.Tensor",
    "mul.Tensor",
];

/// Calls operators that a seed chooses; what they refuse is left out.
fn body(seed: u64, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let (mut random, dispatcher) = (Random(seed), Dispatcher::current());
    let mut values: Vec<Tensor> = inputs.to_vec();
    let call = |name: &str, args: Vec<Value>| -> Option<Tensor> {
        let results = dispatcher.find(&format!("aten::{name}")).unwrap().call_with(args, Vec::new()).ok()?;
        let Value::Tensor(tensor) = results.into_iter().next()? else { return None };
        Tensor::try_from(tensor).ok()
    };
    for _ in 0..1 + random.below(25) {
        let recent = values.len() - 1 - random.below(values.len().min(4));
        let a = values[if random.below(3) == 0 { random.below(values.len()) } else { recent }].clone();
        let b = values[random.below(values.len())].clone();
        let made = match random.below(12) {
            0..4 => call(random.choice(&UNARY), vec![(&a).into()]),
            4..8 => call(random.choice(&BINARY), vec![(&a).into(), (&b).into()]),
            8 => call(
                "mul.Scalar",
                vec![(&a).into(), random.choice(&[Scalar::Float(1.1), Scalar::Int(3)]).into()],
            ),
            9 => call("clamp", vec![(&a).into(), Scalar::Int(-1).into(), Scalar::Float(2.5).into()]),
            10 => call("sum", vec![(&a).into()]),
            _ => match random.below(3) {
                0 => call("add_.Tensor", vec![(&a).into(), (&b).into()]),
                1 => call("t", vec![(&a).into()]),
                _ => call(
                    "where.self",
                    vec![
                        (&call("gt.Scalar", vec![(&a).into(), Scalar::Int(0).into()]).unwrap()).into(),
                        (&a).into(),
                        (&b).into(),
                    ],
                ),
            },
        };
        values.extend(made);
    }
    let own: Vec<Tensor> = values.split_off(inputs.len());
    let kept = own.len().min(3);
    Ok(own[own.len() - kept..].to_vec())
}

#[test]
fn random_programs_give_the_bits_and_strides_of_interpreted_ones() {
    let count: u64 = std::env::var("OPGRID_GRAPH_PROGRAMS").map_or(400, |text| text.parse().unwrap());
    let (mut fused, mut compared) = (0, 0);
    for seed in 0..count {
        let mut random = Random(seed.wrapping_mul(7919));
        let inputs: Vec<Tensor> = (0..1 + random.below(4)).map(|_| input(&mut random).unwrap()).collect();
        let copies = || -> Vec<Tensor> {
            let copy =
                |tensor: &Tensor| opgrid::ops::CloneTensor.call(tensor, Some(opgrid::MemoryFormat::Preserve));
            inputs.iter().map(|tensor| copy(tensor).unwrap()).collect()
        };
        let traced: Vec<&Tensor> = inputs.iter().collect();
        let Ok(program) = Trace::new().run(&traced, |inputs| body(seed, inputs)) else { continue };
        let compiled =
            program.compiled().unwrap_or_else(|error| panic!("{seed}: {error}\n{}", program.graph()));
        let run = |program: &Program| {
            // In-place operators write the inputs, which are part of what is compared.
            let inputs = copies();
            let results = program
                .run(&inputs.iter().collect::<Vec<_>>())
                .unwrap_or_else(|error| panic!("{seed}: {error}"));
            results.iter().chain(&inputs).map(described).collect::<Vec<_>>()
        };
        let (expected, found) = (run(&program), run(&compiled));
        assert_eq!(found, expected, "seed {seed}\n{}", compiled.graph());
        assert_eq!(run(&compiled), expected, "seed {seed}, again");
        fused += fused_runs(&compiled);
        compared += 1;
    }
    assert!(compared > count / 2 && fused > count / 2, "{compared} programs, {fused} loops");
}

#[test]
fn exported_programs_give_the_bits_of_interpreted_ones() {
    let mut fused = 0;
    for name in exported::names() {
        let run = |is_compiled: bool| {
            let archive = exported::archive(&name);
            let mut program = Program::new(archive.graph, archive.tensors).unwrap();
            let inputs = exported::inputs(program.graph(), &name);
            if is_compiled {
                program = program.compiled().unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            opgrid::manual_seed(3);
            let results = described_values(program.run_values(inputs).unwrap());
            (results, fused_runs(&program))
        };
        let (expected, (found, loops)) = (run(false).0, run(true));
        assert_eq!(found, expected, "{name}");
        fused += loops;
    }
    assert!(fused > 10, "{fused} loops");
}

#[test]
fn values_that_are_written_stay_out_of_groups() {
    // `%a` is written between the two that read it: fused, both would read one of its values.
    let text = "graph(%x: float32[4] = input) takes ((*,), {}) gives (*, *) {
      %a: float32[4] = aten::mul.Tensor(%x, 2)
      %b: float32[4] = aten::add.Tensor(%a, 1)
      %c: float32[4] = aten::add_.Tensor(%a, 5)
      %d: float32[4] = aten::mul.Tensor(%a, %b)
      return %d, %c
    }";
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4]).unwrap();
    let fusion = passes::fuse(text.parse().unwrap()).unwrap();
    assert!(fusion.graph.targets().keys().all(|target| *target != "higher_order::fused"), "{}", fusion.graph);
    assert!(fusion.unfused.iter().any(|it| it.reason.contains("may be written")), "{:?}", fusion.unfused);
    // Compiled, it is functional first.
    let (plain, compiled) = (program(text), program(text).compiled().unwrap());
    for (found, expected) in compiled.run(&[&x]).unwrap().iter().zip(plain.run(&[&x]).unwrap()) {
        assert_eq!(described(found), described(&expected));
    }
    assert_eq!(compiled.report().groups.len(), 1, "{}", compiled.report());
}

#[test]
fn nodes_stand_after_what_they_read_although_groups_move() {
    // The sum reads a value of the group, and the group a value that is made behind the sum.
    let text = "graph(%x: float32[4] = input) takes ((*,), {}) gives (*, *) {
      %a: float32[4] = aten::mul.Tensor(%x, 2)
      %s: float32[] = aten::sum(%a)
      %t: float32[4] = aten::cumsum(%x, 0)
      %b: float32[4] = aten::add.Tensor(%a, %t)
      return %b, %s
    }";
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4]).unwrap();
    let (plain, compiled) = (program(text), program(text).compiled().unwrap());
    assert_eq!(compiled.report().groups.len(), 1, "{}", compiled.graph());
    for (found, expected) in compiled.run(&[&x]).unwrap().iter().zip(plain.run(&[&x]).unwrap()) {
        assert_eq!(described(found), described(&expected));
    }
}

const CHAIN: &str =
    "graph(%x: float32[n, 3] = input, %y: float32[3] = input) where n in 1.. takes ((*, *), {}) gives * {
  %a: float32[n, 3] = aten::mul.Tensor(%x, %y)
  %b: float32[n, 3] = aten::tanh(%a)
  return %b
}";

#[test]
fn gradients_are_those_of_the_operators() {
    let compiled = program(CHAIN).compiled().unwrap();
    let y = Tensor::from_slice(&[1.0f32, -2.0, 0.5], &[3]).unwrap();
    let grad = |program: &Program| {
        let x = Tensor::ones(&[2, 3], DType::F32, Device::CPU).unwrap();
        x.requires_grad_(true).unwrap();
        let result = &program.run(&[&x, &y]).unwrap()[0];
        result.sum().unwrap().backward().unwrap();
        x.grad().unwrap().to_vec::<f32>().unwrap()
    };
    assert_eq!(grad(&compiled), grad(&program(CHAIN)));
    let group = &compiled.report().groups[0];
    assert_eq!((group.fused_runs, group.interpreted_runs), (0, 1));
    // Where nothing is recorded, the loop runs.
    let x = Tensor::ones(&[2, 3], DType::F32, Device::CPU).unwrap();
    x.requires_grad_(true).unwrap();
    let _off = GradMode::new(false);
    compiled.run(&[&x, &y]).unwrap();
    assert_eq!(compiled.report().groups[0].fused_runs, 1);
}

#[test]
fn other_sizes_and_strides_need_no_other_loop() {
    let (plain, compiled) = (program(CHAIN), program(CHAIN).compiled().unwrap());
    let y = Tensor::from_slice(&[1.0f32, -2.0, 0.5], &[3]).unwrap();
    let mut runs = 0;
    for n in [1i64, 2, 7, 16, 17, 1000, 60_000] {
        let elements: Vec<f32> = (0..3 * n).map(|i| i as f32 * 0.01 - 3.0).collect();
        let rows = Tensor::from_slice(&elements, &[n, 3]).unwrap();
        let columns = Tensor::from_slice(&elements, &[3, n]).unwrap().t().unwrap();
        for x in [&rows, &columns] {
            let (found, expected) = (compiled.run(&[x, &y]).unwrap(), plain.run(&[x, &y]).unwrap());
            assert_eq!(found[0].strides(), expected[0].strides());
            assert_eq!(found[0].to_vec::<f32>().unwrap(), expected[0].to_vec::<f32>().unwrap());
            runs += 1;
        }
    }
    assert_eq!(fused_runs(&compiled), runs);
    let error = compiled.run(&[&y, &y]).unwrap_err();
    assert_eq!(error.message(), plain.run(&[&y, &y]).unwrap_err().message());
}

#[test]
fn what_is_not_fused_says_why() {
    let text = "graph(%x: float32[4] = input, %z: complex64[4] = input) takes ((*, *), {}) gives (*, *, *) {
      %a: float32[4] = aten::lgamma(%x)
      %b: float32[4] = aten::pow.Tensor_Scalar(%a, 1.5)
      %c: complex64[4] = aten::mul.Tensor(%z, 2)
      %d: float32[4] = aten::cumsum(%b, 0)
      return %d, %c, %a
    }";
    let report = program(text).compiled().unwrap().report();
    let reasons: Vec<&str> = report.unfused.iter().map(|it| it.reason.as_str()).collect();
    for (reason, part) in reasons.iter().zip([
        "no rule says how a loop computes it",
        "powers of 1.5 are not fused",
        "complex64",
        "it is not element-wise",
    ]) {
        assert!(reason.contains(part), "{reason}, expected {part}");
    }
    assert_eq!(reasons.len(), 4);
}

#[test]
fn a_fused_program_reads_as_text() {
    let graph = program(CHAIN).compiled().unwrap().graph().clone();
    assert_eq!(graph.to_string().parse::<Graph>().unwrap(), graph);
}
