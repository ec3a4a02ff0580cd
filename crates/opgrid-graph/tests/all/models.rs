//! Programs that torch exported give what torch gives: `models/NAME.pt2` with the inputs and results in `models/NAME.npz`.

use std::collections::BTreeMap;

use opgrid::ops::{CloneTensor, ToDtype};
use opgrid::{DType, MemoryFormat, Result, Tensor, Value};
use opgrid_graph::{Archive, Program, Trace, passes};

use crate::exported::{archive, arrays, given, path};

fn wide(tensor: &Tensor) -> Result<Vec<f64>> {
    if tensor.dtype().is_complex() {
        let parts = tensor.view_as_real()?;
        return wide(&parts);
    }
    let wide = ToDtype.call(tensor, DType::F64, false, false, None)?;
    wide.to_vec::<f64>()
}

/// How far results are from torch's, in units of the largest value of each.
fn difference(results: &[Value], expected: &[Tensor]) -> f64 {
    assert_eq!(results.len(), expected.len(), "number of results");
    let mut largest = 0f64;
    for (index, (result, expected)) in results.iter().zip(expected).enumerate() {
        let result = match result {
            Value::Tensor(tensor) => Tensor::try_from(tensor.clone()).unwrap(),
            number => Tensor::number(number.borrow().as_scalar().expect("a number")),
        };
        assert_eq!(result.sizes(), expected.sizes(), "sizes of result {index}");
        let is_half = matches!(result.dtype(), DType::BF16 | DType::F16);
        assert!(
            result.dtype() == expected.dtype() || is_half,
            "result {index}: {} {}",
            result.dtype(),
            expected.dtype()
        );
        let (found, wanted) = (wide(&result).unwrap(), wide(expected).unwrap());
        let scale = wanted.iter().fold(1e-30, |scale: f64, value| scale.max(value.abs()));
        for (found, wanted) in found.iter().zip(&wanted) {
            let off = (found - wanted).abs() / scale;
            assert!(!off.is_nan(), "result {index}: {found} {wanted}");
            largest = largest.max(off);
        }
    }
    largest
}

/// Runs a program on its inputs and compares: as it was read, and after all passes.
fn check(name: &str, tolerance: f64) {
    let archive = archive(name);
    let optimized = passes::optimize(copied(&archive)).unwrap_or_else(|error| panic!("{name}: {error}"));
    for (what, archive) in [("as read", archive), ("optimized", optimized)] {
        let program = Program::new(archive.graph, archive.tensors)
            .unwrap_or_else(|error| panic!("{name} {what}: {error}"));
        compare(&format!("{name} {what}"), &program, name, tolerance);
    }
}

/// The archive with tensors of its own, as running writes buffers.
fn copied(archive: &Archive) -> Archive {
    let copy = |tensor: &Tensor| CloneTensor.call(tensor, Some(MemoryFormat::Preserve)).unwrap();
    let tensors = archive.tensors.iter().map(|(name, tensor)| (name.clone(), copy(tensor)));
    Archive::new(archive.graph.clone(), tensors.collect())
}

fn compare(what: &str, program: &Program, name: &str, tolerance: f64) {
    let kinds: Vec<_> = program.graph().user_inputs().map(|input| input.kind.clone()).collect();
    let inputs = arrays(name, "in");
    assert_eq!(inputs.len(), kinds.len(), "{what}: inputs");
    let inputs = inputs.into_iter().zip(&kinds).map(|(tensor, kind)| given(tensor, kind)).collect();
    let results = program.run_values(inputs).unwrap_or_else(|error| panic!("{what}: {error}"));
    let difference = difference(&results, &arrays(name, "out"));
    println!("{what}: {difference:.1e}");
    assert!(difference <= tolerance, "{what}: {difference}");
}

#[test]
fn passes_leave_less_to_do() {
    let nodes = |name: &str| {
        let archive = archive(name);
        let before =
            archive.graph.targets().into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        let after = passes::optimize(archive).unwrap().graph;
        let after = after.targets().into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        (before, after)
    };
    let (before, after): (BTreeMap<String, usize>, BTreeMap<String, usize>) = nodes("convolutions");
    assert!(before.contains_key("aten::batch_norm"), "{before:?}");
    assert!(!after.contains_key("aten::batch_norm"), "{after:?}");
    let (before, after) = nodes("transformer");
    assert!(after.values().sum::<usize>() < before.values().sum::<usize>(), "{before:?} {after:?}");
}

#[test]
fn programs_are_traced_again() {
    for name in ["mlp", "convolutions", "transformer", "transformer_core", "recurrent"] {
        let program = Program::load(path(name)).unwrap();
        let inputs = arrays(name, "in");
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        for trace in [Trace::new(), Trace::new().below_autograd()] {
            let again = trace.run(&inputs, |inputs| program.run(&inputs.iter().collect::<Vec<_>>())).unwrap();
            compare(&format!("{name} traced again"), &again, name, 2e-6);
        }
    }
}

