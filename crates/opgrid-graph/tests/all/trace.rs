//! What the tracer writes down, and that it runs to what the code gave.

use opgrid::{DType, Device, Result, Tensor, ops};
use opgrid_graph::{
    Comparison, Expression, Graph, InputKind, Program, Trace, record_comparison, size_symbol,
};

fn numbers(count: usize, sizes: &[i64]) -> Tensor {
    let values: Vec<f32> = (0..count).map(|index| (index as f32 * 0.7).sin()).collect();
    Tensor::from_slice(&values, sizes).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<f32> {
    tensor.contiguous().unwrap().to_vec().unwrap()
}

fn targets(program: &Program) -> Vec<&str> {
    program.graph().block.nodes.iter().map(|node| node.target.as_str()).collect()
}

/// Traces and runs on other elements; both ways give the same.
#[track_caller]
fn agree(
    trace: &Trace,
    inputs: &[&Tensor],
    others: &[&Tensor],
    body: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Program {
    let program = trace.run(inputs, &body).unwrap();
    let owned: Vec<Tensor> = others.iter().map(|other| other.detach().unwrap()).collect();
    let expected = body(&owned).unwrap();
    let found = program.run(others).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.sizes(), expected.sizes(), "{}", program.graph());
        assert_eq!(elements(found), elements(expected), "{}", program.graph());
    }
    let text = program.graph().to_string();
    assert_eq!(text.parse::<Graph>().unwrap().to_string(), text);
    program
}

#[test]
fn composites_stay_whole_above_autograd() {
    let (weight, bias) = (numbers(12, &[4, 3]), numbers(4, &[4]));
    let trace = Trace::new().parameter("fc.weight", &weight).parameter("fc.bias", &bias).input("x");
    let (x, y) = (numbers(6, &[2, 3]), numbers(9, &[3, 3]).narrow(0, 0, 2).unwrap());
    let body = |inputs: &[Tensor]| Ok(vec![ops::Linear.call(&inputs[0], &weight, Some(&bias))?.relu()?]);
    let program = agree(&trace, &[&x], &[&y], body);
    assert_eq!(targets(&program), ["aten::linear", "aten::relu"]);
    assert_eq!(program.graph().inputs[0], InputKind::Parameter("fc.weight".to_owned()));
    assert_eq!(program.parameters().len(), 2);
}

#[test]
fn writes_and_views_stay_as_they_are() {
    let x = numbers(6, &[2, 3]);
    let body = |inputs: &[Tensor]| {
        let y = inputs[0].mul(2)?;
        ops::NegInplace.call(&y.select(0, 1)?)?;
        Ok(vec![y.transpose(0, 1)?, y])
    };
    let program = agree(&Trace::new(), &[&x], &[&numbers(6, &[2, 3])], body);
    assert_eq!(targets(&program)[..3], ["aten::mul.Scalar", "aten::select.int", "aten::neg_"]);
}

#[test]
fn lists_come_and_go() {
    let x = numbers(12, &[4, 3]);
    let body = |inputs: &[Tensor]| {
        let parts = inputs[0].split(2, 0)?;
        Ok(vec![Tensor::cat(&[parts[1].clone(), parts[0].clone()], 0)?])
    };
    agree(&Trace::new(), &[&x], &[&numbers(12, &[4, 3])], body);
}

#[test]
fn random_numbers_are_drawn_again() {
    let x = numbers(64, &[64]);
    let program = Trace::new()
        .run(&[&x], |inputs| Ok(vec![ops::RandLike.call(&inputs[0], None, None, None, None, None)?]))
        .unwrap();
    let (a, b) = (program.run(&[&x]).unwrap(), program.run(&[&x]).unwrap());
    assert_ne!(elements(&a[0]), elements(&b[0]));
}

#[test]
fn a_value_that_is_read_is_an_error_or_a_guard() {
    let x = numbers(3, &[3]);
    let body = |inputs: &[Tensor]| {
        let sum = inputs[0].sum()?.item()?;
        Ok(vec![if sum.to_f64()? > 0.0 { inputs[0].exp()? } else { inputs[0].neg()? }])
    };
    let error = Trace::new().run(&[&x], body).unwrap_err();
    assert!(error.message().contains("reads a value from a tensor"), "{error}");
    let program = Trace::new().guard_reads().run(&[&x], body).unwrap();
    assert_eq!(elements(&program.run(&[&x]).unwrap()[0]), elements(&x.exp().unwrap()));
    let error = program.run(&[&x.neg().unwrap()]).unwrap_err();
    assert!(error.message().contains("when the program was traced"), "{error}");
    // Elements cannot be looked at past the layer.
    let error = Trace::new().run(&[&x], |inputs| inputs[0].to_vec::<f32>().map(|_| vec![])).unwrap_err();
    assert!(error.message().contains("trace"), "{error}");
}

