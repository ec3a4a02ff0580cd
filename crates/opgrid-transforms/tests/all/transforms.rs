//! Transforms of functions, by themselves and in each other, against derivatives that are known and loops.

use opgrid::layers::autograd;
use opgrid::{Device, Tensor, ops};
use opgrid_core::{DType, Result};
use opgrid_transforms::{
    Randomness, VmapOptions, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap, vmap_with,
};

use crate::install;

fn numbers(sizes: &[i64], seed: i64) -> Tensor {
    let count = sizes.iter().product::<i64>();
    let numbers: Vec<f64> =
        (0..count).map(|at| ((at * 37 + 11 + seed * 5) % 23) as f64 / 8.0 - 1.3).collect();
    Tensor::from_slice(&numbers, sizes).unwrap()
}

#[track_caller]
fn close(found: &Tensor, expected: &Tensor) {
    assert_eq!((found.sizes(), found.dtype()), (expected.sizes(), expected.dtype()));
    assert!(found.allclose(expected, 1e-10, 1e-10).unwrap(), "{found}\n{expected}");
}

#[test]
fn derivatives_of_derivatives_are_those_of_formulas() -> Result<()> {
    install();
    let x = numbers(&[3], 0);
    let sine = |x: &Tensor| x.sin()?.sum();
    close(&grad(&x, sine)?, &x.cos()?);
    let second = |x: &Tensor| grad(x, sine)?.sum();
    close(&grad(&x, second)?, &x.sin()?.neg()?);
    let third = |x: &Tensor| grad(x, second)?.sum();
    close(&grad(&x, third)?, &x.cos()?.neg()?);
    // Forward over reverse, reverse over forward, forward over forward.
    let direction = numbers(&[3], 1);
    let along = |x: &Tensor| Ok(jvp(&[x], &[&direction], |x| Ok(vec![x[0].sin()?]))?.1.remove(0));
    close(&along(&x)?, &x.cos()?.mul(&direction)?);
    let expected = x.sin()?.neg()?.mul(&direction)?;
    close(&jvp(&[&x], &[&direction], |x| Ok(vec![grad(&x[0], sine)?]))?.1[0], &expected);
    close(&grad(&x, |x| along(x)?.sum())?, &expected);
    let twice = jvp(&[&x], &[&direction], |x| Ok(vec![along(&x[0])?]))?;
    close(&twice.1[0], &expected.mul(&direction)?);
    let (gradient, value) = grad_and_value(&x, sine)?;
    close(&gradient, &x.cos()?);
    close(&value, &x.sin()?.sum()?);
    Ok(())
}

/// A network with a loss, of one example.
fn loss(weight: &Tensor, x: &Tensor) -> Result<Tensor> {
    ops::Linear.call(x, weight, None)?.tanh()?.softmax(-1)?.i(0)?.log()?.neg()
}

#[test]
fn gradients_of_each_example_are_those_of_a_loop() -> Result<()> {
    install();
    let (weight, batch) = (numbers(&[3, 4], 0), numbers(&[5, 4], 2));
    let found = vmap(&batch, |x| grad(&weight, |weight| loss(weight, x)))?;
    let each = (0..5).map(|at| grad(&weight, |weight| loss(weight, &batch.select(0, at)?)));
    close(&found, &Tensor::stack(&each.collect::<Result<Vec<_>>>()?, 0)?);
    // The other way round: the gradient of the sum over a batch.
    let total = grad(&weight, |weight| vmap(&batch, |x| loss(weight, x))?.sum())?;
    close(&total, &found.sum_dim(0, false)?);
    // And a gradient of gradients of each example.
    let norm = grad(&weight, |weight| {
        vmap(&batch, |x| grad(weight, |weight| loss(weight, x))?.pow(2)?.sum())?.sum()
    })?;
    let each = (0..5).map(|at| {
        grad(&weight, |weight| grad(weight, |weight| loss(weight, &batch.select(0, at)?))?.pow(2)?.sum())
    });
    close(&norm, &Tensor::stack(&each.collect::<Result<Vec<_>>>()?, 0)?.sum_dim(0, false)?);
    Ok(())
}

#[test]
fn jacobians_agree_and_hessians_are_symmetric() -> Result<()> {
    install();
    let (weight, x) = (numbers(&[3, 4], 0), numbers(&[4], 2));
    let outputs = |x: &Tensor| ops::Linear.call(x, &weight, None)?.tanh();
    let (reverse, forward) = (jacrev(&x, outputs)?, jacfwd(&x, outputs)?);
    assert_eq!(reverse.sizes(), [3, 4]);
    close(&reverse, &forward);
    let second = hessian(&weight, |weight| loss(weight, &x))?;
    assert_eq!(second.sizes(), [3, 4, 3, 4]);
    let square = second.reshape([12, 12])?;
    close(&square, &square.t()?.contiguous()?);
    close(&jacrev(&weight, |weight| grad(weight, |weight| loss(weight, &x)))?, &second);
    close(&jacfwd(&weight, |weight| jacfwd(weight, |weight| loss(weight, &x)))?, &second);
    Ok(())
}