#[test]
fn networks_give_what_torch_gives() {
    for name in ["mlp", "convolutions", "transformer", "transformer_core", "recurrent", "training"] {
        check(name, 2e-6);
    }
}

#[test]
fn branches_loops_and_modes_run() {
    for name in ["branches", "loop", "scans"] {
        check(name, 1e-6);
    }
    // Products in bfloat16, rounded as torch rounds them.
    check("modes", 4e-3);
}

#[test]
fn writes_reach_buffers_and_inputs() {
    for name in ["writes", "writes_core"] {
        check(name, 1e-6);
        let program = Program::load(path(name)).unwrap();
        let inputs = arrays(name, "in");
        let before = wide(&inputs[0]).unwrap();
        let borrowed: Vec<&Tensor> = inputs.iter().collect();
        program.run(&borrowed).unwrap();
        program.run(&borrowed).unwrap();
        let count = program.buffers().into_iter().find(|(name, _)| name == "count").unwrap().1;
        assert_eq!(count.to_vec::<i64>().unwrap(), [2, 2], "{name}");
        let after: Vec<f64> = before.iter().map(|value| value * 4.0).collect();
        assert_eq!(wide(&inputs[0]).unwrap(), after, "{name}");
    }
}

#[test]
fn weights_that_were_shared_are_shared() {
    let program = Program::load(path("writes")).unwrap();
    let parameters = program.parameters();
    let named = |name: &str| parameters.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let (weight, same) = (named("weight"), named("same"));
    let buffers = program.buffers();
    let turned = buffers.iter().find(|(known, _)| known == "turned").unwrap().1.clone();
    weight.fill_(0.5).unwrap();
    assert_eq!(wide(&same).unwrap(), [0.5; 9]);
    assert_eq!(turned.strides(), [1, 3]);
    assert_eq!(wide(&turned).unwrap(), [0.5; 9]);
}

#[test]
fn sizes_and_numbers_are_computed() {
    check("sizes", 1e-6);
    check("counted", 0.0);
    check("elements", 1e-6);
}

#[test]
fn every_dtype_is_read() {
    check("dtypes", 0.0);
}

#[test]
fn other_sizes_within_the_ranges_run() {
    let program = Program::load(path("mlp")).unwrap();
    let row = arrays("mlp", "in").remove(0);
    let expected = wide(&program.run(&[&row]).unwrap()[0]).unwrap();
    let twice =
        Tensor::from_slice(&[row.to_vec::<f32>().unwrap(), row.to_vec::<f32>().unwrap()].concat(), &[6, 8])
            .unwrap();
    let found = wide(&program.run(&[&twice]).unwrap()[0]).unwrap();
    for (index, value) in found.iter().enumerate() {
        assert!((value - expected[index % 12]).abs() < 1e-6);
    }
}

/// The tensor in another floating-point dtype; integers stay what they are.
fn converted(tensor: &Tensor, dtype: DType) -> Tensor {
    let is_float = tensor.dtype().is_floating_point();
    if is_float { ToDtype.call(tensor, dtype, false, false, None).unwrap() } else { tensor.clone() }
}

#[test]
fn programs_run_in_other_dtypes() {
    for name in ["mlp", "convolutions", "transformer", "transformer_core", "recurrent"] {
        let program = Program::load(path(name)).unwrap();
        let inputs = arrays(name, "in");
        let run = |program: &Program, dtype: DType| {
            let inputs: Vec<Tensor> = inputs.iter().map(|input| converted(input, dtype)).collect();
            program.run(&inputs.iter().collect::<Vec<_>>()).unwrap()
        };
        let expected: Vec<Tensor> = run(&program, DType::F32);
        for (dtype, tolerance) in [(DType::F64, 3e-6), (DType::BF16, 4e-2), (DType::F16, 5e-3)] {
            let other = program.to(dtype).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(opgrid_graph::check(other.graph()).unwrap().len(), 0, "{name} in {dtype}");
            let results: Vec<Tensor> = run(&other, dtype);
            for (result, expected) in results.iter().zip(&expected) {
                assert_eq!(result.dtype(), dtype, "{name}");
                let (found, wanted) = (wide(result).unwrap(), wide(expected).unwrap());
                let scale = wanted.iter().fold(1e-30, |scale: f64, value| scale.max(value.abs()));
                let off = found.iter().zip(&wanted).fold(0f64, |off, (a, b)| off.max((a - b).abs() / scale));
                assert!(off <= tolerance, "{name} in {dtype}: {off}");
                let is_zero = wanted.iter().all(|value| *value == 0.0);
                assert!(
                    is_zero || dtype == DType::F64 || off > 1e-5,
                    "{name} in {dtype}: {off}, as if nothing were converted"
                );
            }
        }
        // What was converted is the program's own.
        let (weights, others) = (program.parameters(), program.to(DType::F32).unwrap().parameters());
        others[0].1.fill_(7.0).unwrap();
        assert!(wide(&weights[0].1).unwrap().iter().all(|weight| *weight != 7.0), "{name}");
    }
}

