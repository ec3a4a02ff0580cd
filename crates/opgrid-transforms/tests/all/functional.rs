//! Functions without writes: random programs of views and writes, alone and within other transforms.

use opgrid::layers::modes::{self, Mode};
use opgrid::{Tensor, ops};
use opgrid_core::Result;
use opgrid_transforms::{Kept, functionalize, grad, vmap};

use crate::install;

/// Numbers from a seed, the same each time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// A view of a tensor.
fn view(draw: &mut Draw, x: &Tensor) -> Result<Tensor> {
    let dims = x.dim() as i64;
    if dims == 0 {
        return x.unsqueeze(0);
    }
    let dim = draw.below(dims as usize) as i64;
    let size = x.sizes()[dim as usize];
    match draw.below(9) {
        0 if size > 0 => x.select(dim, draw.below(size as usize) as i64),
        1 => x.narrow(dim, size / 3, size - size / 3),
        2 => x.transpose(0, dim),
        3 => x.unsqueeze(dim),
        4 => x.reshape([-1]),
        5 if dims >= 2 => x.diagonal(0, 0, 1),
        6 => x.squeeze(dim),
        7 if size >= 2 => Ok(x.split(1, dim)?.remove(draw.below(2))),
        8 => x.permute((0..dims).rev().collect::<Vec<_>>()),
        _ => x.unsqueeze(0),
    }
}

/// Runs a random program on tensors, with views of views, writes through them, and new tensors; gives all tensors that it has at the end.
fn program(seed: u64, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut draw = Draw(seed);
    let mut tensors: Vec<Tensor> = inputs.to_vec();
    for _ in 0..12 {
        let x = tensors[draw.below(tensors.len())].clone();
        let other = tensors[draw.below(tensors.len())].clone();
        match draw.below(10) {
            0..=3 => tensors.push(view(&mut draw, &x)?),
            4 => drop(x.add_(0.5)?),
            5 => drop(x.mul_(&other.sum()?.tanh()?)?),
            6 => drop(x.sin_()?),
            7 if x.sizes() == other.sizes() && !x.is_same(&other) => drop(x.copy_(&other.mul(2.0)?)?),
            8 => {
                // A tensor that is made here, and written.
                let made = Tensor::zeros(x.sizes(), x.dtype(), x.device())?;
                made.add_(&x)?;
                tensors.push(made);
            }
            _ => tensors.push(x.mul(&x)?),
        }
    }
    Ok(tensors)
}

fn inputs() -> Vec<Tensor> {
    let x = Tensor::arange(0, 12, 1).unwrap().to_dtype(opgrid_core::DType::F64).unwrap().mul(0.1).unwrap();
    vec![x.reshape([3, 4]).unwrap(), x.narrow(0, 2, 4).unwrap().add(0.0).unwrap()]
}

fn same(found: &Tensor, expected: &Tensor, about: &str) {
    assert_eq!(found.sizes(), expected.sizes(), "{about}");
    assert!(found.allclose(expected, 1e-12, 1e-12).unwrap(), "{about}: found {found}, expected {expected}");
}

#[test]
fn random_programs_give_what_they_give_with_writes() {
    install();
    for seed in 0..500 {
        let eager_inputs = inputs();
        let eager = program(seed, &eager_inputs).unwrap();
        for kept in [Kept::Views, Kept::Nothing] {
            let given = inputs();
            let found =
                functionalize(&given.iter().collect::<Vec<_>>(), kept, |inputs| program(seed, inputs));
            let found = found.unwrap_or_else(|error| panic!("program {seed}: {error}"));
            for (place, (found, eager)) in found.iter().zip(&eager).enumerate() {
                same(found, eager, &format!("program {seed}, tensor {place}, {kept:?} kept"));
            }
            for (place, (found, eager)) in given.iter().zip(&eager_inputs).enumerate() {
                same(found, eager, &format!("program {seed}, input {place}, {kept:?} kept"));
            }
        }
    }
}

/// The sum of all that a program gives.
fn total(seed: u64, x: &Tensor) -> Result<Tensor> {
    let own = x.mul(1.0)?;
    let tensors = program(seed, &[own])?;
    let sums = tensors.iter().map(Tensor::sum).collect::<Result<Vec<_>>>()?;
    sums.iter().skip(1).try_fold(sums[0].clone(), |all, sum| all.add(sum))
}

fn without_writes(seed: u64, x: &Tensor) -> Result<Tensor> {
    Ok(functionalize(&[x], Kept::Views, |inputs| Ok(vec![total(seed, &inputs[0])?]))?.remove(0))
}

