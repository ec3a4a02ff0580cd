//! Checkpoints: the same gradients with less memory.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use opgrid_core::{DType, Device, DispatchKey, Result, including};
use opgrid_tensor::layers::autograd::{
    self, BackwardOptions, CheckpointOptions, GraphOptions, checkpoint, grad, gradcheck, gradgradcheck,
    no_grad, nodes_alive,
};
use opgrid_tensor::{Tensor, manual_seed, ops};

/// The process for one test, with the default stream at its beginning.
fn seeded() -> MutexGuard<'static, ()> {
    let alone = crate::alone();
    manual_seed(7);
    alone
}

fn leaf(sizes: &[i64]) -> Tensor {
    let x = Tensor::randn(sizes, DType::F64, Device::CPU).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

fn one(found: Vec<Tensor>) -> Tensor {
    found.into_iter().next().unwrap()
}

fn saved_bytes(result: &Tensor) -> usize {
    autograd::graph(&[result], &GraphOptions::default()).unwrap().saved_bytes()
}

type Function = Arc<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync>;

/// Two layers with dropout and a write in place.
fn block(weight: &Tensor, bias: &Tensor) -> Function {
    let (weight, bias) = (weight.clone(), bias.clone());
    Arc::new(move |x| {
        let hidden = ops::Linear.call(&x[0], &weight, Some(&bias))?.tanh()?;
        let hidden = ops::Dropout.call(&hidden, 0.4, true)?;
        let hidden = hidden.exp()?.mul(&hidden)?;
        hidden.mul_(&Tensor::number(0.5))?.sigmoid_()?;
        Ok(vec![ops::Linear.call(&hidden, &weight, None)?, hidden])
    })
}

fn with_checkpoint(function: &Function, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let function = function.clone();
    checkpoint(move |inputs| function(inputs), inputs, CheckpointOptions::default())
}

const KEEPS: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };
const RECORDED: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: true };

#[test]
fn gradients_are_the_same_bit_for_bit() -> Result<()> {
    let _alone = seeded();
    let (x, weight, bias) = (leaf(&[5, 4]), leaf(&[4, 4]), leaf(&[4]));
    let function = block(&weight, &bias);
    let gradients = |makes: &dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>| -> Result<_> {
        manual_seed(3);
        // The input is no leaf itself.
        let results = makes(&[x.mul(&Tensor::number(2.0))?])?;
        let loss = results[0].mul(&results[0])?.sum()?.add(&results[1].sum()?)?;
        let bytes = saved_bytes(&loss);
        let next = elements(&Tensor::rand(&[3], DType::F64, Device::CPU)?);
        loss.backward()?;
        let found = [&x, &weight, &bias].map(|leaf| {
            let grad = leaf.grad().unwrap();
            leaf.set_grad(None).unwrap();
            elements(&grad)
        });
        // The second run leaves the stream where it was.
        let after = elements(&Tensor::rand(&[3], DType::F64, Device::CPU)?);
        Ok((elements(&loss), found, next, after, bytes))
    };
    let plain = gradients(&|x| function(x))?;
    let twice = function.clone();
    let saved = gradients(&|x| with_checkpoint(&function, x))?;
    let nested = gradients(&move |x| {
        let twice = twice.clone();
        checkpoint(move |x| with_checkpoint(&twice, x), x, CheckpointOptions::default())
    })?;
    for other in [&saved, &nested] {
        assert_eq!((&plain.0, &plain.1, &plain.2, &plain.3), (&other.0, &other.1, &other.2, &other.3));
    }
    assert!(saved.4 * 2 < plain.4, "{} bytes with, {} without", saved.4, plain.4);
    // What the loss itself needs is the result; the checkpoint adds its input, and the product the number 2.
    assert_eq!(saved.4, (20 + 20 + 1) * 8);
    assert_eq!(saved.4, nested.4);
    Ok(())
}

