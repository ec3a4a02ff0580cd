//! A layer from outside with each transform of opgrid, inside and around, on ten programs.

use std::sync::{Arc, Once};

use double_check::double_check;
use opgrid::func::{Kept, VmapOptions, functionalize, grad, jvp, vmap, vmap_with};
use opgrid::layers::fake;
use opgrid::layers::modes::{self, Mode};
use opgrid::layers::{autocast, autograd};
use opgrid::ops;
use opgrid::prelude::*;

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let dispatcher = opgrid::dispatcher().unwrap();
        opgrid::func::install(dispatcher).unwrap().keep();
        autocast::install(dispatcher).unwrap().keep();
        modes::install(dispatcher).unwrap().keep();
    });
}

type Program = fn(&Tensor) -> Result<Tensor>;
type Function<'f> = &'f dyn Fn(&Tensor) -> Result<Tensor>;

/// Programs of a tensor of three by three, with a number as their result.
const PROGRAMS: [(&str, Program); 10] = [
    ("element-wise", |x| x.sin()?.mul(x)?.sum()),
    ("a product", |x| x.matmul(x)?.tanh()?.sum()),
    ("a convolution", |x| {
        let image = x.reshape((1, 1, 3, 3))?;
        ops::Conv2d.call(&image, &image, None, &[1, 1], &[1, 1], &[1, 1], 1)?.sum()
    }),
    ("a softmax", |x| x.softmax(-1)?.mul(x)?.sum()),
    ("views", |x| x.t()?.select(0, 1)?.mul(&x.diagonal(0, 0, 1)?)?.sum()),
    ("a write", |x| {
        let y = x.mul(3)?;
        y.select(0, 0)?.mul_(2)?;
        y.square()?.sum()
    }),
    ("indices", |x| x.index_select(0, &Tensor::from_slice(&[2i64, 0, 2], 3)?)?.square()?.sum()),
    ("a scan", |x| x.cumsum(0)?.mul(x)?.sum()),
    ("new tensors", |x| Tensor::ones((3, 3), x.dtype(), Device::CPU)?.sub(x)?.abs()?.sum()),
    ("a mean and a deviation", |x| x.sub(&x.mean()?)?.square()?.mean()?.add(1)?.log()),
];

fn example() -> Tensor {
    let elements: Vec<f32> = (0..9).map(|i| (i as f32 * 0.7).sin() + 0.1).collect();
    Tensor::from_slice(&elements, (3, 3)).unwrap()
}

fn checked(program: Program) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| double_check(x, program).map(|(result, _)| result)
}

