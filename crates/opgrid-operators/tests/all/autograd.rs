//! The layer of gradients, attacked: graphs used twice, tensors written behind it, views, hooks, long chains, threads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use opgrid_core::{DType, Device, Dispatcher, ErrorKind, Kernel, Result, Value};
use opgrid_tensor::layers::autograd::{
    self, BackwardOptions, DetectAnomaly, GradMode, enable_grad, grad, gradcheck, gradgradcheck, no_grad,
};
use opgrid_tensor::{Tensor, ops};

fn numbers(sizes: &[i64]) -> Tensor {
    let count = sizes.iter().product::<i64>();
    let numbers: Vec<f64> = (0..count).map(|at| ((at * 37 + 11) % 23) as f64 / 8.0 - 1.3).collect();
    Tensor::from_slice(&numbers, sizes).unwrap()
}

fn leaf(sizes: &[i64]) -> Tensor {
    let x = numbers(sizes);
    x.requires_grad_(true).unwrap();
    x
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

const KEEPS: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };
const RECORDED: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: true };

#[test]
fn gradients_add_up_and_begin_anew() -> Result<()> {
    let x = leaf(&[3]);
    let twice: Vec<f64> = elements(&x).iter().map(|x| 2.0 * x).collect();
    for count in 1..4 {
        x.mul(&x)?.sum()?.backward()?;
        let found = elements(&x.grad().unwrap());
        assert!(found.iter().zip(&twice).all(|(found, x)| (found - x * f64::from(count)).abs() < 1e-12));
    }
    x.set_grad(None)?;
    assert!(x.grad().is_none());
    x.sum()?.backward()?;
    assert_eq!(elements(&x.grad().unwrap()), [1.0; 3]);
    let error = x.set_grad(Some(numbers(&[4]))).unwrap_err();
    assert!(error.message().contains("[4]") && error.message().contains("[3]"), "{error}");
    Ok(())
}

#[test]
fn the_gradient_of_a_leaf_is_its_own_memory() -> Result<()> {
    let (x, y) = (leaf(&[3]), leaf(&[3]));
    // One gradient goes to both.
    x.add(&y)?.sum()?.backward()?;
    x.sum()?.backward()?;
    assert_eq!((elements(&x.grad().unwrap()), elements(&y.grad().unwrap())), (vec![2.0; 3], vec![1.0; 3]));
    let given = numbers(&[3]);
    let z = leaf(&[3]);
    z.add_with(&z, 0)?.backward_with(&given, BackwardOptions::default())?;
    z.grad().unwrap().fill_(7.0)?;
    assert_eq!(elements(&given), elements(&numbers(&[3])));
    Ok(())
}

#[test]
fn gradients_have_gradients() -> Result<()> {
    let x = leaf(&[3]);
    let cube = x.mul(&x)?.mul(&x)?.sum()?;
    let first = grad(&[&cube], &[&x], &[], RECORDED)?.remove(0).unwrap();
    let second = grad(&[&first.sum()?], &[&x], &[], RECORDED)?.remove(0).unwrap();
    let third = grad(&[&second.sum()?], &[&x], &[], BackwardOptions::default())?.remove(0).unwrap();
    for (at, x) in elements(&x).iter().enumerate() {
        assert!((elements(&first)[at] - 3.0 * x * x).abs() < 1e-12);
        assert!((elements(&second)[at] - 6.0 * x).abs() < 1e-12);
    }
    assert_eq!(elements(&third), [6.0; 3]);
    let function = |x: &[Tensor]| Ok(vec![x[0].exp()?.mul(&x[1])?.relu()?, x[0].mm(&x[1])?]);
    gradcheck(function, &[leaf(&[2, 2]), leaf(&[2, 2])], Default::default())?;
    gradgradcheck(function, &[leaf(&[2, 2]), leaf(&[2, 2])], Default::default())
}

#[test]
fn a_wrong_derivative_is_found() -> Result<()> {
    let error = gradcheck(
        // The gradient of the second factor is lost.
        |x| Ok(vec![x[0].mul(&no_grad(|| x[0].exp())?)?]),
        &[leaf(&[2])],
        Default::default(),
    );
    let error = error.unwrap_err();
    assert!(error.message().contains("by input 0"), "{error}");
    let error = gradcheck(|x| no_grad(|| Ok(vec![x[0].exp()?])), &[leaf(&[2])], Default::default());
    assert!(error.unwrap_err().message().contains("requires no gradient"));
    Ok(())
}

