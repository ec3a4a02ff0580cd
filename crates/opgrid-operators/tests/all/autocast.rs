//! Autocast: the dtypes that lists give, regions in any order, weights that are cast once, and transforms inside and around.

use std::panic::{AssertUnwindSafe, catch_unwind};

use opgrid_core::{
    BoxedCall, DType, Device, DeviceType, DispatchKey, Dispatcher, Registration, Result, ThreadContext,
    Value, operator,
};
use opgrid_tensor::families::{DefineKind, kind};
use opgrid_tensor::layers::autocast::{self, CastPolicy, DefineCastPolicy, Region};
use opgrid_tensor::layers::autograd::{self, GradMode};
use opgrid_tensor::layers::modes;
use opgrid_tensor::{Tensor, ops};
use opgrid_transforms::{grad, jvp, vmap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A dispatcher with the operators and all layers.
struct Subject {
    dispatcher: Dispatcher,
    _registrations: Vec<Registration>,
}

fn subject() -> Subject {
    let dispatcher = Dispatcher::new();
    let registrations = vec![
        opgrid_tensor::register(&dispatcher).unwrap(),
        autograd::install(&dispatcher).unwrap(),
        opgrid_transforms::install(&dispatcher).unwrap(),
        autocast::install(&dispatcher).unwrap(),
        modes::install(&dispatcher).unwrap(),
    ];
    Subject { dispatcher, _registrations: registrations }
}

fn within(body: impl FnOnce() -> Result<()>) {
    let subject = subject();
    subject.dispatcher.within(body).unwrap();
}

fn ones(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::ones(sizes, dtype, Device::CPU).unwrap()
}

fn weight() -> Tensor {
    let weight = ones(&[2, 2], DType::F32);
    weight.requires_grad_(true).unwrap();
    weight
}

fn cpu() -> Region {
    Region::new(DeviceType::Cpu)
}

/// Counts the casts that are made.
#[derive(Default)]
struct Casts(AtomicUsize);

impl modes::Mode for Casts {
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        let is_cast = call.operator().name().to_string() == "aten::_to_copy";
        self.0.fetch_add(is_cast.into(), Ordering::Relaxed);
        call.call()
    }
}

/// What `body` casts.
fn casts(body: impl FnOnce() -> Result<()>) -> Result<usize> {
    let counted = Arc::new(Casts::default());
    let entered = modes::enter(counted.clone())?;
    body()?;
    drop(entered);
    Ok(counted.0.load(Ordering::Relaxed))
}

/// Calls by which the table has the dtype of the result.
type Call = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// Operators of two matrices with their policy; none where autocast leaves them alone.
const CALLS: &[(&str, Option<CastPolicy>, Call)] = &[
    ("mm", Some(CastPolicy::Lower), |x, y| x.mm(y)),
    ("matmul", Some(CastPolicy::Lower), |x, y| x.matmul(y)),
    ("linear", Some(CastPolicy::Lower), |x, y| ops::Linear.call(x, y, None)),
    ("addmm", Some(CastPolicy::Lower), |x, y| ops::Addmm.call(x, x, y, 1.into(), 1.into())),
    ("mse_loss", Some(CastPolicy::Full), |x, y| ops::MseLoss.call(x, y, 1)),
    ("l1_loss", Some(CastPolicy::Full), |x, y| ops::L1Loss.call(x, y, 1)),
    ("prod", Some(CastPolicy::Full), |x, _| ops::Prod.call(x, None)),
    ("trace", Some(CastPolicy::Full), |x, _| ops::Trace.call(x)),
    ("cat", Some(CastPolicy::Widest), |x, y| Tensor::cat(&[x.clone(), y.clone()], 0)),
    ("stack", Some(CastPolicy::Widest), |x, y| Tensor::stack(&[x.clone(), y.clone()], 0)),
    ("mul", None, |x, y| x.mul(y)),
    ("exp", None, |x, _| x.exp()),
    ("sum", None, |x, _| x.sum()),
];