#[test]
fn sizes_vary() {
    let x = numbers(24, &[2, 3, 4]);
    let body = |inputs: &[Tensor]| {
        let &[batch, length, width] = inputs[0].sizes() else { unreachable!() };
        let flat = inputs[0].reshape(&[batch * length, width])?;
        let half = inputs[0].narrow(1, 0, length / 2)?;
        let positions = Tensor::arange(0, length + 1, 1)?;
        let padded = Tensor::zeros(&[batch, 2 * length - 1], DType::F32, Device::CPU)?;
        Ok(vec![flat, half.contiguous()?, positions.to(DType::F32)?, padded])
    };
    let trace = Trace::new().vary(0, 0, "batch", 1..=64).vary(0, 1, "length", 2..=i64::MAX);
    let program = agree(&trace, &[&x], &[&numbers(5 * 7 * 4, &[5, 7, 4])], body);
    let text = program.graph().to_string();
    assert!(text.contains("batch*length"), "{text}");
    let error = program.run(&[&numbers(65 * 2 * 4, &[65, 2, 4])]).unwrap_err();
    assert!(error.message().contains("batch"), "{error}");
}

#[test]
fn code_that_does_something_else_for_other_sizes_is_found() {
    let x = numbers(8, &[2, 4]);
    let trace = Trace::new().vary(0, 0, "n", 1..=64);
    let chooses = |inputs: &[Tensor]| {
        Ok(vec![if inputs[0].sizes()[0] > 2 { inputs[0].exp()? } else { inputs[0].neg()? }])
    };
    let error = trace.run(&[&x], chooses).unwrap_err();
    assert!(error.message().contains("depends on a size that varies"), "{error}");
    let scales = |inputs: &[Tensor]| Ok(vec![inputs[0].mul(1.0 / inputs[0].sizes()[0] as f64)?]);
    let error = trace.run(&[&x], scales).unwrap_err();
    assert!(error.message().contains("depends on a size that varies"), "{error}");
    let unrolls = |inputs: &[Tensor]| {
        let mut y = inputs[0].neg()?;
        for _ in 0..inputs[0].sizes()[0] {
            y = y.exp()?;
        }
        Ok(vec![y])
    };
    let error = trace.run(&[&x], unrolls).unwrap_err();
    assert!(error.message().contains("depends on a size that varies"), "{error}");
    let one = numbers(4, &[1, 4]);
    let error = trace.run(&[&one], |inputs| Ok(vec![inputs[0].exp()?])).unwrap_err();
    assert!(error.message().contains("expected at least 2"), "{error}");
}

#[test]
fn a_training_step_is_one_program() {
    let (weight, target) = (numbers(6, &[2, 3]), numbers(8, &[4, 2]));
    weight.requires_grad_(true).unwrap();
    let x = numbers(12, &[4, 3]);
    let step = |inputs: &[Tensor]| {
        let loss = ops::MseLoss.call(&ops::Linear.call(&inputs[0], &weight, None)?, &inputs[1], 1)?;
        let gradient =
            opgrid::layers::autograd::grad(&[&loss], &[&weight], &[], Default::default())?.remove(0).unwrap();
        Ok(vec![loss, gradient])
    };
    let program =
        Trace::new().parameter("weight", &weight).below_autograd().run(&[&x, &target], step).unwrap();
    let (y, other) = (numbers(24, &[8, 3]).narrow(0, 2, 4).unwrap(), target.neg().unwrap());
    let expected = step(&[y.clone(), other.clone()]).unwrap();
    let found = program.run(&[&y, &other]).unwrap();
    for (found, expected) in found.iter().zip(&expected) {
        let (found, expected) = (elements(&found.detach().unwrap()), elements(&expected.detach().unwrap()));
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {expected:?}");
    }
    assert_eq!(
        targets(&program).iter().filter(|target| **target == "aten::mm").count(),
        2,
        "{}",
        program.graph()
    );
}