#[test]
fn a_graph_is_used_once_unless_it_is_kept() -> Result<()> {
    let x = leaf(&[2]);
    let y = x.mul(&x)?.sum()?;
    autograd::backward(&[&y], &[], None, KEEPS)?;
    y.backward()?;
    let error = y.backward().unwrap_err();
    assert!(error.message().contains("retain_graph"), "{error}");
    Ok(())
}

#[test]
fn questions_without_an_answer_are_refused() -> Result<()> {
    let x = leaf(&[2]);
    for (error, says) in [
        (x.exp()?.backward(), "sum it"),
        (numbers(&[1]).backward(), "does not require grad"),
        (grad(&[&x.sum()?], &[&numbers(&[1])], &[], KEEPS).map(drop), "requires no gradient"),
        (x.exp()?.backward_with(&numbers(&[3]), KEEPS), "[3]"),
        (Tensor::from_slice(&[1i64], &[1])?.requires_grad_(true).map(drop), "floating-point"),
        (x.exp()?.requires_grad_(false).map(drop), "detach"),
        (ops::ExpOut.call(&x, &numbers(&[2])), "`out`"),
    ] {
        let error = error.unwrap_err();
        assert!(error.message().contains(says), "{error}");
    }
    let other = leaf(&[2]);
    assert!(grad(&[&x.sum()?], &[&other], &[], KEEPS)?[0].is_none());
    Ok(())
}

#[test]
fn leaves_are_written_only_without_recording() -> Result<()> {
    let x = leaf(&[2, 2]);
    let view = x.select(0, 0)?;
    for (error, says) in
        [(ops::ExpInplace.call(&x), "a leaf"), (ops::ExpInplace.call(&view), "a view of a leaf")]
    {
        let error = error.unwrap_err();
        assert!(error.message().contains(says) && error.message().contains("no_grad"), "{error}");
    }
    assert_eq!(elements(&x), elements(&numbers(&[2, 2])));
    no_grad(|| ops::ExpInplace.call(&x))?;
    assert_ne!(elements(&x), elements(&numbers(&[2, 2])));
    Ok(())
}

#[test]
fn a_tensor_that_was_written_since_is_named() -> Result<()> {
    let (x, y) = (leaf(&[2]), numbers(&[2]));
    let product = x.mul(&y)?;
    no_grad(|| y.fill_(3.0).map(drop))?;
    let error = product.sum()?.backward().unwrap_err();
    for says in ["aten::mul.Tensor", "`other`", "version"] {
        assert!(error.message().contains(says), "{error}");
    }
    let y = x.exp()?;
    y.add_(&numbers(&[2]))?;
    let error = y.sum()?.backward().unwrap_err();
    assert!(error.message().contains("aten::exp") && error.message().contains("the result"), "{error}");
    Ok(())
}

#[test]
fn what_is_written_in_place_has_its_gradient() -> Result<()> {
    gradcheck(
        |x| {
            let y = x[0].mul(&x[1])?;
            y.add_with_(&x[1], 2)?;
            // The factor itself is written, so that it has to be kept as it was.
            ops::MulInplaceTensor.call(&y, &x[0])?;
            ops::ExpInplace.call(&y)?;
            Ok(vec![y])
        },
        &[leaf(&[3]), leaf(&[3])],
        Default::default(),
    )
}

#[test]
fn what_is_written_through_views_has_its_gradient() -> Result<()> {
    let function = |x: &[Tensor]| {
        let all = Tensor::zeros(&[3, 2], DType::F64, Device::CPU)?;
        ops::CopyInplace.call(&all.select(0, 0)?, &x[0], false)?;
        ops::CopyInplace.call(&all.select(0, 2)?, &x[1], false)?;
        // A view of a view, multiplied by what lies there.
        let part = all.slice(0, 1, 3, 1)?.select(1, 1)?;
        ops::MulInplaceTensor.call(&part, &x[0])?;
        let whole = all.mul(&all)?;
        ops::ExpInplace.call(&whole.select(0, 0)?)?;
        Ok(vec![all.exp()?, part.mul(&x[1])?, whole])
    };
    gradcheck(function, &[leaf(&[2]), leaf(&[2])], Default::default())?;
    gradgradcheck(function, &[leaf(&[2]), leaf(&[2])], Default::default())
}