#[test]
fn results_have_the_dtypes_of_the_list() {
    use DType::{BF16, F16, F32, F64, I64};
    within(|| {
        for lower in [BF16, F16] {
            for (a, b) in
                [(F32, F32), (F32, lower), (lower, F32), (lower, lower), (BF16, F16), (F64, F64), (I64, I64)]
            {
                let (x, y) = (ones(&[2, 2], a), ones(&[2, 2], b));
                for (name, policy, call) in CALLS {
                    let plain = call(&x, &y).map(|result| result.dtype());
                    let found = autocast::within(lower, || call(&x, &y)).map(|result| result.dtype());
                    let all_among = |dtypes: [DType; 2]| [a, b].iter().all(|dtype| dtypes.contains(dtype));
                    let expected = match policy {
                        _ if matches!(a, F64 | I64) => plain.ok(),
                        None => plain.ok(),
                        Some(CastPolicy::Lower) => Some(lower),
                        Some(CastPolicy::Full) => Some(F32),
                        Some(_) if all_among([lower, lower]) => Some(lower),
                        Some(_) if all_among([lower, F32]) => Some(F32),
                        Some(_) => None,
                    };
                    assert_eq!(found.ok(), expected, "{name} of {a} and {b}, {lower}");
                }
            }
        }
        Ok(())
    });
}

#[test]
fn what_is_narrow_in_another_way_is_not_joined() {
    within(|| {
        let half = ones(&[2], DType::F16);
        let joined = autocast::within(DType::BF16, || Tensor::cat(&[half.clone(), half.clone()], 0));
        let error = joined.unwrap_err().to_string();
        assert!(
            error.contains("aten::cat") && error.contains("found a tensor of float16, expected bfloat16"),
            "{error}"
        );
        Ok(())
    });
}

#[test]
fn operators_that_write_get_what_they_write() {
    within(|| {
        let (x, out) = (ones(&[2, 2], DType::F32), ones(&[2, 2], DType::F32));
        autocast::within(DType::BF16, || ops::AddmmInplace.call(&out, &x, &x, 1.into(), 1.into()))?;
        assert_eq!(out.to_vec::<f32>()?, [3.0; 4]);
        Ok(())
    });
}

#[test]
fn regions_nest_and_end_in_any_order() {
    within(|| {
        let x = ones(&[2, 2], DType::F32);
        let dtype = || x.mm(&x).map(|product| product.dtype());
        let state =
            || Ok((autocast::is_enabled(DeviceType::Cpu)?, autocast::dtype(DeviceType::Cpu)?, dtype()?));
        let start = state()?;
        let enter: [fn() -> Result<autocast::Entered>; 4] = [
            || cpu().dtype(DType::F16).enter(),
            || cpu().enabled(false).enter(),
            || cpu().dtype(DType::BF16).cached(false).enter(),
            || Region::new(DeviceType::Cuda).enabled(false).dtype(DType::BF16).enter(),
        ];
        // The innermost of those that are open decides.
        let expected = |open: &[usize]| match open.iter().rev().find(|it| **it < 3) {
            None | Some(1) => DType::F32,
            Some(0) => DType::F16,
            _ => DType::BF16,
        };
        for order in 0..24 {
            let mut left: Vec<(usize, autocast::Entered)> = Vec::new();
            for (place, enter) in enter.iter().enumerate() {
                left.push((place, enter()?));
            }
            let mut code = order;
            while !left.is_empty() {
                let open: Vec<usize> = left.iter().map(|(place, _)| *place).collect();
                assert_eq!(dtype()?, expected(&open), "order {order}, open {open:?}");
                let next = code % left.len();
                code /= left.len();
                drop(left.remove(next));
            }
            assert_eq!(state()?, start, "order {order}");
            assert!(autocast::is_cache_enabled());
            assert_eq!(autocast::dtype(DeviceType::Cuda)?, DType::F16);
        }
        Ok(())
    });
}

#[test]
fn a_panic_leaves_its_region() {
    within(|| {
        let x = ones(&[2, 2], DType::F32);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _on = cpu().enter().unwrap();
            panic!("in a region");
        }));
        assert!(panicked.is_err());
        assert_eq!(x.mm(&x)?.dtype(), DType::F32);
        assert_eq!(autocast::increment_nesting(), 1);
        assert_eq!(autocast::decrement_nesting(), 0);
        Ok(())
    });
}