/// Compares a transform of a program with the layer inside of it, and around it, with the transform alone.
fn in_both_orders(transform: &dyn Fn(&Tensor, Function<'_>) -> Result<Tensor>) {
    install();
    for (name, program) in PROGRAMS {
        let x = example();
        let expected = transform(&x, &program).unwrap_or_else(|error| panic!("{name}: {error}"));
        let inside =
            transform(&x, &checked(program)).unwrap_or_else(|error| panic!("{name}, inside: {error}"));
        let around = double_check(&x, |x| transform(x, &program));
        let (around, _) = around.unwrap_or_else(|error| panic!("{name}, around: {error}"));
        for (where_it_is, found) in [("inside", inside), ("around", around)] {
            assert_eq!(
                (found.dtype(), found.sizes()),
                (expected.dtype(), expected.sizes()),
                "{name}, {where_it_is}"
            );
            assert!(
                found.allclose(&expected, 1e-6, 1e-6).unwrap(),
                "{name}, {where_it_is}: {found}, expected {expected}"
            );
        }
    }
}

#[test]
fn batches() {
    in_both_orders(&|x, f| vmap(&x.unsqueeze(0)?.mul(&Tensor::from_slice(&[1.0f32, 2.0], (2, 1, 1))?)?, f));
    let by_columns = VmapOptions { in_dims: vec![Some(2)], ..VmapOptions::default() };
    in_both_orders(&|x, f| {
        let batch = x.unsqueeze(-1)?.expand((3, 3, 2))?;
        Ok(vmap_with(&[&batch], &by_columns, |each| Ok(vec![f(&each[0])?]))?.remove(0))
    });
}

#[test]
fn gradients() {
    in_both_orders(&|x, f| grad(x, f));
    in_both_orders(&|x, f| grad(x, |x| grad(x, f)?.square()?.sum()));
}

#[test]
fn tangents() {
    in_both_orders(&|x, f| {
        Ok(jvp(&[x], &[&Tensor::ones((3, 3), x.dtype(), Device::CPU)?], |x| Ok(vec![f(&x[0])?]))?.1.remove(0))
    });
}

#[test]
fn functions_without_writes() {
    for kept in [Kept::Views, Kept::Nothing] {
        in_both_orders(&|x, f| Ok(functionalize(&[x], kept, |x| Ok(vec![f(&x[0])?]))?.remove(0)));
    }
}

#[test]
fn another_one_of_its_kind() {
    in_both_orders(&|x, f| double_check(x, f).map(|(result, _)| result));
}

#[test]
fn autocast_around_and_inside() {
    install();
    for (name, program) in PROGRAMS {
        let x = example();
        let expected = autocast::within(DType::BF16, || program(&x)).unwrap();
        let inside = autocast::within(DType::BF16, || checked(program)(&x)).unwrap();
        let (around, _) = double_check(&x, |x| autocast::within(DType::BF16, || program(x))).unwrap();
        for found in [inside, around] {
            assert_eq!(found.dtype(), expected.dtype(), "{name}");
            assert!(found.allclose(&expected, 0.05, 0.05).unwrap(), "{name}: {found}, expected {expected}");
        }
    }
}

#[test]
fn checkpoints_and_plain_gradients() {
    install();
    for (name, program) in PROGRAMS {
        let gradient = |run: Function<'_>| {
            let x = example();
            x.requires_grad_(true)?;
            run(&x)?.backward()?;
            Ok::<_, Error>(x.grad().expect("a gradient"))
        };
        let expected = gradient(&program).unwrap();
        let inside = gradient(&checked(program)).unwrap();
        assert!(inside.allclose(&expected, 1e-6, 1e-6).unwrap(), "{name}");
        let paused = gradient(&|x| {
            let (whole, _) = double_check(x, |x| {
                let half = autograd::no_grad(|| program(x))?;
                program(x)?.add(&half)
            })?;
            Ok(whole)
        });
        assert!(paused.unwrap().allclose(&expected, 1e-6, 1e-6).unwrap(), "{name}");
    }
}

#[test]
fn tensors_without_data() {
    install();
    for (name, program) in PROGRAMS {
        let x = fake::like(&example(), None).unwrap();
        let expected = program(&x).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = checked(program)(&x).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found.device().is_fake() && found.sizes() == expected.sizes(), "{name}");
        let within = fake::enter(Arc::default()).and_then(|_entered| checked(program)(&x));
        assert!(within.unwrap().device().is_fake(), "{name}");
    }
}

#[test]
fn modes_see_both_runs() {
    /// Counts calls.
    #[derive(Default)]
    struct Count(std::sync::atomic::AtomicUsize);
    impl Mode for Count {
        fn handle(&self, call: &mut opgrid::dispatch::BoxedCall<'_>) -> Result<()> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            call.call()
        }
    }
    install();
    let count = |run: &dyn Fn() -> Result<Tensor>| {
        let mode = Arc::new(Count::default());
        let entered = modes::enter(mode.clone()).unwrap();
        run().unwrap();
        drop(entered);
        mode.0.load(std::sync::atomic::Ordering::Relaxed)
    };
    for (name, program) in PROGRAMS {
        let x = example();
        let (alone, both) = (count(&|| program(&x)), count(&|| checked(program)(&x)));
        assert!(both >= 2 * alone, "{name}: {both} calls, {alone} alone");
    }
}

#[test]
fn a_tensor_that_is_kept_names_the_line_that_entered() {
    install();
    let mut kept = None;
    double_check(&example(), |x| {
        kept = Some(x.clone());
        x.sum()
    })
    .unwrap();
    let error = kept.unwrap().sum().unwrap_err();
    assert!(error.message().contains("double_check") && error.message().contains("pairs.rs"), "{error}");
}