#[test]
fn a_view_follows_its_base() -> Result<()> {
    let function = |x: &[Tensor]| {
        let base = x[0].mul(&x[0])?;
        let view = base.select(0, 1)?;
        base.mul_(&x[0])?;
        Ok(vec![view.exp()?])
    };
    gradcheck(function, &[leaf(&[2, 2])], Default::default())?;
    // Another dimension order, then written.
    let function = |x: &[Tensor]| {
        let base = x[0].mul(&x[0])?;
        let turned = base.transpose(0, 1)?;
        ops::ExpInplace.call(&turned)?;
        Ok(vec![base, turned])
    };
    gradcheck(function, &[leaf(&[2, 3])], Default::default())
}

/// What comes back to each of so many places from a view that gives its elements these weights.
fn sums_at_places(weights: &Tensor, stride: &[i64], offset: i64, count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for (at, weight) in elements(weights).into_iter().enumerate() {
        let (mut rest, mut place) = (at as i64, offset);
        for (size, stride) in weights.sizes().iter().zip(stride).rev() {
            (rest, place) = (rest / size, place + rest % size * stride);
        }
        sums[place as usize] += weight;
    }
    sums
}

#[test]
fn views_that_overlap_themselves_have_gradients() -> Result<()> {
    let cases: [(&[i64], &[i64], i64); 5] = [
        (&[3, 3], &[1, 1], 1),
        (&[2, 3, 2], &[2, 1, 1], 0),
        (&[2, 4], &[0, 1], 2),
        (&[3, 2, 2], &[0, 3, 0], 1),
        (&[0, 3], &[1, 1], 0),
    ];
    for (size, stride, offset) in cases {
        let x = leaf(&[7]);
        let weights = numbers(size);
        x.as_strided(size, stride, Some(offset))?.mul(&weights)?.sum()?.backward()?;
        let expected = sums_at_places(&weights, stride, offset, 7);
        let found = elements(&x.grad().unwrap());
        assert!(
            found.iter().zip(&expected).all(|(found, x)| (found - x).abs() < 1e-12),
            "{size:?}: {found:?}"
        );
        let view =
            |x: &[Tensor]| Ok(vec![x[0].as_strided(size, stride, Some(offset))?.mul(&weights)?.exp()?]);
        if weights.numel() > 0 {
            gradcheck(view, &[leaf(&[7])], Default::default())?;
            gradgradcheck(view, &[leaf(&[7])], Default::default())?;
        }
    }
    // Of any sizes and strides.
    let mut state = 7u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % limit) as i64
    };
    for _ in 0..300 {
        let dims = 1 + below(4) as usize;
        let size: Vec<i64> = (0..dims).map(|_| 1 + below(5)).collect();
        let stride: Vec<i64> = (0..dims).map(|_| below(8)).collect();
        let (offset, weights) = (below(4), numbers(&size));
        let count =
            offset + 2 + size.iter().zip(&stride).map(|(size, stride)| (size - 1) * stride).sum::<i64>();
        let x = leaf(&[count]);
        x.as_strided(&size, &stride, Some(offset))?.mul(&weights)?.sum()?.backward()?;
        let expected = sums_at_places(&weights, &stride, offset, count as usize);
        let found = elements(&x.grad().unwrap());
        let fits = found.iter().zip(&expected).all(|(found, x)| (found - x).abs() < 1e-12);
        assert!(fits, "{size:?} {stride:?} {offset}: {found:?}, expected {expected:?}");
    }
    // Elements of the input in one place share what comes back to it.
    let x = leaf(&[3]);
    let rows = x.expand(&[2, 3])?;
    rows.as_strided(&[2], &[1], Some(1))?.sum()?.backward()?;
    assert_eq!(elements(&x.grad().unwrap()), [0.0, 1.0, 1.0]);
    Ok(())
}