#[test]
fn regions_are_refused_that_cannot_be() {
    within(|| {
        let error = cpu().dtype(DType::F32).enter().unwrap_err().to_string();
        assert!(error.contains("found float32 for `cpu`, expected bfloat16 or float16"), "{error}");
        let error = Region::new(DeviceType::Meta).enter().unwrap_err().to_string();
        assert!(error.contains("found the device type `meta`"), "{error}");
        let error = Region::new(DeviceType::Cuda).enter().unwrap_err().to_string();
        assert!(error.contains("a dispatcher without the layer for `cuda`"), "{error}");
        assert!(autocast::install(&Dispatcher::current()).is_err(), "it is there");
        autocast::ensure_installed(&Dispatcher::current(), DeviceType::Cpu)
    });
}

#[test]
fn other_threads_have_their_own_regions_or_take_over() {
    within(|| {
        let x = ones(&[2, 2], DType::F32);
        let _on = cpu().dtype(DType::F16).enter()?;
        let (dispatcher, context) = (Dispatcher::current(), ThreadContext::capture());
        std::thread::scope(|threads| {
            let own = threads.spawn(|| dispatcher.within(|| x.mm(&x).unwrap().dtype()));
            assert_eq!(own.join().unwrap(), DType::F32);
            let taken = threads.spawn(|| {
                context.within(|| {
                    let inner = autocast::within(DType::BF16, || x.mm(&x).unwrap().dtype());
                    (inner, x.mm(&x).unwrap().dtype())
                })
            });
            assert_eq!(taken.join().unwrap(), (DType::BF16, DType::F16));
        });
        assert_eq!(x.mm(&x)?.dtype(), DType::F16);
        Ok(())
    });
}

#[test]
fn weights_are_cast_once_while_they_are_the_same() {
    within(|| {
        let (x, w) = (ones(&[2, 2], DType::BF16), weight());
        let use_it = || x.mm(&w).map(drop);
        let twice = || use_it().and_then(|()| use_it());
        assert_eq!(casts(|| autocast::within(DType::BF16, twice))?, 1);
        assert_eq!(casts(|| cpu().dtype(DType::BF16).cached(false).enter().and_then(|_on| twice()))?, 2);
        let nested = || {
            use_it()?;
            autocast::within(DType::BF16, use_it)?;
            use_it()
        };
        assert_eq!(casts(|| autocast::within(DType::BF16, nested))?, 1, "the outermost region keeps them");
        let cleared = || {
            use_it().and_then(|()| {
                autocast::clear_cache();
                use_it()
            })
        };
        assert_eq!(casts(|| autocast::within(DType::BF16, cleared))?, 2);
        // What requires no gradient is no weight.
        let plain = ones(&[2, 2], DType::F32);
        assert_eq!(
            casts(|| autocast::within(DType::BF16, || x.mm(&plain).and_then(|_| x.mm(&plain)).map(drop)))?,
            2
        );
        Ok(())
    });
}

#[test]
fn a_weight_that_is_written_in_a_region_is_cast_anew() {
    within(|| {
        let (x, w) = (ones(&[2, 2], DType::F32), weight());
        autocast::within(DType::BF16, || {
            assert_eq!(x.mm(&w)?.to_dtype(DType::F32)?.to_vec::<f32>()?, [2.0; 4]);
            {
                let _off = GradMode::new(false);
                w.mul_(3)?;
            }
            assert_eq!(x.mm(&w)?.to_dtype(DType::F32)?.to_vec::<f32>()?, [6.0; 4]);
            Ok(())
        })
    });
}