#[test]
fn several_in_a_row_and_inside_of_each_other() -> Result<()> {
    let _alone = seeded();
    let (x, weight, bias) = (leaf(&[3, 4]), leaf(&[4, 4]), leaf(&[4]));
    let function = block(&weight, &bias);
    let chain = |depth: usize| -> Result<_> {
        manual_seed(11);
        let mut y = x.clone();
        for _ in 0..4 {
            let mut inner: Function = function.clone();
            for _ in 0..depth {
                let before = inner.clone();
                inner = Arc::new(move |x| {
                    let middle = with_checkpoint(&before, &[x[0].sin()?])?;
                    Ok(vec![middle[0].cos()?])
                });
            }
            y = one(if depth == 0 { inner(&[y])? } else { with_checkpoint(&inner, &[y])? });
        }
        grad(&[&y.sum()?], &[&x, &weight, &bias], &[], BackwardOptions::default())
    };
    // The same function without any checkpoint in it.
    let plain = |depth: usize| -> Result<_> {
        manual_seed(11);
        let mut y = x.clone();
        for _ in 0..4 {
            for _ in 0..depth {
                y = y.sin()?;
            }
            y = one(function(&[y])?);
            for _ in 0..depth {
                y = y.cos()?;
            }
        }
        grad(&[&y.sum()?], &[&x, &weight, &bias], &[], BackwardOptions::default())
    };
    for depth in [1, 2, 3] {
        let (found, expected) = (chain(depth)?, plain(depth)?);
        for (found, expected) in found.iter().zip(&expected) {
            let (found, expected) = (found.as_ref().unwrap(), expected.as_ref().unwrap());
            assert_eq!(elements(found), elements(expected), "depth {depth}");
        }
    }
    Ok(())
}

#[test]
fn gradients_have_gradients() -> Result<()> {
    let _alone = seeded();
    let function: Function = Arc::new(|x| Ok(vec![x[0].exp()?.mul(&x[1])?.tanh()?, x[0].mm(&x[1])?]));
    let with = |x: &[Tensor]| with_checkpoint(&function, x);
    gradcheck(with, &[leaf(&[2, 2]), leaf(&[2, 2])], Default::default())?;
    gradgradcheck(with, &[leaf(&[2, 2]), leaf(&[2, 2])], Default::default())?;
    // A third time, and bit for bit.
    let x = leaf(&[3]);
    let cube: Function = Arc::new(|x| Ok(vec![x[0].mul(&x[0])?.mul(&x[0])?.sin()?]));
    let third = |y: Tensor| -> Result<Tensor> {
        let first = one(grad(&[&y.sum()?], &[&x], &[], RECORDED)?.into_iter().flatten().collect());
        let second = one(grad(&[&first.sum()?], &[&x], &[], RECORDED)?.into_iter().flatten().collect());
        Ok(one(grad(&[&second.sum()?], &[&x], &[], KEEPS)?.into_iter().flatten().collect()))
    };
    let plain = third(one(cube(std::slice::from_ref(&x))?))?;
    let saved = third(one(with_checkpoint(&cube, std::slice::from_ref(&x))?))?;
    assert_eq!(elements(&plain), elements(&saved));
    Ok(())
}

#[test]
fn a_graph_that_stays_is_as_small_as_before() -> Result<()> {
    let _alone = seeded();
    let x = leaf(&[64]);
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let y = one(checkpoint(
        move |x| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(vec![x[0].exp()?.sin()?.cos()?])
        },
        std::slice::from_ref(&x),
        CheckpointOptions::default(),
    )?);
    let loss = y.sum()?;
    assert_eq!(saved_bytes(&loss), 512);
    for times in 2..5 {
        autograd::backward(&[&loss], &[], None, KEEPS)?;
        assert_eq!((saved_bytes(&loss), runs.load(Ordering::Relaxed)), (512, times));
    }
    loss.backward()?;
    assert_eq!(saved_bytes(&loss), 0);
    let error = loss.backward().unwrap_err();
    assert!(error.message().contains("retain_graph"), "{error}");
    assert_eq!(runs.load(Ordering::Relaxed), 5);
    Ok(())
}

#[test]
fn nothing_to_record_is_not_kept() -> Result<()> {
    let _alone = seeded();
    let before = nodes_alive();
    let dropped = Arc::new(());
    let held = dropped.clone();
    let function = move |x: &[Tensor]| {
        let _held = &held;
        Ok(vec![x[0].exp()?])
    };
    let constant = Tensor::from_slice(&[1.0f64], &[1])?;
    assert!(!one(checkpoint(function, &[constant], CheckpointOptions::default())?).requires_grad());
    assert_eq!(Arc::strong_count(&dropped), 1, "the function is gone");
    let held = dropped.clone();
    let x = leaf(&[2]);
    let y = no_grad(|| {
        let function = move |x: &[Tensor]| {
            let _held = &held;
            Ok(vec![x[0].exp()?])
        };
        checkpoint(function, std::slice::from_ref(&x), CheckpointOptions::default())
    });
    assert!(!one(y?).requires_grad());
    let held = dropped.clone();
    let function = move |x: &[Tensor]| {
        let _held = &held;
        Ok(vec![x[0].exp()?, x[0].clone(), x[1].clone()])
    };
    let integers = Tensor::from_slice(&[1i64], &[1])?;
    let y = checkpoint(function, &[x.clone(), integers.clone()], CheckpointOptions::default())?;
    assert!(y[1].is_same(&x) && y[2].is_same(&integers), "results are those of the function");
    assert_eq!(Arc::strong_count(&dropped), 2);
    y[0].sum()?.backward()?;
    assert_eq!(Arc::strong_count(&dropped), 1, "used up");
    drop(y);
    assert_eq!(nodes_alive(), before);
    Ok(())
}