#[test]
fn what_is_scattered_by_strides_has_its_gradient_where_it_lies() -> Result<()> {
    // Behind other elements, and in another order than rows.
    let scattered = |x: &[Tensor]| {
        let turned = x[0].narrow(0, 1, 2)?.transpose(0, 1)?;
        let first = turned.spec()?.geometry().offset();
        Ok(vec![ops::AsStridedScatter.call(&turned, &x[1].exp()?, &[2], &[2], Some(first + 1))?])
    };
    let inputs = || [leaf(&[3, 2]), leaf(&[2])];
    gradcheck(scattered, &inputs(), Default::default())?;
    gradgradcheck(scattered, &inputs(), Default::default())?;
    // Between gaps, and where one place has several elements.
    let between = |x: &[Tensor]| {
        let gaps = x[0].slice(0, 1, None, 2)?;
        Ok(vec![ops::AsStridedScatter.call(&gaps, &x[1].exp()?, &[2], &[2], Some(3))?])
    };
    let repeated = |x: &[Tensor]| {
        let rows = x[0].expand(&[2, 6])?;
        Ok(vec![ops::AsStridedScatter.call(&rows, &x[1].exp()?, &[2], &[3], Some(1))?])
    };
    let inputs = || [leaf(&[6]), leaf(&[2])];
    gradcheck(between, &inputs(), Default::default())?;
    gradgradcheck(between, &inputs(), Default::default())?;
    gradcheck(repeated, &inputs(), Default::default())?;
    gradgradcheck(repeated, &inputs(), Default::default())
}

#[test]
fn memory_that_others_see_does_not_begin_to_require_gradients() -> Result<()> {
    let (x, shared) = (leaf(&[2]), numbers(&[2]));
    let other = shared.view_as(shared.geometry().clone())?;
    let error = shared.add_(&x).map(drop).unwrap_err();
    assert!(error.message().contains("is shared with other tensors"), "{error}");
    assert_eq!(elements(&other), elements(&numbers(&[2])));
    drop(other);
    shared.add_(&x)?;
    assert!(shared.requires_grad() && !shared.is_leaf());
    // What a formula keeps of the tensor itself is no stranger: here the result, and the tensor as it was.
    for write in
        [ops::DivInplaceTensor.call(&numbers(&[2]), &x), ops::PowInplaceTensor.call(&numbers(&[2]), &x)]
    {
        write?;
    }
    Ok(())
}

#[test]
fn nothing_is_recorded_without_need() -> Result<()> {
    let (x, plain) = (leaf(&[2]), numbers(&[2]));
    assert!(!plain.exp()?.requires_grad());
    assert!(!no_grad(|| x.exp())?.requires_grad());
    assert!(no_grad(|| enable_grad(|| x.exp()))?.requires_grad());
    assert!(!x.detach()?.requires_grad() && !x.gt(0)?.requires_grad());
    let _off = GradMode::new(false);
    std::thread::scope(|scope| scope.spawn(|| assert!(autograd::is_grad_enabled())).join()).unwrap();
    assert!(!autograd::is_grad_enabled());
    Ok(())
}

#[test]
fn calls_are_explained() -> Result<()> {
    let (x, plain) = (leaf(&[2]), numbers(&[2]));
    let add = Dispatcher::global().find("aten::add.Tensor")?;
    let hops = |x: &Tensor| -> Result<Vec<String>> {
        let (x, alpha) = (Value::from(x), Value::from(1));
        let explanation = add.explain(&[x.borrow(), x.borrow(), alpha.borrow()])?;
        Ok(explanation.hops.iter().map(|hop| hop.key.to_string()).collect())
    };
    assert_eq!(hops(&x)?, ["AutogradCPU", "CPU"]);
    assert_eq!(hops(&plain)?, ["CPU"]);
    assert_eq!(no_grad(|| hops(&x))?, ["CPU"]);
    // What was made, step by step.
    let (arg, alpha) = (Value::from(&x), Value::from(1));
    let args = [arg.borrow(), arg.borrow(), alpha.borrow()];
    let (result, explanation) = add.call_explained(&args, &mut opgrid_core::Returns::new())?;
    result?;
    let keys: Vec<String> = explanation.hops.iter().map(|hop| hop.key.to_string()).collect();
    assert_eq!(keys, ["AutogradCPU", "CPU"]);
    Ok(())
}

