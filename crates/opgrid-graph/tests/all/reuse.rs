//! Results take the memory of arguments that nobody needs afterwards, and only of those.

use std::collections::BTreeMap;

use opgrid::{Tensor, Value};
use opgrid_graph::Program;

use crate::models::assert_equal_on_threads;

fn program(nodes: &str, results: &str) -> Program {
    let text = format!("graph(%x: float32[2, 3] = input) {{\n{nodes}\nreturn {results}\n}}");
    Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap()
}

fn x() -> Tensor {
    Tensor::from_slice(&[-1.0f32, 2.0, -3.0, 4.0, -5.0, 6.0], &[2, 3]).unwrap()
}

/// The operators that were called, and the results.
fn run(program: &Program, x: &Tensor) -> (Vec<String>, Vec<Vec<f32>>) {
    let mut names = Vec::new();
    let results = program.observe(vec![Value::from(x)], |ran| {
        names.extend(ran.operator().map(|operator| operator.name().to_string()));
        Ok(())
    });
    let numbers = |value: Value| Tensor::try_from(value).unwrap().to_vec().unwrap();
    (names, results.unwrap().into_iter().map(numbers).collect())
}

#[test]
fn a_result_takes_the_memory_of_an_argument_that_nobody_needs() {
    let program = program(
        "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
         %b: float32[2, 3] = aten::neg(%a)
         %c: float32[2, 3] = aten::add.Tensor(%b, %x)
         %d: float32[2, 3] = aten::relu(%c)",
        "%d",
    );
    let x = x();
    let (names, results) = run(&program, &x);
    assert_eq!(names, ["aten::mul.Tensor", "aten::neg_", "aten::add_.Tensor", "aten::relu_"]);
    assert_eq!(results, [[0.0; 6]]);
    assert_eq!(x.to_vec::<f32>().unwrap(), [-1.0, 2.0, -3.0, 4.0, -5.0, 6.0], "the caller's tensor stays");
}

#[test]
fn arguments_that_are_needed_stay() {
    for (nodes, results, expected) in [
        // A later node reads it, a result is it, it is given twice.
        (
            "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
             %b: float32[2, 3] = aten::neg(%a)
             %c: float32[2, 3] = aten::add.Tensor(%a, %b)",
            "%c",
            vec!["aten::mul.Tensor", "aten::neg", "aten::add_.Tensor"],
        ),
        (
            "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
             %b: float32[2, 3] = aten::neg(%a)",
            "%a, %b",
            vec!["aten::mul.Tensor", "aten::neg"],
        ),
        (
            "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
             %b: float32[2, 3] = aten::add.Tensor(%a, %a)",
            "%b",
            vec!["aten::mul.Tensor", "aten::add.Tensor"],
        ),
        // A view of it is needed.
        (
            "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
             %v: float32[3, 2] = aten::view(%a, [3, 2])
             %b: float32[2, 3] = aten::neg(%a)",
            "%v, %b",
            vec!["aten::mul.Tensor", "aten::view", "aten::neg"],
        ),
        // Its rows are columns in memory, so that the result would have other strides than those of the operator.
        (
            "%t: float32[3, 2] = aten::t(%x)
             %a: float32[3, 2] = aten::mul.Tensor(%t, %t)
             %b: float32[3, 2] = aten::neg(%a)",
            "%b",
            vec!["aten::t", "aten::mul.Tensor", "aten::neg"],
        ),
        // The result has another dtype, other sizes.
        (
            "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
             %b: bool[2, 3] = aten::gt.Scalar(%a, 1)
             %c: float32[2, 3] = aten::mul.Tensor(%x, %b)",
            "%c",
            vec!["aten::mul.Tensor", "aten::gt.Scalar", "aten::mul.Tensor"],
        ),
        (
            "%a: float32[3] = aten::sum.dim_IntList(%x, [0])
             %b: float32[2, 3] = aten::add.Tensor(%a, %x)",
            "%b",
            vec!["aten::sum.dim_IntList", "aten::add.Tensor"],
        ),
    ] {
        let program = program(nodes, results);
        let x = x();
        let (names, found) = run(&program, &x);
        assert_eq!(names, expected, "{nodes}");
        let (_, again) = run(&program, &x);
        assert_eq!(found, again, "{nodes}");
    }
}