#[test]
fn a_cast_without_recording_is_not_one_with_it() {
    within(|| {
        let (x, w) = (ones(&[2, 2], DType::F32), weight());
        let product = autocast::within(DType::BF16, || {
            autograd::no_grad(|| x.mm(&w))?;
            let recorded = x.mm(&w)?;
            assert!(!autograd::no_grad(|| x.mm(&w))?.requires_grad());
            Ok::<_, opgrid_core::Error>(recorded)
        })?;
        assert!(product.requires_grad());
        product.sum()?.backward()?;
        let grad = w.grad().unwrap();
        assert_eq!((grad.dtype(), grad.to_vec::<f32>()?), (DType::F32, vec![2.0; 4]));
        Ok(())
    });
}

#[test]
fn one_cast_serves_several_backward_passes() {
    within(|| {
        let (x, w) = (ones(&[2, 2], DType::F32), weight());
        let _on = cpu().dtype(DType::BF16).enter()?;
        for _ in 0..2 {
            x.mm(&w)?.sum()?.backward()?;
        }
        assert_eq!(w.grad().unwrap().to_vec::<f32>()?, [4.0; 4]);
        Ok(())
    });
}

#[test]
fn casts_do_not_outlive_the_region() {
    within(|| {
        let (x, w) = (ones(&[2, 2], DType::F32), weight());
        let weak = w.downgrade();
        autocast::within(DType::BF16, || x.mm(&w).map(drop))?;
        drop(w);
        assert!(Tensor::upgrade(&weak).is_none());
        Ok(())
    });
}

#[test]
fn checkpoints_run_again_as_they_ran() {
    within(|| {
        let (x, w) = (ones(&[2, 2], DType::F32), weight());
        let (seen, inner) = (Arc::new(std::sync::Mutex::new(Vec::new())), w.clone());
        let log = seen.clone();
        let y = autocast::within(DType::BF16, || {
            autograd::checkpoint(
                move |inputs| {
                    let product = inputs[0].mm(&inner)?;
                    log.lock().unwrap().push(product.dtype());
                    Ok(vec![product])
                },
                std::slice::from_ref(&x),
                Default::default(),
            )
        })?;
        y[0].sum()?.backward()?;
        assert_eq!(*seen.lock().unwrap(), [DType::BF16; 2]);
        assert_eq!(w.grad().unwrap().dtype(), DType::F32);
        Ok(())
    });
}

/// Transforms inside of a region and around one give what they give one by one.
#[test]
fn transforms_and_regions_nest_in_both_orders() {
    within(|| {
        let x = Tensor::from_slice(&[0.5f32, 1.5, 2.5, 3.5, 4.5, 5.5], [3, 2])?;
        let w = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
        let linear = |x: &Tensor| ops::Linear.call(x, &w, None);
        let loss = |x: &Tensor| linear(x)?.to_dtype(DType::F32)?.pow(2)?.sum();
        let on = || cpu().dtype(DType::BF16).enter();
        let exact = |tensor: &Tensor| tensor.to_dtype(DType::F64)?.to_vec::<f64>();

        let one_by_one = {
            let _on = on()?;
            linear(&x)?
        };
        assert_eq!(one_by_one.dtype(), DType::BF16);
        let inside = vmap(&x, |x| on().and_then(|_on| linear(x)))?;
        let around = on().and_then(|_on| vmap(&x, linear))?;
        for found in [inside, around] {
            assert_eq!((found.dtype(), exact(&found)?), (DType::BF16, exact(&one_by_one)?));
        }

        let expected = {
            let variable = x.detach()?;
            variable.requires_grad_(true)?;
            let _on = on()?;
            loss(&variable)?.backward()?;
            variable.grad().unwrap()
        };
        let inside = grad(&x, |x| on().and_then(|_on| loss(x)))?;
        let around = on().and_then(|_on| grad(&x, loss))?;
        let each = vmap(&x, |x| on().and_then(|_on| grad(x, loss)))?;
        let each_around = on().and_then(|_on| vmap(&x, |x| grad(x, loss)))?;
        for found in [inside, around, each, each_around] {
            assert_eq!((found.dtype(), exact(&found)?), (DType::F32, exact(&expected)?));
        }

        for found in [
            jvp(&[&x], &[&x], |x| on().and_then(|_on| Ok(vec![linear(&x[0])?])))?,
            on().and_then(|_on| jvp(&[&x], &[&x], |x| Ok(vec![linear(&x[0])?])))?,
        ] {
            assert_eq!(found.0[0].dtype(), DType::BF16);
            assert_eq!(exact(&found.1[0])?, exact(&one_by_one)?, "it is linear");
        }
        Ok(())
    });
}