#[test]
fn what_is_captured_is_constant_and_keeps_its_own_gradient() -> Result<()> {
    install();
    let (x, outside) = (numbers(&[3], 0), numbers(&[3], 1));
    outside.requires_grad_(true)?;
    // The gradient by `x` depends on what is outside, which autograd records.
    let gradient = grad(&x, |x| x.mul(x)?.mul(&outside)?.sum())?;
    assert!(gradient.requires_grad() && !x.requires_grad());
    gradient.sum()?.backward()?;
    close(&outside.grad().unwrap(), &x.mul(2)?);
    // Without anything outside, nothing is recorded for it.
    let plain = grad(&x, |x| x.mul(x)?.sum())?;
    assert!(!plain.requires_grad());
    // Scopes without recording are those of their level.
    let inside = grad(&x, |x| autograd::no_grad(|| x.exp())?.mul(x)?.sum())?;
    close(&inside, &x.exp()?);
    let around = autograd::no_grad(|| grad(&x, |x| x.exp()?.sum()))?;
    close(&around, &x.exp()?);
    let of_both = grad(&x, |x| {
        let inner = autograd::no_grad(|| grad(x, |x| x.pow(3)?.sum()))?;
        inner.mul(x)?.sum()
    })?;
    close(&of_both, &x.pow(2)?.mul(3)?);
    Ok(())
}

#[test]
fn results_have_several_inputs_and_products_may_be_asked_twice() -> Result<()> {
    install();
    let (x, y) = (numbers(&[2, 3], 0), numbers(&[3], 1));
    let (results, products) = vjp(&[&x, &y], |inputs| {
        let product = inputs[0].mul(&inputs[1])?;
        Ok(vec![product.sum_dim(0, false)?, inputs[1].exp()?, numbers(&[2], 7)])
    })?;
    assert_eq!(results.len(), 3);
    let ones = Tensor::ones(3, DType::F64, Device::CPU)?;
    for factor in [1, 2] {
        let grads = products.call(&[Some(ones.mul(factor)?), None, None])?;
        close(&grads[0], &y.expand([2, 3])?.mul(factor)?);
        close(&grads[1], &x.sum_dim(0, false)?.mul(factor)?);
    }
    close(&products.call(&[None, Some(ones.clone()), None])?[0], &x.zeros_like()?);
    assert!(products.call(&[Some(ones)]).unwrap_err().message().contains("1 gradients for 3 results"));
    Ok(())
}

#[test]
fn writes_inside_are_differentiated() -> Result<()> {
    install();
    let x = numbers(&[4], 0);
    let square = |x: &Tensor| {
        let y = x.mul(1)?;
        y.mul_(x)?;
        // A view of what is computed, written.
        y.narrow(0, 1, 2)?.mul_(3)?;
        y.sum()
    };
    let factors = Tensor::from_slice(&[2.0f64, 6.0, 6.0, 2.0], 4)?;
    close(&grad(&x, square)?, &x.mul(&factors)?);
    let ones = x.ones_like()?;
    let (_, tangents) = jvp(&[&x], &[&ones], |x| Ok(vec![square(&x[0])?]))?;
    close(&tangents[0], &x.mul(&factors)?.sum()?);
    let batch = numbers(&[3, 4], 1);
    close(&vmap(&batch, |x| grad(x, square))?, &batch.mul(&factors)?);
    // What is outside cannot take values from inside.
    let outside = numbers(&[4], 2);
    let error = grad(&x, |x| outside.mul_(x)?.sum()).unwrap_err();
    assert!(error.message().contains("comes from outside the function that `grad` transforms"), "{error}");
    close(&outside, &numbers(&[4], 2));
    Ok(())
}

#[test]
fn tensors_that_escape_say_where_their_transform_was() -> Result<()> {
    install();
    let x = numbers(&[2], 0);
    for transform in ["grad", "vmap", "jvp"] {
        let mut kept = None;
        let mut keep = |x: &Tensor| {
            kept = Some(x.clone());
            x.sum()
        };
        match transform {
            "grad" => drop(grad(&x, &mut keep)?),
            "vmap" => drop(vmap(&numbers(&[2, 2], 0), &mut keep)?),
            _ => drop(jvp(&[&x], &[&x], |x| Ok(vec![keep(&x[0])?]))?),
        }
        let error = kept.unwrap().exp().unwrap_err();
        assert!(
            error.message().contains(&format!("a tensor of the `{transform}` that was entered at ")),
            "{error}"
        );
        assert!(
            error.message().contains("tests/all/transforms.rs") && error.message().contains("aten::exp"),
            "{error}"
        );
    }
    // After an error inside, the thread is outside again.
    assert!(grad(&x, |x| x.mm(x)).is_err());
    close(&grad(&x, |x| x.sum())?, &x.ones_like()?);
    Ok(())
}