#[test]
fn a_traced_program_records_gradients() {
    let x = numbers(3, &[3]);
    let program = Trace::new().run(&[&x], |inputs| Ok(vec![inputs[0].mul(&inputs[0])?.sum()?])).unwrap();
    x.requires_grad_(true).unwrap();
    program.run(&[&x]).unwrap()[0].backward().unwrap();
    assert_eq!(elements(&x.grad().unwrap()), elements(&x.detach().unwrap().mul(2).unwrap()));
}

#[test]
fn traces_nest_and_end() {
    let x = numbers(3, &[3]);
    let mut leaked = None;
    let program = Trace::new()
        .run(&[&x], |inputs| {
            leaked = Some(inputs[0].clone());
            let inner = Trace::new().run(&[&x], |inputs| Ok(vec![inputs[0].exp()?]))?;
            inner.run(&[&inputs[0]])
        })
        .unwrap();
    assert_eq!(elements(&program.run(&[&x]).unwrap()[0]), elements(&x.exp().unwrap()));
    let error = leaked.unwrap().exp().unwrap_err();
    assert!(error.message().contains("has ended"), "{error}");
    let error = Trace::new()
        .run(&[&x], |outer| Trace::new().run(&[&x], |_| Ok(vec![outer[0].exp()?])).map(|_| vec![]))
        .unwrap_err();
    assert!(error.message().contains("another trace"), "{error}");
}

#[test]
fn what_a_program_does_not_hold_is_refused() {
    let x = numbers(6, &[2, 3]);
    let error = Trace::new()
        .run(&[&x], |inputs| {
            let y = inputs[0].mul(1)?;
            ops::UnsqueezeInplace.call(&y, 0)?;
            Ok(vec![y])
        })
        .unwrap_err();
    assert!(error.message().contains("changed in place"), "{error}");
    let error = Trace::new()
        .parameter("w", &x)
        .buffer("w", &x)
        .run(&[&x], |inputs| Ok(vec![inputs[0].clone()]))
        .unwrap_err();
    assert!(error.message().contains("two tensors are named `w`"), "{error}");
}

#[test]
fn inputs_are_not_written_by_tracing() {
    let x = numbers(3, &[3]);
    let before = elements(&x);
    let program = Trace::new()
        .run(&[&x], |inputs| {
            ops::NegInplace.call(&inputs[0])?;
            Ok(vec![inputs[0].clone()])
        })
        .unwrap();
    assert_eq!(elements(&x), before);
    program.run(&[&x]).unwrap();
    assert_ne!(elements(&x), before);
}

#[test]
fn sizes_that_depend_on_elements_are_symbols() {
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0, 5.0], &[4]).unwrap();
    let others = [&[-1.0f32, 4.0, -6.0, -7.0], &[1.0, 2.0, 3.0, 4.0], &[-1.0, -2.0, -3.0, -4.0]];
    let others = others.map(|other| Tensor::from_slice(other, &[4]).unwrap());
    let positive = |inputs: &[Tensor]| ops::GtScalar.call(&inputs[0], 0.into());
    // One mask, three times: what it leaves has one size.
    let chosen = |inputs: &[Tensor]| {
        let mask = positive(inputs)?;
        let places = ops::Nonzero.call(&mask)?;
        let values = ops::IndexTensor.call(&inputs[0], &[Some(mask.clone())])?;
        let count = values.sizes()[0];
        let rows = values.reshape(&[count, 1])?.mul(&ops::MaskedSelect.call(&inputs[0], &mask)?)?;
        let padded = Tensor::zeros(&[2 * count + 1], DType::F32, Device::CPU)?;
        Ok(vec![places.to(DType::F32)?, rows.reshape(&[count * count])?, padded])
    };
    for other in &others {
        let program = agree(&Trace::new(), &[&x], &[other], chosen);
        let text = program.graph().to_string();
        assert!(
            text.contains("float32[2*u0 + 1]") && text.contains("u0*u0") && !text.contains("u1"),
            "{text}"
        );
    }
    // Masks that are computed twice leave as many, which the program checks.
    let twice = |inputs: &[Tensor]| {
        let select = |mask: &Tensor| ops::MaskedSelect.call(&inputs[0], mask);
        Ok(vec![select(&positive(inputs)?)?.add(&select(&ops::GtScalar.call(&inputs[1], 0.into())?)?)?])
    };
    for other in &others {
        agree(&Trace::new(), &[&x, &x], &[other, other], twice);
    }
    let program = Trace::new().run(&[&x, &x], twice).unwrap();
    let error = program.run(&[&others[0], &others[1]]).unwrap_err();
    assert!(error.message().contains("expected to be equal"), "{error}");
}