#[test]
fn the_second_run_has_the_state_of_the_first() -> Result<()> {
    let _alone = seeded();
    let x = leaf(&[2]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let place = seen.clone();
    let run = move |x: &[Tensor]| {
        let is_included = opgrid_core::is_included(DispatchKey::Tracer);
        place.lock().unwrap().push((is_included, autograd::is_grad_enabled()));
        opgrid_core::excluding(DispatchKey::Tracer, || Ok(vec![x[0].exp()?]))
    };
    let y = including(DispatchKey::Tracer, || {
        checkpoint(run, std::slice::from_ref(&x), CheckpointOptions::default())
    })?;
    let loss = y[0].sum()?;
    std::thread::scope(|scope| scope.spawn(|| loss.backward()).join().unwrap())?;
    assert_eq!(*seen.lock().unwrap(), [(true, true), (true, true)]);
    assert_eq!(elements(&x.grad().unwrap()), elements(&no_grad(|| x.exp())?));
    Ok(())
}

#[test]
fn without_the_random_numbers_they_are_others() -> Result<()> {
    let _alone = seeded();
    let x = leaf(&[100]);
    let run = |x: &[Tensor]| Ok(vec![ops::RandLike.call(&x[0], None, None, None, None, None)?.mul(&x[0])?]);
    let y = one(checkpoint(run, std::slice::from_ref(&x), CheckpointOptions { preserve_random: false })?);
    let drawn = no_grad(|| y.div(&x))?;
    y.sum()?.backward()?;
    assert_ne!(elements(&x.grad().unwrap()), elements(&drawn));
    x.set_grad(None)?;
    let y = one(checkpoint(run, std::slice::from_ref(&x), CheckpointOptions::default())?);
    let expected = no_grad(|| y.div(&x))?;
    y.sum()?.backward()?;
    let both = elements(&x.grad().unwrap()).into_iter().zip(elements(&expected));
    assert!(both.into_iter().all(|(found, expected)| (found - expected).abs() < 1e-12));
    Ok(())
}

fn message<T>(result: Result<T>) -> String {
    result.err().expect("it is refused").to_string()
}

#[test]
fn what_changes_in_between_is_found() -> Result<()> {
    let _alone = seeded();
    let x = leaf(&[4]);
    // Another way the second time.
    let is_second = Arc::new(AtomicBool::new(false));
    let flag = is_second.clone();
    let run = move |x: &[Tensor]| {
        let y = x[0].exp()?;
        Ok(vec![if flag.load(Ordering::Relaxed) { y.sin()? } else { y.clone() }])
    };
    let y = one(checkpoint(run, std::slice::from_ref(&x), CheckpointOptions::default())?);
    is_second.store(true, Ordering::Relaxed);
    let error = message(y.sum()?.backward());
    assert!(error.contains("saved 2 tensors for its gradients, expected 1"), "{error}");
    assert!(error.contains("derivative of aten::exp"), "{error}");
    // Other sizes.
    let flag = is_second.clone();
    let run = move |x: &[Tensor]| {
        Ok(vec![if flag.load(Ordering::Relaxed) { x[0].slice(0, 0, 2, 1)?.exp()? } else { x[0].exp()? }])
    };
    is_second.store(false, Ordering::Relaxed);
    let y = one(checkpoint(run, std::slice::from_ref(&x), CheckpointOptions::default())?);
    is_second.store(true, Ordering::Relaxed);
    let error = message(y.sum()?.backward());
    assert!(error.contains("sizes [2]") && error.contains("expected sizes [4]"), "{error}");
    // An error.
    let flag = is_second.clone();
    let run = move |x: &[Tensor]| {
        if flag.load(Ordering::Relaxed) {
            return x[0].mm(&x[0]).map(|y| vec![y]);
        }
        Ok(vec![x[0].exp()?])
    };
    is_second.store(false, Ordering::Relaxed);
    let y = one(checkpoint(run, std::slice::from_ref(&x), CheckpointOptions::default())?);
    is_second.store(true, Ordering::Relaxed);
    let error = message(y.sum()?.backward());
    assert!(error.contains("second run of a function") && error.contains("aten::mm"), "{error}");
    // The thread is as before: what is saved now is kept.
    let z = x.exp()?.sum()?;
    assert_eq!(saved_bytes(&z), 32);
    z.backward()
}

#[test]
fn tensors_that_were_written_are_found() -> Result<()> {
    let _alone = seeded();
    let (x, weight) = (leaf(&[4]), leaf(&[4]));
    let constant = Tensor::from_slice(&[1.0f64; 4], &[4])?;
    // The input.
    let y = one(checkpoint(
        |x| Ok(vec![x[0].mul(&x[1].exp()?)?]),
        &[x.clone(), constant.clone()],
        Default::default(),
    )?);
    constant.fill_(2.0)?;
    let error = message(y.sum()?.backward());
    assert!(error.contains("input 1 of shape [4] was written in place"), "{error}");
    // What the function uses beside it.
    let used = weight.clone();
    let y =
        one(checkpoint(move |x| Ok(vec![x[0].mul(&used)?]), std::slice::from_ref(&x), Default::default())?);
    no_grad(|| weight.fill_(2.0).map(drop))?;
    let error = message(y.sum()?.backward());
    assert!(
        error.contains("argument `other` of shape [4]") && error.contains("was written in place"),
        "{error}"
    );
    // A function that writes its own input.
    let y = one(checkpoint(
        |x| Ok(vec![x[1].mul(&no_grad(|| x[0].fill_(3.0).cloned())?)?]),
        &[constant, x],
        Default::default(),
    )?);
    let error = message(y.sum()?.backward());
    assert!(error.contains("input 0 of shape [4] was written in place"), "{error}");
    Ok(())
}

#[test]
fn a_function_may_go_back_itself() -> Result<()> {
    let _alone = seeded();
    let x = leaf(&[3]);
    // The norm of a gradient, which is differentiated again.
    let penalty: Function = Arc::new(|x| {
        let inner = x[0].mul(&x[0])?.mul(&x[0])?.sum()?;
        let slope = grad(&[&inner], &[&x[0]], &[], RECORDED)?.remove(0).unwrap();
        Ok(vec![slope.mul(&slope)?.sum()?])
    });
    one(penalty(std::slice::from_ref(&x))?).backward()?;
    let expected = x.grad().unwrap();
    x.set_grad(None)?;
    one(with_checkpoint(&penalty, std::slice::from_ref(&x))?).backward()?;
    assert_eq!(elements(&x.grad().unwrap()), elements(&expected));
    Ok(())
}

#[test]
fn two_threads_may_go_back_at_once() -> Result<()> {
    let _alone = seeded();
    let x = leaf(&[50]);
    let y = one(checkpoint(
        |x| Ok(vec![x[0].exp()?.sin()?.cos()?]),
        std::slice::from_ref(&x),
        CheckpointOptions::default(),
    )?);
    let loss = y.sum()?;
    let alone = one(grad(&[&loss], &[&x], &[], KEEPS)?.into_iter().flatten().collect());
    let found = std::thread::scope(|scope| -> Result<Vec<Tensor>> {
        let back = || one(grad(&[&loss], &[&x], &[], KEEPS).unwrap().into_iter().flatten().collect());
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(back)).collect();
        Ok(threads.into_iter().map(|thread| thread.join().unwrap()).collect())
    })?;
    assert!(found.iter().all(|grad| elements(grad) == elements(&alone)));
    Ok(())
}

#[test]
fn a_chain_of_checkpoints_is_dropped_without_recursion() -> Result<()> {
    let _alone = seeded();
    let before = nodes_alive();
    let x = leaf(&[1]);
    let side = x.mul(&Tensor::number(1.0))?;
    let (mut y, mut other) = (x.mul(&Tensor::number(1.0))?, side);
    for _ in 0..100_000 {
        // The second input is kept for the second run only: no node leads to it.
        let both = checkpoint(
            |x| Ok(vec![x[0].mul(&x[1].detach()?)?, x[0].neg()?]),
            &[y, other],
            CheckpointOptions { preserve_random: false },
        )?;
        let mut both = both.into_iter();
        (other, y) = (both.next().unwrap(), both.next().unwrap());
    }
    drop((y, other));
    assert_eq!(nodes_alive(), before);
    Ok(())
}