#[test]
fn batches_lie_along_any_dimension() -> Result<()> {
    install();
    let (a, b) = (numbers(&[2, 3, 5], 0), numbers(&[3, 4], 1));
    let options = VmapOptions { in_dims: vec![Some(-1), None], out_dims: vec![1], ..Default::default() };
    let found = vmap_with(&[&a, &b], &options, |x| Ok(vec![x[0].mm(&x[1])?]))?.remove(0);
    let each = (0..5).map(|at| a.select(-1, at)?.mm(&b)).collect::<Result<Vec<_>>>()?;
    close(&found, &Tensor::stack(&each, 1)?);
    for (options, message) in [
        (
            VmapOptions { in_dims: vec![None, None], out_dims: vec![], ..Default::default() },
            "at least one input",
        ),
        (
            VmapOptions { in_dims: vec![Some(0)], out_dims: vec![], ..Default::default() },
            "1 in_dims for 2 inputs",
        ),
        (
            VmapOptions { in_dims: vec![Some(0), Some(0)], out_dims: vec![], ..Default::default() },
            "[2, 3] examples",
        ),
        (VmapOptions { in_dims: vec![Some(7), None], out_dims: vec![], ..Default::default() }, "vmap"),
    ] {
        let error = vmap_with(&[&a, &b], &options, |x| Ok(vec![x[0].clone()])).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    Ok(())
}

#[test]
fn tensors_that_are_made_inside_can_be_written() -> Result<()> {
    install();
    let x = numbers(&[3], 0);
    let written = |x: &Tensor| {
        let sum = Tensor::zeros(3, DType::F64, Device::CPU)?;
        sum.copy_(x)?.mul_(x)?;
        sum.narrow(0, 0, 2)?.mul_(2)?;
        sum.sum()
    };
    let factors = Tensor::from_slice(&[4.0f64, 4.0, 2.0], 3)?;
    let expected = x.mul(&factors)?;
    close(&grad(&x, written)?, &expected);
    close(&jvp(&[&x], &[&x.ones_like()?], |x| Ok(vec![written(&x[0])?]))?.1[0], &expected.sum()?);
    close(
        &jacfwd(&x, |x| grad(x, written))?,
        &Tensor::from_slice(&[4.0f64, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 2.0], [3, 3])?,
    );
    // Outside, they are plain again.
    assert!(Tensor::zeros(3, DType::F64, Device::CPU)?.array().is_ok());
    Ok(())
}

#[test]
fn random_numbers_are_refused_or_the_same_or_others_for_each_example() -> Result<()> {
    install();
    let batch = numbers(&[3, 4], 0);
    type Draw = fn(&Tensor) -> Result<Tensor>;
    let rand = |_: &Tensor| ops::Rand.call(&[4], Some(DType::F64), None, None, None);
    let draws: [(&str, Draw); 5] = [
        ("a factory", rand),
        ("like an example", |x| ops::RandLike.call(x, None, None, None, None, None)),
        ("in place", |x| {
            let own = x.mul(1)?;
            ops::UniformInplace.call(&own, 0.0, 1.0, None)?;
            Ok(own)
        }),
        ("made of others", |x| ops::Dropout.call(&x.ones_like()?, 0.5, true)),
        ("a permutation", |_| ops::Randperm.call(40, Some(DType::F64), None, None, None)),
    ];
    for (name, draw) in draws {
        let with = |randomness: Randomness| {
            let options = VmapOptions { randomness, ..Default::default() };
            Ok::<_, opgrid_core::Error>(vmap_with(&[&batch], &options, |x| Ok(vec![draw(&x[0])?]))?.remove(0))
        };
        let error = with(Randomness::Refused).unwrap_err();
        assert!(error.message().contains("Randomness::Different"), "{name}: {error}");
        let differs =
            |drawn: &Tensor| Ok::<_, opgrid_core::Error>(!drawn.i(0)?.allclose(&drawn.i(1)?, 0.0, 0.0)?);
        let each = with(Randomness::Different)?;
        assert_eq!(each.sizes()[0], 3, "{name}");
        // Of a few numbers two examples might draw the same.
        let others =
            (0..20).try_fold(differs(&each)?, |is, _| Ok(is || differs(&with(Randomness::Different)?)?));
        assert!(others.map_err(|error: opgrid_core::Error| error)?, "{name}");
        // What is drawn in place is refused where it would be the same for all.
        if let Ok(same) = with(Randomness::Same) {
            assert!(!differs(&same)?, "{name}");
        }
    }
    // Each batch decides for itself.
    let options = |randomness| VmapOptions { randomness, ..Default::default() };
    let inner = options(Randomness::Same);
    let nested = vmap_with(&[&batch], &options(Randomness::Different), |x| {
        vmap_with(&[&x[0]], &inner, |y| Ok(vec![rand(&y[0])?]))
    })?
    .remove(0);
    assert_eq!(nested.sizes(), [3, 4, 4]);
    assert!(nested.i(0)?.i(0)?.allclose(&nested.i(0)?.i(1)?, 0.0, 0.0)?);
    assert!(!nested.i(0)?.allclose(&nested.i(1)?, 0.0, 0.0)?);
    // Outside of them, numbers are drawn as ever.
    assert_eq!(rand(&batch)?.sizes(), [4]);
    Ok(())
}