#[test]
fn what_a_graph_declares_is_not_relied_on() {
    let x = Tensor::from_slice(&[1.0f32, -2.0], &[2]).unwrap();
    let other = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]).unwrap();
    let run = |nodes: &str| {
        let text = format!(
            "graph(%x: float32[2] = input, %w: float32[3, 2] = input) {{
                %a: float32[2] = aten::neg(%x)
                {nodes}
                return %y
            }}"
        );
        let program = Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap();
        program.run(&[&x, &other]).unwrap().remove(0)
    };
    // The sizes are those of the broadcast, the dtype is that of a comparison.
    assert_eq!(run("%y: float32[2] = aten::add.Tensor(%a, %w)").sizes(), [3, 2]);
    assert_eq!(run("%y: float32[2] = aten::gt.Scalar(%a, 0)").dtype(), opgrid::DType::Bool);
    assert_eq!(
        run("%i: float32[2] = aten::to.dtype(%a, torch.int64) %y: float32[2] = aten::div.Tensor(%i, %i)")
            .dtype(),
        opgrid::DType::F32
    );
}

#[test]
fn who_keeps_a_result_keeps_its_numbers() {
    let program = program(
        "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
         %b: float32[2, 3] = aten::neg(%a)",
        "%b",
    );
    let mut kept = Vec::new();
    let mut names = Vec::new();
    program
        .observe(vec![Value::from(&x())], |ran| {
            kept.extend(ran.results().iter().cloned());
            names.push(ran.operator().unwrap().name().to_string());
            Ok(())
        })
        .unwrap();
    assert_eq!(names, ["aten::mul.Tensor", "aten::neg"]);
    let squares = Tensor::try_from(kept.remove(0)).unwrap();
    assert_eq!(squares.to_vec::<f32>().unwrap(), [1.0, 4.0, 9.0, 16.0, 25.0, 36.0]);
}

#[test]
fn gradients_are_those_of_the_program() {
    let program = program(
        "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
         %b: float32[2, 3] = aten::exp(%a)
         %c: float32[2, 3] = aten::mul.Tensor(%b, %x)",
        "%c",
    );
    let x = Tensor::from_slice(&[0.5f32, -0.25, 1.0, 0.0, -1.0, 0.75], &[2, 3]).unwrap();
    x.requires_grad_(true).unwrap();
    program.run(&[&x]).unwrap()[0].sum().unwrap().backward().unwrap();
    let found = x.grad().unwrap().to_vec::<f32>().unwrap();
    for (value, found) in x.to_vec::<f32>().unwrap().into_iter().zip(found) {
        // x·e^(x²) has the derivative (1 + 2x²)·e^(x²).
        let expected = (1.0 + 2.0 * value * value) * (value * value).exp();
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
}

#[test]
fn an_error_of_the_observer_ends_the_run() {
    let program = program(
        "%a: float32[2, 3] = aten::mul.Tensor(%x, %x)
         %b: float32[2, 3] = aten::neg(%a)",
        "%b",
    );
    let mut count = 0;
    let error = program
        .observe(vec![Value::from(&x())], |ran| {
            count += 1;
            assert_eq!((ran.position(), ran.depth()), ((0, 2), 0));
            Err(opgrid::Error::from_source("stopped"))
        })
        .unwrap_err();
    assert_eq!((count, error.message()), (1, "node 0 `%a`: stopped"));
}

/// A program whose values are large enough to share planned memory.
fn large() -> (Program, Tensor) {
    let text = "graph(%x: float32[200, 200] = input) {
        %a: float32[200, 200] = aten::mul.Tensor(%x, %x)
        %b: float32[200, 200] = aten::exp(%a)
        %c: float32[200, 200] = aten::mm(%b, %x)
        %d: float32[200, 200] = aten::sub.Tensor(%c, %x)
        %e: float32[200] = aten::sum.dim_IntList(%d, [1])
        return %e
    }";
    let x = Tensor::from_slice(&(0..40_000).map(|it| (it % 7) as f32 / 7.0).collect::<Vec<_>>(), &[200, 200]);
    (Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap(), x.unwrap())
}