#[test]
fn hooks_see_gradients_and_may_change_them() -> Result<()> {
    let x = leaf(&[2]);
    let y = x.mul(&x)?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hook = y.register_hook({
        let seen = seen.clone();
        move |grad| {
            seen.lock().unwrap().push(elements(grad));
            grad.mul(10).map(Some)
        }
    })?;
    let of_leaf = x.register_hook(|grad| grad.mul(-1).map(Some))?;
    y.retain_grad()?;
    let sum = y.sum()?;
    autograd::backward(&[&sum], &[], None, KEEPS)?;
    let expected: Vec<f64> = elements(&x).iter().map(|x| -20.0 * x).collect();
    assert_eq!(elements(&x.grad().unwrap()), expected);
    assert_eq!(elements(&y.grad().unwrap()), [10.0; 2]);
    assert_eq!(*seen.lock().unwrap(), [[1.0, 1.0]]);
    hook.remove();
    of_leaf.remove();
    x.set_grad(None)?;
    sum.backward()?;
    assert_eq!(elements(&x.grad().unwrap()), elements(&x.add(&x)?));
    // One that fails, and one that gives something else.
    let y = x.exp()?;
    let _hook = y.register_hook(|_| Ok(Some(numbers(&[5]))))?;
    assert!(y.sum()?.backward().unwrap_err().message().contains("hook of aten::exp"));
    Ok(())
}

#[test]
fn a_long_chain_neither_recurses_on_its_way_back_nor_when_it_goes() -> Result<()> {
    let x = leaf(&[1]);
    for is_used in [true, false] {
        let mut y = x.add(&x)?;
        for _ in 0..1_000_000 {
            y = y.add(&x)?;
        }
        if is_used {
            y.backward()?;
            assert_eq!(elements(&x.grad().unwrap()), [1_000_002.0]);
        }
    }
    Ok(())
}

#[test]
fn threads_go_back_at_once() -> Result<()> {
    let x = leaf(&[64]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    x.mul(&x).unwrap().sum().unwrap().backward().unwrap();
                }
            });
        }
    });
    let expected: Vec<f64> = elements(&x).iter().map(|x| 2.0 * x * 800.0).collect();
    let found = elements(&x.grad().unwrap());
    assert!(found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-8));
    // One graph, several ways back.
    let y = x.mul(&x)?.sum()?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| grad(&[&y], &[&x], &[], KEEPS).unwrap());
        }
    });
    Ok(())
}