#[test]
fn sizes_that_depend_on_elements_vary_with_others() {
    let body = |inputs: &[Tensor]| {
        let (values, inverse, counts) = ops::Unique2.call(&inputs[0], true, true, true)?;
        let table = Tensor::zeros(&[values.sizes()[0], inputs[0].sizes()[0]], DType::F32, Device::CPU)?;
        let kept = ops::IndexTensor.call(&inputs[1], &[Some(inputs[2].clone())])?;
        Ok(vec![values, inverse.to(DType::F32)?, counts.to(DType::F32)?, table, kept.sum()?])
    };
    let numbers = |elements: &[f32]| Tensor::from_slice(elements, &[elements.len() as i64]).unwrap();
    let mask = |elements: &[bool]| {
        let elements: Vec<opgrid::array::Bool> = elements.iter().map(|it| (*it).into()).collect();
        Tensor::from_slice(&elements, &[2, elements.len() as i64 / 2]).unwrap()
    };
    let trace = Trace::new().vary(0, 0, "n", 2..=64);
    let images = self::numbers(12, &[2, 2, 3]);
    let (x, y) = (numbers(&[1.0, 3.0, 1.0]), numbers(&[2.0, 2.0, 2.0, 7.0, 1.0, 7.0]));
    let (some, none) = (mask(&[true, false, true, true]), mask(&[false; 4]));
    let program = agree(&trace, &[&x, &images, &some], &[&y, &images, &none], body);
    let text = program.graph().to_string();
    assert!(text.contains("float32[u0, n]") && text.contains("float32[u1, 3]"), "{text}");
    // An example without elements is as good as another.
    agree(&trace, &[&x, &images, &none], &[&y, &images, &some], body);
}

#[test]
fn a_size_that_the_code_computes_with_is_an_error_or_a_guard() {
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0], &[3]).unwrap();
    let mean_of_positive = |inputs: &[Tensor]| {
        let positive = ops::MaskedSelect.call(&inputs[0], &ops::GtScalar.call(&inputs[0], 0.into())?)?;
        Ok(vec![positive.sum()?.mul(1.0 / positive.numel() as f64)?])
    };
    let error = Trace::new().run(&[&x], mean_of_positive).unwrap_err();
    assert!(error.message().contains("depends on a size that varies"), "{error}");
    let program = Trace::new().guard_reads().run(&[&x], mean_of_positive).unwrap();
    let other = Tensor::from_slice(&[-1.0f32, 4.0, 6.0], &[3]).unwrap();
    assert_eq!(elements(&program.run(&[&other]).unwrap()[0]), [5.0]);
    let error = program.run(&[&x.neg().unwrap()]).unwrap_err();
    assert!(error.message().contains("when the program was traced"), "{error}");
}

#[test]
fn code_without_gradients_stays_without() {
    let x = numbers(3, &[3]);
    let body = |inputs: &[Tensor]| {
        let scale = opgrid::layers::autograd::no_grad(|| inputs[0].exp()?.sum())?;
        Ok(vec![inputs[0].mul(&scale)?.sum()?])
    };
    let program = agree(&Trace::new(), &[&x], &[&numbers(3, &[3])], body);
    assert_eq!(
        targets(&program),
        ["higher_order::wrap_with_set_grad_enabled", "aten::mul.Tensor", "aten::sum"]
    );
    x.requires_grad_(true).unwrap();
    program.run(&[&x]).unwrap()[0].backward().unwrap();
    let scale = elements(&x.detach().unwrap().exp().unwrap().sum().unwrap())[0];
    assert_eq!(elements(&x.grad().unwrap()), [scale; 3]);
    // A trace that begins without gradients is one without blocks.
    let whole = opgrid::layers::autograd::no_grad(|| Trace::new().run(&[&x], body)).unwrap();
    assert_eq!(targets(&whole)[0], "aten::exp");
}

