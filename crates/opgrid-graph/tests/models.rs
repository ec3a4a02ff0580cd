//! Programs that torch exported give what torch gives: `models/NAME.pt2` with the inputs and results in `models/NAME.npz`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opgrid::ops::{CloneTensor, ToDtype};
use opgrid::{DType, MemoryFormat, Result, Tensor, Value, files};
use opgrid_graph::{Archive, Program, Trace, ValueType, passes, read};

/// The folder of the programs.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

/// The arrays of a file whose names are a word and a number, in the order of the numbers.
fn arrays(name: &str, word: &str) -> Vec<Tensor> {
    let path = folder().join(format!("{name}.npz"));
    let all = files::npz::read_all(&path).unwrap();
    let numbered = (0..).map_while(|index| {
        let wanted = format!("{word}{index}");
        all.iter().find(|(name, _)| *name == wanted).map(|(_, array)| array.clone())
    });
    numbered.map(|array| Tensor::from_array(array).unwrap()).collect()
}

/// What an input wants: the tensor, or the number in it.
fn given(tensor: Tensor, kind: &ValueType) -> Value {
    match kind {
        ValueType::Int(_) => Value::Int(tensor.to_vec::<i64>().unwrap()[0]),
        _ => Value::from(&tensor),
    }
}

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
    let archive =
        read(&folder().join(format!("{name}.pt2"))).unwrap_or_else(|error| panic!("{name}: {error}"));
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
        let archive = read(&folder().join(format!("{name}.pt2"))).unwrap();
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
        let program = Program::load(folder().join(format!("{name}.pt2"))).unwrap();
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
        let program = Program::load(folder().join(format!("{name}.pt2"))).unwrap();
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
    let program = Program::load(folder().join("writes.pt2")).unwrap();
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
}

#[test]
fn every_dtype_is_read() {
    check("dtypes", 0.0);
}

#[test]
fn other_sizes_within_the_ranges_run() {
    let program = Program::load(folder().join("mlp.pt2")).unwrap();
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

#[test]
fn many_threads_run_one_program() {
    let program = Program::load(folder().join("convolutions.pt2")).unwrap();
    let x = arrays("convolutions", "in").remove(0);
    let expected = program.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(program.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn parameters_are_trained() {
    let program = Program::load(folder().join("mlp.pt2")).unwrap();
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