#[test]
fn transforms_around_and_inside_agree() {
    install();
    let x = inputs().remove(0);
    let mut compared = 0;
    for seed in 0..100 {
        let about = format!("program {seed}");
        let rows = (0..3).map(|row| total(seed, &x.select(0, row)?)).collect::<Result<Vec<_>>>().unwrap();
        let expected = Tensor::stack(&rows, 0).unwrap();
        same(&vmap(&x, |x| without_writes(seed, x)).unwrap(), &expected, &about);
        // Where a write changes what a gradient needs, only the function without writes has one.
        let Ok(expected) = grad(&x, |x| total(seed, x)) else { continue };
        compared += 1;
        same(&grad(&x, |x| without_writes(seed, x)).unwrap(), &expected, &about);
        let inside =
            functionalize(&[&x], Kept::Views, |inputs| Ok(vec![grad(&inputs[0], |x| total(seed, x))?]));
        same(&inside.unwrap()[0], &expected, &about);
        let leaf = x.mul(1.0).unwrap();
        leaf.requires_grad_(true).unwrap();
        without_writes(seed, &leaf).unwrap().backward().unwrap();
        same(&leaf.grad().unwrap(), &expected, &about);
    }
    assert!(compared > 20, "{compared} programs");
}

/// Fails where an operator writes.
struct NoWrites;

impl Mode for NoWrites {
    fn handle(&self, call: &mut opgrid_core::BoxedCall<'_>) -> Result<()> {
        let writes = call.schema().is_some_and(|schema| schema.arguments.iter().any(|it| it.is_write()));
        assert!(!writes, "{} writes", call.operator().name());
        call.call()
    }
}

#[test]
fn what_is_around_sees_pure_operators() {
    install();
    let x = inputs().remove(0);
    for seed in 0..100 {
        let _mode = modes::enter(std::sync::Arc::new(NoWrites)).unwrap();
        without_writes(seed, &x).unwrap();
    }
}

#[test]
fn writes_without_another_form_are_refused() {
    install();
    let x = inputs().remove(0);
    let message = |result: Result<Vec<Tensor>>| result.unwrap_err().to_string();
    let found = message(functionalize(&[&x], Kept::Views, |x| {
        ops::UnsqueezeInplace.call(&x[0], 0)?;
        Ok(Vec::new())
    }));
    assert!(found.contains("other sizes or strides"), "{found}");
    let both = x.reshape([-1]).unwrap();
    let found = message(functionalize(&[&x, &both], Kept::Views, |x| Ok(vec![x[0].add_(1.0)?.clone()])));
    assert!(found.contains("another input shares"), "{found}");
    let outside = Tensor::zeros(&[3, 4], x.dtype(), x.device()).unwrap();
    let found = message(functionalize(&[&x], Kept::Views, |x| Ok(vec![outside.copy_(&x[0])?.clone()])));
    assert!(found.contains("comes from outside the function that `functionalize` transforms"), "{found}");
    for kept in [Kept::Views, Kept::Nothing] {
        for program in [|x: &Tensor| x.expand([2, 3, 4]), |x: &Tensor| x.expand([2, 3, 4])?.select(0, 0)] {
            let found = message(functionalize(&[&x], kept, |x| Ok(vec![program(&x[0])?.add_(1.0)?.clone()])));
            assert!(found.contains("more than one element of the written-to tensor"), "{found}");
        }
    }
    // The same tensor twice is one tensor.
    let twice = functionalize(&[&x, &x], Kept::Views, |x| {
        x[0].add_(1.0)?;
        Ok(vec![x[1].clone()])
    });
    assert!(twice.unwrap()[0].is_same(&x));
}

#[test]
fn a_panic_ends_the_level_and_writes_nothing() {
    install();
    let x = inputs().remove(0);
    let before = x.add(0.0).unwrap();
    let kept = std::cell::RefCell::new(None);
    let run = || {
        functionalize(&[&x], Kept::Views, |inputs| {
            inputs[0].add_(1.0)?;
            *kept.borrow_mut() = Some(inputs[0].clone());
            panic!("in the middle")
        })
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    same(&x, &before, "the input");
    let message = kept.take().unwrap().sin().unwrap_err().to_string();
    assert!(message.contains("functionalize") && message.contains("has ended"), "{message}");
}

#[test]
fn what_is_outside_computes_as_ever() {
    install();
    let (x, outside) = (inputs().remove(0), inputs().remove(0));
    let found = functionalize(&[&x], Kept::Views, |inputs| {
        let copy = outside.add(1.0)?;
        copy.select(0, 0)?.mul_(2.0)?;
        inputs[0].add_(&copy)?;
        Ok(vec![copy, inputs[0].conj()?])
    });
    let copy = outside.add(1.0).unwrap();
    copy.select(0, 0).unwrap().mul_(2.0).unwrap();
    let found = found.unwrap();
    same(&found[0], &copy, "a tensor of no level");
    same(&found[1], &outside.add(&copy).unwrap(), "the sum");
}