#[test]
fn an_operator_without_a_derivative_is_named_when_a_gradient_reaches_it() -> Result<()> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut library = Dispatcher::global().library("autograd_tests");
    library.define("opaque(Tensor x) -> Tensor").add(
        Kernel::function::<fn(Tensor) -> Tensor>(|x| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            x.exp()
        })
        .at(opgrid_core::DispatchKey::Cpu),
    );
    let _registration = library.finish()?;
    let opaque = Dispatcher::global().find("autograd_tests::opaque")?.typed::<fn(Tensor) -> Tensor>()?;
    let x = leaf(&[2]);
    let y = opaque.call((&x,))?;
    assert!(y.requires_grad());
    let error = y.sum()?.backward().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotImplemented);
    for says in ["autograd_tests::opaque", "tests/all/autograd.rs", "derivative"] {
        assert!(error.message().contains(says), "{error}");
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn a_detached_tensor_leads_nowhere() -> Result<()> {
    let x = leaf(&[2]);
    let y = x.exp()?;
    ops::DetachInplace.call(&y)?;
    assert!(y.is_leaf() && !y.requires_grad());
    let z = x.exp()?;
    let view = z.select(0, 0)?;
    let error = ops::DetachInplace.call(&view).unwrap_err();
    assert!(error.message().contains("view"), "{error}");
    Ok(())
}

#[test]
fn anomalies_say_where_they_come_from() -> Result<()> {
    let _scope = DetectAnomaly::new(true);
    let x = Tensor::from_slice(&[f64::INFINITY, 1.0], &[2])?;
    x.requires_grad_(true)?;
    let zero = Tensor::zeros(&[2], DType::F64, Device::CPU)?;
    let y = x.mul(&x.mul(&zero)?)?;
    let error = y.sum()?.backward().unwrap_err();
    for says in ["aten::mul.Tensor", "NaN", "called at"] {
        assert!(error.message().contains(says), "{error}");
    }
    Ok(())
}

#[test]
fn gradients_of_complex_numbers_are_those_of_torch() -> Result<()> {
    let x = Tensor::from_slice(
        &[opgrid_tensor::Complex::new(1.0f64, 2.0), opgrid_tensor::Complex::new(-0.5, 0.25)],
        &[2],
    )?;
    x.requires_grad_(true)?;
    let real = leaf(&[2]);
    gradcheck(|x| Ok(vec![x[0].mul(&x[0])?.exp()?, x[0].mul(&x[1])?]), &[x, real], Default::default())
}

#[test]
fn a_write_that_is_refused_writes_nothing() -> Result<()> {
    // Every second element of the base lies in memory that it does not have.
    let storage = numbers(&[8]);
    let base = storage.view_as(storage.geometry().clone())?.slice(0, 0, 8, 2)?;
    let before = elements(&storage);
    let x = leaf(&[2]);
    let view = base.slice(0, 0, 2, 1)?;
    assert!(ops::CopyInplace.call(&view, &x, false).is_err());
    assert_eq!((elements(&storage), view.requires_grad()), (before, false));
    // Without elements, at the end of the memory.
    let nothing = Tensor::zeros(&[4], DType::F64, Device::CPU)?;
    let empty = nothing.slice(0, 4, 4, 1)?;
    ops::MulInplaceTensor.call(&empty, &leaf(&[1]))?;
    nothing.sum()?.backward()
}

#[test]
fn a_formula_may_panic_or_drop_its_own_registration() -> Result<()> {
    use opgrid_core::Registration;
    use opgrid_tensor::layers::autograd::Derivative;

    static REGISTRATION: Mutex<Option<Registration>> = Mutex::new(None);
    let mut library = Dispatcher::global().library("autograd_hostile");
    let _ = library
        .define("twice(Tensor x) -> Tensor")
        .add(
            Kernel::function::<fn(Tensor) -> Tensor>(|x| no_grad(|| x.add(x)))
                .at(opgrid_core::DispatchKey::Cpu),
        )
        .column(Derivative::typed::<fn(Tensor) -> Tensor>(|d, (x,)| {
            d.by(x, [x], |grad, [x]| {
                drop(REGISTRATION.lock().unwrap().take());
                grad.mul(&x.mul(0)?.add(2)?)
            })
        }));
    *REGISTRATION.lock().unwrap() = Some(library.finish()?);
    let twice = Dispatcher::global().find("autograd_hostile::twice")?.typed::<fn(Tensor) -> Tensor>()?;
    let x = leaf(&[2]);
    let once = twice.call((&x,))?;
    assert!(once.requires_grad());
    let y = once.sum()?;
    y.backward()?;
    assert_eq!(elements(&x.grad().unwrap()), [2.0; 2]);
    assert!(Dispatcher::global().find("autograd_hostile::twice").is_err());
    // A panic in the backward pass leaves the thread recording, and the leaf in use.
    let y =
        autograd::custom("panics", &[&x], || Ok((vec![x.exp()?], vec![])), |_, _| panic!("in a formula"))?;
    let total = y[0].sum()?;
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| total.backward())).is_err());
    assert!(autograd::is_grad_enabled());
    x.sum()?.backward()?;
    assert_eq!(elements(&x.grad().unwrap()), [3.0; 2]);
    Ok(())
}

/// A function that doubles its argument in place and says so.
fn doubled(x: &Tensor) -> Result<Vec<Tensor>> {
    let run = || Ok(autograd::Forward::new(vec![x.mul_(2)?.clone()]).write([x.clone()]));
    autograd::custom("double", &[x], run, |grads, _| {
        Ok(vec![grads.for_result(0).map(|grad| grad.mul(2)).transpose()?])
    })
}