#[test]
fn what_is_not_of_the_old_dtype_is_converted_or_refused() {
    let graph = r#"graph(%w: float32[3] = parameter "w", %n: int64[3] = input, %d: float64[3] = constant "d")
        takes ((*,), {}) gives (*, *, *) {
        %half: float32[3] = aten::div.Tensor(%n, 2)
        %x: float32[3] = aten::mul.Tensor(%half, %w)
        %masked: float32[3] = aten::clamp_min(%x, -3.0e38)
        %ones: float32[3] = aten::ones([3], dtype=torch.float32)
        %y: float32[3] = aten::add.Tensor(%masked, %ones)
        %z: float64[3] = aten::mul.Tensor(%d, %d)
        return %x, %y, %z
    }"#;
    let tensor = |elements: &[f32]| Tensor::from_slice(elements, &[3]).unwrap();
    let weight = tensor(&[1.0, 2.0, 3.0]);
    let tensors = [("w", weight.clone()), ("d", converted(&weight, DType::F64))];
    let tensors: BTreeMap<String, Tensor> =
        tensors.into_iter().map(|(name, it)| (name.to_owned(), it)).collect();
    let program = Program::new(graph.parse().unwrap(), tensors).unwrap();
    let other = program.to(DType::F16).unwrap();
    let numbers = Tensor::from_slice(&[3i64, 4, 5], &[3]).unwrap();
    let results = other.run(&[&numbers]).unwrap();
    assert_eq!(wide(&results[0]).unwrap(), [1.5, 4.0, 7.5]);
    assert_eq!(wide(&results[1]).unwrap(), [2.5, 5.0, 8.5]);
    assert_eq!(results.iter().map(Tensor::dtype).collect::<Vec<_>>(), [DType::F16, DType::F16, DType::F64]);
    let text = other.graph().to_string();
    assert!(text.contains("aten::to.dtype(%half_before_0, torch.float16)"), "{text}");
    assert!(text.contains("-65504.0") && text.contains("dtype=torch.float16"), "{text}");
    let error = program.to(DType::I64).unwrap_err();
    assert!(
        error.message().contains("a program cannot be converted to int64, expected one of `float16`"),
        "{error}"
    );
    // There are no complex numbers of such parts.
    let graph = "graph(%x: float32[4] = input) takes ((*,), {}) gives * {
        %y: complex64[4] = aten::complex(%x, %x)
        %z: float32[4] = aten::real(%y)
        return %z
    }";
    let program = Program::new(graph.parse().unwrap(), BTreeMap::new()).unwrap();
    let error = program.to(DType::BF16).unwrap_err();
    assert!(error.message().contains("does not run in bfloat16"), "{error}");
}

#[test]
fn weights_that_are_one_tensor_stay_so() {
    let program = Program::load(path("writes")).unwrap().to(DType::F64).unwrap();
    let parameters = program.parameters();
    let named = |name: &str| parameters.iter().find(|(known, _)| known == name).unwrap().1.clone();
    named("weight").fill_(0.5).unwrap();
    assert_eq!(wide(&named("same")).unwrap(), [0.5; 9]);
}

/// Several threads that run a program at once get what one gets.
pub fn assert_equal_on_threads(program: &Program, x: &Tensor) {
    let expected = program.run(&[x]).unwrap()[0].to_vec::<f32>().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(program.run(&[x]).unwrap()[0].to_vec::<f32>().unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn many_threads_run_one_program() {
    let program = Program::load(path("convolutions")).unwrap();
    assert_equal_on_threads(&program, &arrays("convolutions", "in")[0]);
}

#[test]
fn parameters_are_trained() {
    let program = Program::load(path("mlp")).unwrap();
    let x = arrays("mlp", "in").remove(0);
    assert!(!program.run(&[&x]).unwrap()[0].requires_grad());
    for (_, parameter) in program.parameters() {
        parameter.requires_grad_(true).unwrap();
    }
    let loss = program.run(&[&x]).unwrap()[0].square().unwrap().sum().unwrap();
    loss.backward().unwrap();
    for (name, parameter) in program.parameters() {
        assert!(parameter.grad().is_some(), "{name}");
    }
}