#[test]
fn results_kept_from_many_runs_keep_their_numbers() {
    let (program, x) = large();
    assert_eq!(program.planned_memory(&[Value::from(&x)]).unwrap().1, 2);
    let (mut kept, mut numbers): (Vec<Tensor>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        program
            .observe(vec![Value::from(&x)], |ran| {
                for result in ran.results() {
                    let result = Tensor::try_from(result.clone())?;
                    numbers.push(result.to_vec()?);
                    kept.push(result);
                }
                Ok(())
            })
            .unwrap();
        program.run(&[&x]).unwrap();
    }
    for (kept, numbers) in kept.iter().zip(&numbers) {
        assert_eq!(&kept.to_vec::<f32>().unwrap(), numbers);
    }
    drop(program);
    assert_eq!(kept[0].to_vec::<f32>().unwrap(), numbers[0], "the memory outlives the program");
}

#[test]
fn a_panic_of_the_observer_leaves_the_program_as_it_was() {
    let (program, x) = large();
    let expected = program.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap();
    for stop in 0..4 {
        let run = std::panic::AssertUnwindSafe(|| {
            program.observe(vec![Value::from(&x)], |ran| {
                assert_ne!(ran.position().0, stop, "stopped");
                Ok(())
            })
        });
        assert!(std::panic::catch_unwind(run).is_err());
        assert_eq!(program.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap(), expected);
    }
}

#[test]
fn many_threads_share_no_planned_memory() {
    let (program, x) = large();
    assert_equal_on_threads(&program, &x);
}

#[test]
fn a_kernel_that_runs_the_program_again_does_not_get_its_memory() {
    let (program, x) = large();
    let expected = program.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap();
    let mut depth = 0;
    program
        .observe(vec![Value::from(&x)], |_| {
            depth += 1;
            assert_eq!(program.run(&[&x])?[0].to_vec::<f32>()?, expected);
            Ok(())
        })
        .unwrap();
    assert_eq!(depth, 5);
}

#[test]
fn tensors_without_elements_are_no_exception() {
    let text = "graph(%x: float32[0, 3] = input) {
        %a: float32[0, 3] = aten::mul.Tensor(%x, %x)
        %b: float32[0, 3] = aten::neg(%a)
        return %b
    }";
    let program = Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap();
    let x = Tensor::from_slice::<f32>(&[], &[0, 3]).unwrap();
    assert_eq!(program.run(&[&x]).unwrap()[0].sizes(), [0, 3]);
}

#[test]
fn indices_that_nobody_needs_are_not_computed() {
    let run = |results: &str| {
        let graph = format!(
            "graph(%x: float32[1, 2, 4, 4] = input) {{
                %a: float32[1, 2, 4, 4] = aten::exp(%x)
                %y: float32[1, 2, 2, 2], %i: int64[1, 2, 2, 2] = aten::max_pool2d_with_indices(%a, [2, 2])
                return {results}
            }}"
        );
        let program = Program::new(graph.parse().unwrap(), BTreeMap::new()).unwrap();
        let elements: Vec<f32> = (0..32).map(|index| ((index * 7 % 13) as f32 - 6.0) / 4.0).collect();
        let mut names = Vec::new();
        let x = Tensor::from_slice(&elements, &[1, 2, 4, 4]).unwrap();
        let results = program.observe(vec![Value::from(&x)], |ran| {
            names.extend(ran.operator().map(|operator| operator.name().to_string()));
            Ok(())
        });
        (names, Tensor::try_from(results.unwrap().remove(0)).unwrap().to_vec::<f32>().unwrap())
    };
    let (names, alone) = run("%y");
    assert_eq!(names, ["aten::exp", "aten::max_pool2d"]);
    let (names, with_indices) = run("%y, %i");
    assert_eq!(names, ["aten::exp", "aten::max_pool2d_with_indices"]);
    assert_eq!(alone, with_indices);
}