/// A product of a matrix and a vector is in no list; on a batch it becomes one of matrices, which is, as in torch.
#[test]
fn batches_of_vectors_are_products_of_matrices() {
    within(|| {
        let (rows, w) = (ones(&[3, 2], DType::F32), ones(&[2, 2], DType::F32));
        let _on = cpu().dtype(DType::BF16).enter()?;
        assert_eq!(w.mv(&rows.select(0, 0)?)?.dtype(), DType::F32);
        assert_eq!(vmap(&rows, |x| w.mv(x))?.dtype(), DType::BF16);
        Ok(())
    });
}

operator! {
    pub Doubled = "strange::doubled(Tensor self) -> Tensor";
    pub Twice = "strange::twice(Tensor self) -> Tensor";
}

#[test]
fn users_operators_state_a_policy() {
    let subject = subject();
    let mut library = subject.dispatcher.library("strange");
    library.define(Doubled).kind(&kind::POINTWISE_UNARY).implicit(|x| x.mm(x)).cast_policy(CastPolicy::Full);
    library
        .define(Twice)
        .kind(&kind::POINTWISE_UNARY)
        .implicit(|x| x.mm(x))
        .cast_policy_at(DispatchKey::AutocastCpu, CastPolicy::To(DType::F16));
    let _strange = library.finish().unwrap();
    subject
        .dispatcher
        .within(|| {
            let x = ones(&[2, 2], DType::BF16);
            autocast::within(DType::BF16, || -> Result<()> {
                assert_eq!(Doubled.call(&x)?.dtype(), DType::F32, "autocast is off in its kernel");
                assert_eq!(Twice.call(&x)?.dtype(), DType::F16);
                Ok(())
            })
        })
        .unwrap();
}

#[test]
fn explanations_show_the_policy() {
    within(|| {
        let x = Value::from(&ones(&[2, 2], DType::F32));
        let mm = Dispatcher::current().find("aten::mm")?;
        let text =
            autocast::within(DType::BF16, || mm.explain(&[x.borrow(), x.borrow()]).map(|it| it.to_string()))?;
        assert!(text.contains("AutocastCPU") && text.contains("autocast: lower precision"), "{text}");
        Ok(())
    });
}

/// The list for accelerators, on a backend of a user: each has a region of its own, though they share a layer.
#[test]
fn accelerators_have_their_own_list() {
    assert_eq!(autocast::ACCELERATORS.iter().map(|(_, names)| names.len()).sum::<usize>(), 121);
    assert_eq!(autocast::CPU.iter().map(|(_, names)| names.len()).sum::<usize>(), 126);
    let subject = subject();
    let cuda = autocast::install_for(&subject.dispatcher, DeviceType::Cuda).unwrap();
    subject
        .dispatcher
        .within(|| -> Result<()> {
            let of = |key, name: &str| -> Result<String> {
                let kernel = subject.dispatcher.find(name)?.slot(key)?.kernel;
                Ok(kernel.and_then(|kernel| kernel.description).unwrap_or_default())
            };
            assert!(of(DispatchKey::AutocastCuda, "aten::exp")?.contains("autocast: float32"));
            assert!(of(DispatchKey::AutocastCuda, "aten::sum")?.contains("float32 by its argument `dtype`"));
            assert!(of(DispatchKey::AutocastCuda, "aten::binary_cross_entropy")?.contains("refused"));
            assert!(!of(DispatchKey::AutocastCpu, "aten::exp")?.contains("float32"));
            Ok(())
        })
        .unwrap();
    drop(cuda);
    let exp = subject.dispatcher.find("aten::exp").unwrap();
    assert!(exp.slot(DispatchKey::AutocastCuda).unwrap().fallthrough, "it is gone");
}