#[test]
fn functions_that_write_their_arguments() -> Result<()> {
    // The argument itself leads to the call.
    let x = leaf(&[3]);
    let y = x.mul(1)?;
    let (kept, before) = (y.mul(&y)?.sum()?, y.version());
    let results = doubled(&y)?;
    assert!(results[0].is_same(&y) && y.version() > before && !y.is_leaf());
    y.sum()?.backward()?;
    assert_eq!(elements(&x.grad().unwrap()), [2.0; 3]);
    assert!(kept.backward().unwrap_err().message().contains("written"));
    // A view: what was there before gets its gradient, the rest of the base its own.
    let x = leaf(&[4]);
    let base = x.mul(1)?;
    let view = base.narrow(0, 1, 2)?;
    assert!(doubled(&view)?[0].is_same(&view));
    base.sum()?.backward()?;
    assert_eq!(elements(&x.grad().unwrap()), [1.0, 2.0, 2.0, 1.0]);
    // What is written by what requires a gradient begins to require one.
    let (zeros, w) = (Tensor::zeros(&[2], DType::F64, Device::CPU)?, leaf(&[2]));
    let run = || Ok(autograd::Forward::new(vec![zeros.copy_(&w)?.clone()]).write([zeros.clone()]));
    autograd::custom("become", &[&zeros, &w], run, |grads, _| Ok(vec![None, grads.for_result(0).cloned()]))?;
    zeros.sum()?.backward()?;
    assert_eq!(elements(&w.grad().unwrap()), [1.0; 2]);
    // Without recording, what was written is what it was, and counts.
    let plain = numbers(&[2]);
    let before = plain.version();
    assert!(doubled(&plain)?[0].is_same(&plain) && !plain.requires_grad() && plain.version() > before);
    let x = leaf(&[2]);
    let result = no_grad(|| doubled(&x))?;
    assert!(x.is_leaf() && x.requires_grad() && !result[0].requires_grad());
    Ok(())
}

#[test]
fn functions_that_may_not_write_their_arguments() -> Result<()> {
    let refused = |tensor: &Tensor| doubled(tensor).map(drop).unwrap_err().message().to_owned();
    let x = leaf(&[3]);
    assert!(refused(&x).starts_with("double: cannot write in place to a leaf that requires a gradient"));
    assert!(refused(&x.narrow(0, 1, 2)?).contains("a view of a leaf"));
    let y = x.mul(1)?;
    let lost = || Ok(autograd::Forward::new(vec![y.mul(2)?]).write([y.clone()]));
    let error = autograd::custom("lost", &[&y], lost, |_, _| Ok(vec![None])).map(drop).unwrap_err();
    assert!(
        error
            .message()
            .starts_with("lost: an argument of shape [3] was written in place but is not a result")
    );
    // Others see the memory, who would not know of the gradient.
    let zeros = Tensor::zeros(&[3], DType::F64, Device::CPU)?;
    let other = zeros.view_as(zeros.geometry().clone())?;
    let run = || Ok(autograd::Forward::new(vec![zeros.copy_(&x)?.clone()]).write([zeros.clone()]));
    let error =
        autograd::custom("become", &[&zeros, &x], run, |_, _| Ok(vec![None, None])).map(drop).unwrap_err();
    assert!(error.message().contains(
        "become: cannot make a tensor require a gradient whose memory is shared with other tensors"
    ));
    drop(other);
    Ok(())
}

#[test]
fn bessel_functions_of_order_one_have_two_derivatives_at_zero() -> Result<()> {
    let functions: [fn(&Tensor) -> Result<Tensor>; 3] = [
        |x| ops::SpecialI1.call(x),
        |x| ops::SpecialBesselJ1.call(x),
        |x| ops::SpecialModifiedBesselI1.call(x),
    ];
    for function in functions {
        let x = Tensor::from_slice(&[0.0, 0.5], &[2])?;
        x.requires_grad_(true)?;
        let function = |inputs: &[Tensor]| Ok(vec![function(&inputs[0])?]);
        gradcheck(function, std::slice::from_ref(&x), Default::default())?;
        gradgradcheck(function, &[x], Default::default())?;
    }
    Ok(())
}