#[test]
fn code_that_goes_on_after_a_refusal_gives_no_program() {
    let x = numbers(3, &[3]);
    let reads = |inputs: &[Tensor]| {
        let scale = inputs[0].sum()?.item().map_or(1.0, |sum| sum.to_f64().unwrap_or(2.0));
        Ok(vec![inputs[0].mul(scale)?])
    };
    let error = Trace::new().run(&[&x], reads).unwrap_err();
    assert!(error.message().contains("reads a value from a tensor"), "{error}");
    let turns = |inputs: &[Tensor]| {
        let y = inputs[0].mul(1)?;
        let _ = ops::UnsqueezeInplace.call(&y, 0);
        Ok(vec![y])
    };
    let error = Trace::new().run(&[&x], turns).unwrap_err();
    assert!(error.message().contains("changed in place"), "{error}");
    // What an operator refuses is the code's own affair.
    let tries = |inputs: &[Tensor]| match inputs[0].select(5, 0) {
        Ok(never) => Ok(vec![never]),
        Err(_) => Ok(vec![inputs[0].neg()?]),
    };
    assert_eq!(targets(&Trace::new().run(&[&x], tries).unwrap()), ["aten::neg"]);
}

#[test]
fn a_panic_ends_the_trace() {
    let x = numbers(3, &[3]);
    for trace in [Trace::new(), Trace::new().below_autograd()] {
        let panics = || {
            trace.run(
                &[&x],
                |inputs| if inputs[0].exp()?.dim() == 1 { panic!("from the code") } else { Ok(vec![]) },
            )
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        // Nothing of it is left on the thread.
        assert_eq!(elements(&x.exp().unwrap().log().unwrap()).len(), 3);
        let program = Trace::new().run(&[&x], |inputs| Ok(vec![inputs[0].exp()?])).unwrap();
        assert_eq!(targets(&program), ["aten::exp"]);
    }
}

#[test]
fn hostile_code_gets_errors() {
    let x = numbers(6, &[2, 3]);
    let far = |inputs: &[Tensor]| Ok(vec![ops::AsStrided.call(&inputs[0], &[2], &[1], Some(1 << 62))?]);
    assert!(Trace::new().run(&[&x], far).is_err());
    let empty = Tensor::zeros(&[0], DType::F32, Device::CPU).unwrap();
    let empty = ops::AsStrided.call(&empty, &[0, 4], &[1 << 40, 1], Some(1 << 40)).unwrap();
    let program = Trace::new().run(&[&empty], |inputs| Ok(vec![inputs[0].exp()?, inputs[0].sum()?])).unwrap();
    assert_eq!(program.run(&[&empty]).unwrap()[0].sizes(), [0, 4]);
    let overlapping = |inputs: &[Tensor]| {
        let rows = inputs[0].select(0, 0)?.expand(&[2, 3])?;
        ops::NegInplace.call(&rows)?;
        Ok(vec![rows])
    };
    assert!(Trace::new().run(&[&x], overlapping).is_err());
    // A library whose operator is in the program goes: the program says so, and nothing else happens.
    let dispatcher = opgrid::Dispatcher::current();
    let mut library = dispatcher.library("hostile");
    library.define("f(Tensor x) -> Tensor").boxed(opgrid::DispatchKey::CompositeExplicitAutograd, |call| {
        let value = call.args()[0].to_value();
        let result = Tensor::try_from(value)?.mul(3)?;
        call.push(&result);
        Ok(())
    });
    let registration = library.finish().unwrap();
    let f = dispatcher.find("hostile::f").unwrap();
    let program = Trace::new()
        .run(&[&x], |inputs| {
            f.call_values(vec![(&inputs[0]).into()])?.into_iter().map(Tensor::try_from).collect()
        })
        .unwrap();
    assert_eq!(elements(&program.run(&[&x]).unwrap()[0]), elements(&x.mul(3).unwrap()));
    drop(registration);
    let error = program.run(&[&x]).unwrap_err();
    assert!(error.message().contains("hostile::f"), "{error}");
}

/// Says that the size of the first dimension compares so.
fn says(x: &Tensor, comparison: Comparison, number: i64) -> Result<()> {
    match size_symbol(x, 0) {
        Some(size) => record_comparison(&size, comparison, &Expression::Integer(number)),
        None => Ok(()),
    }
}

/// Doubles short inputs and squares long ones.
fn by_length(inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let x = &inputs[0];
    if x.sizes()[0] <= 6 {
        says(x, Comparison::LessOrEqual, 6)?;
        return Ok(vec![x.add(x)?]);
    }
    says(x, Comparison::Greater, 6)?;
    Ok(vec![x.mul(x)?])
}

#[test]
fn comparisons_of_an_input_size_narrow_its_range() {
    let trace = Trace::new().input("x").vary(0, 0, "n", 0..=i64::MAX);
    let short = agree(&trace, &[&numbers(4, &[4])], &[&numbers(6, &[6])], by_length);
    assert_eq!(short.graph().symbols["n"].to_string(), "0..6");
    let error = short.run(&[&numbers(7, &[7])]).unwrap_err();
    assert!(error.message().contains("0..6"), "{error}");
    // The other sizes that were tried would have gone the other way.
    let long = agree(&trace, &[&numbers(7, &[7])], &[&numbers(40, &[40])], by_length);
    assert_eq!(long.graph().symbols["n"].to_string(), "7..");
    assert_eq!(targets(&long), ["aten::mul.Tensor"]);
    // A bound that was given is kept, or refused.
    let given = Trace::new().input("x").vary(0, 0, "n", 2..=100);
    let error = given.run(&[&numbers(4, &[4])], by_length).unwrap_err();
    assert!(
        error
            .message()
            .contains("requires n <= 6, but the range given for size `n` is 2..100; give it the range 2..6"),
        "{error}"
    );
    let within = Trace::new().input("x").vary(0, 0, "n", 2..=6);
    assert_eq!(within.run(&[&numbers(4, &[4])], by_length).unwrap().graph().symbols["n"].to_string(), "2..6");
    let error = trace
        .run(&[&numbers(4, &[4])], |inputs| {
            says(&inputs[0], Comparison::Equal, 4)?;
            Ok(vec![inputs[0].exp()?])
        })
        .unwrap_err();
    assert!(error.message().contains("requires n == 4, so size `n` cannot vary"), "{error}");
}

#[test]
fn comparisons_of_result_sizes_become_ranges_and_checks() {
    let trace =
        Trace::new().input("x").vary(0, 0, "n", 0..=i64::MAX).input("y").vary(1, 0, "m", 0..=i64::MAX);
    let body = |inputs: &[Tensor]| {
        let both = Tensor::cat(&[&inputs[0], &inputs[0], &inputs[1]], 0)?;
        says(&both, Comparison::Less, 100)?;
        let doubled = Tensor::cat(&[&inputs[0], &inputs[0]], 0)?;
        says(&doubled, Comparison::NotEqual, 7)?;
        says(&doubled, Comparison::Less, 51)?;
        Ok(vec![both.exp()?])
    };
    let (x, y) = (numbers(4, &[4]), numbers(3, &[3]));
    let program = agree(&trace, &[&x, &y], &[&numbers(9, &[9]), &numbers(2, &[2])], body);
    // That of one symbol is its range, that of two is checked when the program runs.
    assert_eq!(program.graph().symbols["n"].to_string(), "0..25");
    assert_eq!(program.graph().symbols["m"].to_string(), "0..");
    let error = program.run(&[&numbers(20, &[20]), &numbers(60, &[60])]).unwrap_err();
    assert!(error.message().contains("traced for sizes with 2*n + m < 100"), "{error}");
}

#[test]
fn comparisons_of_data_dependent_sizes_become_checks() {
    let trace = Trace::new().input("x");
    let body = |inputs: &[Tensor]| {
        let found = inputs[0].nonzero()?;
        says(&found, Comparison::Greater, 1)?;
        Ok(vec![found.to_dtype(DType::F32)?])
    };
    let x = Tensor::from_slice(&[1.0f32, 0.0, 2.0, 3.0], &[4]).unwrap();
    let program = agree(&trace, &[&x], &[&Tensor::from_slice(&[0.0f32, 1.0, 1.0, 0.0], &[4]).unwrap()], body);
    let error = program.run(&[&Tensor::from_slice(&[0.0f32, 0.0, 2.0, 0.0], &[4]).unwrap()]).unwrap_err();
    assert!(error.message().contains("u0 > 1"), "{error}");
}

#[test]
fn programs_are_traced_with_fake_tensors() {
    let fake = |sizes: &[i64], device: Device| Tensor::zeros(sizes, DType::F32, device.fake()).unwrap();
    for device in [Device::CPU, "cuda:0".parse().unwrap()] {
        let (x, weight) = (fake(&[4, 3], device), fake(&[3, 5], device));
        let trace = Trace::new().parameter("weight", &weight).input("x").vary(0, 0, "n", 0..=i64::MAX);
        let program = trace
            .run(&[&x], |inputs| {
                let y = inputs[0].matmul(&weight)?;
                let chosen = ops::IndexTensor.call(&y, &[Some(y.gt(0)?)])?;
                Ok(vec![ops::Cat.call(&[chosen, inputs[0].flatten(0, -1)?], 0)?])
            })
            .unwrap();
        let text = program.graph().to_string();
        assert!(text.contains("float32[3*n + u0]"), "{text}");
    }
}
