//! The small layers: gradients against differences, batches against loops; rules by kind and of operators.

use opgrid_core::{DType, Dispatcher, ErrorKind, Registration, Result, SlowPath, operator, stats, strict};
use opgrid_kernels::elementwise;
use opgrid_tensor::families::{DefineFamily, DefineKind, Family, ShapeRule, ViewRule, kind, result_specs};
use opgrid_tensor::layers::{autograd, vmap};
use opgrid_tensor::{Tensor, with_dtype};

/// A dispatcher with the operators and the layers.
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
    ];
    Subject { dispatcher, _registrations: registrations }
}

fn numbers(sizes: &[i64]) -> Tensor {
    let count = sizes.iter().product::<i64>();
    let numbers: Vec<f64> = (0..count).map(|at| ((at * 37 + 11) % 23) as f64 / 8.0 - 1.3).collect();
    Tensor::from_slice(&numbers, sizes).unwrap()
}

fn variable(x: &Tensor) -> Tensor {
    let variable = detached(x);
    variable.requires_grad_(true).unwrap();
    variable
}

fn detached(x: &Tensor) -> Tensor {
    x.view_as(x.geometry().clone()).unwrap()
}

/// The gradients of a result of one element; zeros where it does not depend on a tensor.
fn gradients(result: &Tensor, by: &[&Tensor]) -> Result<Vec<Tensor>> {
    let found = autograd::grad(&[result], by, &[], Default::default())?;
    let zeros = |x: &Tensor| Tensor::zeros(x.sizes(), x.dtype(), x.device());
    found.into_iter().zip(by).map(|(grad, x)| grad.map_or_else(|| zeros(x), Ok)).collect()
}

type Function = fn(&[Tensor]) -> Result<Tensor>;

/// Functions of tensors of some sizes, by name.
const FUNCTIONS: &[(&str, &[&[i64]], Function)] = &[
    ("add, stretched and scaled", &[&[2, 3], &[3]], |x| x[0].add_with(&x[1], 3)),
    ("add of a number", &[&[3]], |x| x[0].add(2)),
    ("mul, stretched both ways", &[&[2, 1], &[3]], |x| x[0].mul(&x[1])),
    ("mul of one by itself", &[&[4]], |x| x[0].mul(&x[0])),
    ("exp", &[&[2, 2]], |x| x[0].exp()),
    ("relu", &[&[5]], |x| x[0].relu()),
    ("mm", &[&[2, 3], &[3, 4]], |x| x[0].mm(&x[1])),
    ("sum", &[&[2, 3]], |x| x[0].sum()),
    ("sum over one", &[&[2, 3]], |x| x[0].sum_dim(&[-1], false)),
    ("sum over one, kept", &[&[2, 3]], |x| x[0].sum_dim(&[0], true)?.mul(&x[0])),
    ("select", &[&[3, 2]], |x| x[0].select(0, -1)),
    ("select of a select", &[&[3, 2, 2]], |x| x[0].select(1, 0)?.select(0, 2)?.exp()),
    ("slice, transpose, unsqueeze, view", &[&[4, 2]], |x| {
        x[0].slice(0, 1, 4, 2)?.transpose(0, 1)?.unsqueeze(-1)?.exp()
    }),
    ("expand", &[&[3, 1]], |x| x[0].expand(&[2, 3, 4])?.exp()),
    ("a long way", &[&[2, 3], &[3, 2]], |x| {
        let y = x[0].mm(&x[1])?.relu()?;
        y.exp()?.add_with(&y, 2)?.sum_dim(&[1], true)?.mul(&y)
    }),
];

#[test]
fn gradients_are_those_of_small_differences() -> Result<()> {
    let subject = subject();
    let total = |function: Function, x: &[Tensor]| function(x)?.sum()?.to_vec::<f64>();
    subject.dispatcher.within(|| {
        for (name, sizes, function) in FUNCTIONS {
            let x: Vec<Tensor> = sizes.iter().map(|sizes| numbers(sizes)).collect();
            let variables: Vec<Tensor> = x.iter().map(variable).collect();
            let result = function(&variables)?.sum()?;
            let grads = gradients(&result, &variables.iter().collect::<Vec<_>>())?;
            for (which, grad) in grads.iter().enumerate() {
                assert_eq!((grad.sizes(), grad.dtype()), (x[which].sizes(), DType::F64), "{name}");
                let found = grad.to_vec::<f64>()?;
                for (at, found) in found.iter().enumerate() {
                    let moved = |by: f64| -> Result<f64> {
                        let mut elements = x[which].to_vec::<f64>()?;
                        elements[at] += by;
                        let mut x = x.clone();
                        x[which] = Tensor::from_slice(&elements, x[which].sizes())?;
                        Ok(total(*function, &x)?[0])
                    };
                    let expected = (moved(1e-6)? - moved(-1e-6)?) / 2e-6;
                    assert!(
                        (found - expected).abs() < 1e-5 * expected.abs().max(1.0),
                        "{name}: {found}, {expected}"
                    );
                }
            }
        }
        Ok(())
    })
}

#[test]
fn batches_are_what_a_loop_gives() -> Result<()> {
    let subject = subject();
    subject.dispatcher.within(|| {
        for (name, sizes, function) in FUNCTIONS {
            for which in 0..sizes.len() {
                // One argument is a batch, the others are not; then all are.
                for all in [false, true] {
                    let is_batch = |at: usize| all || at == which;
                    let x: Vec<Tensor> = sizes
                        .iter()
                        .enumerate()
                        .map(|(at, sizes)| {
                            numbers(&if is_batch(at) { [&[2], *sizes].concat() } else { sizes.to_vec() })
                        })
                        .collect();
                    let batches: Vec<&Tensor> =
                        x.iter().enumerate().filter(|(at, _)| is_batch(*at)).map(|(_, x)| x).collect();
                    let found = vmap::over(&batches, |examples| {
                        let mut examples = examples.iter();
                        let args = x.iter().enumerate();
                        let args = args.map(|(at, x)| {
                            if is_batch(at) {
                                examples.next().expect("one for each").clone()
                            } else {
                                x.clone()
                            }
                        });
                        function(&args.collect::<Vec<_>>())
                    })?;
                    let each = (0..2).map(|example| {
                        let args = x.iter().enumerate();
                        let args = args
                            .map(|(at, x)| if is_batch(at) { x.select(0, example) } else { Ok(x.clone()) });
                        function(&args.collect::<Result<Vec<_>>>()?)
                    });
                    let expected = Tensor::stack(&each.collect::<Result<Vec<_>>>()?, 0)?;
                    assert_eq!(found.sizes(), expected.sizes(), "{name}");
                    let close = found.allclose(&expected, 1e-12, 1e-12)?;
                    assert!(close, "{name}: {found} {expected}");
                }
            }
        }
        Ok(())
    })
}

#[test]
fn every_function_has_rules_and_none_is_done_one_by_one() -> Result<()> {
    let subject = subject();
    subject.dispatcher.within(|| {
        for (name, sizes, function) in FUNCTIONS {
            let x: Vec<Tensor> = sizes.iter().map(|sizes| numbers(&[&[3], *sizes].concat())).collect();
            let result = strict(|| vmap::over(&x.iter().collect::<Vec<_>>(), *function));
            assert!(result.is_ok(), "{name}: {}", result.unwrap_err());
        }
        // Without a rule it is counted, or refused.
        let x = numbers(&[3, 4]);
        let places = vmap::over(&[&x], |x| x[0].nonzero())?;
        assert_eq!(places.to_vec::<i64>()?, [0, 1, 2, 3].repeat(3));
        let counted = stats().slow_paths.iter().any(|counted| counted.path == SlowPath::BATCH_LOOP);
        assert!(counted);
        let error = strict(|| vmap::over(&[&x], |x| x[0].nonzero())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SlowPath);
        assert!(error.message().contains("batching rule"), "{error}");
        Ok(())
    })
}

#[test]
fn batches_nest_and_gradients_go_through_them() -> Result<()> {
    let subject = subject();
    subject.dispatcher.within(|| {
        let (x, y) = (numbers(&[2, 3]), numbers(&[4, 3]));
        let table = vmap::over(&[&x], |x| vmap::over(&[&y], |y| x[0].mul(&y[0])?.sum()))?;
        assert!(table.allclose(&x.mm(&y.t()?)?, 1e-12, 1e-12)?);

        let x = variable(&numbers(&[3, 2]));
        let total = vmap::over(&[&x], |x| x[0].exp()?.mul(&x[0])?.sum())?.sum()?;
        let grads = gradients(&total, &[&x])?;
        let expected = x.exp()?.add(&x.exp()?.mul(&x)?)?;
        assert!(grads[0].allclose(&detached(&expected), 1e-12, 1e-12)?);
        Ok(())
    })
}

#[test]
fn batches_that_cannot_be_are_refused() -> Result<()> {
    let subject = subject();
    let (x, longer, scalar) = (numbers(&[2, 3]), numbers(&[4, 3]), numbers(&[]));
    subject.dispatcher.within(|| {
        for batches in [&[][..], &[&x, &longer], &[&scalar]] {
            let error = vmap::over(batches, |_| panic!("not called")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        }
        // What one example refuses is refused, though the batch would fit.
        let vectors = vmap::over(&[&x], |x| x[0].mm(&x[0])).unwrap_err();
        assert!(vectors.message().contains("aten::mm"), "{vectors}");
        let misfit = vmap::over(&[&numbers(&[3, 3])], |x| x[0].add(&numbers(&[2]))).unwrap_err();
        assert!(misfit.message().contains("aten::add.Tensor on a batch"), "{misfit}");
        // A tensor from outside cannot take what differs from example to example.
        let outside = numbers(&[3]);
        assert!(vmap::over(&[&x], |x| outside.add_(&x[0]).cloned()).is_err());
        assert_eq!(outside.to_vec::<f64>()?, numbers(&[3]).to_vec::<f64>()?);
        // One from inside can.
        let changed = numbers(&[2, 3]);
        vmap::over(&[&changed], |x| x[0].add_(&x[0].clone()).cloned())?;
        assert_eq!(changed.to_vec::<f64>()?, x.add(&x)?.to_vec::<f64>()?);
        // Without examples there is still a result.
        let none = vmap::over(&[&numbers(&[0, 3])], |x| x[0].exp()?.sum())?;
        assert_eq!(none.sizes(), [0]);
        Ok(())
    })
}

operator! {
    pub Cube = "strange::cube(Tensor self) -> Tensor", in_place, out;
    pub Weighted = "strange::weighted(Tensor self, Tensor weight) -> Tensor";
}

const CUBE: Family<Cube> = Family::new(Cube, &kind::POINTWISE_UNARY, |x| x.spec().cloned());

fn cube(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => elementwise::unary::<T, T>(out, input, |x| x * x * x))
}

#[test]
fn a_strangers_operator_gets_what_its_kind_has() -> Result<()> {
    use autograd::DefineDerivative;
    let subject = subject();
    let mut library = subject.dispatcher.library("strange");
    library
        .family(&CUBE)
        .cpu(cube)
        .derivative(|d, (x,)| d.by(x, [x], |grad, [x]| grad.mul(&x.mul(x)?.mul(3)?)));
    library.define(Weighted).kind(&kind::POINTWISE_BINARY).implicit(|x, weight| x.mul(weight));
    let _registration = library.finish()?;
    subject.dispatcher.within(|| {
        let x = numbers(&[2, 3]);
        let cubes = strict(|| vmap::over(&[&x], |x| Cube.call(&x[0])))?;
        assert!(cubes.allclose(&x.mul(&x)?.mul(&x)?, 1e-12, 1e-12)?);
        let variable = variable(&x);
        let grads = gradients(&Cube.call(&variable)?.sum()?, &[&variable])?;
        assert!(grads[0].allclose(&x.mul(&x)?.mul(3)?, 1e-12, 1e-12)?);
        // A composite inherits what its parts have.
        let grads = gradients(&Weighted.call(&variable, &x)?.sum()?, &[&variable])?;
        assert_eq!(grads[0].to_vec::<f64>()?, x.to_vec::<f64>()?);

        let cube = subject.dispatcher.find("strange::cube")?;
        let listed = cube.columns()?;
        let names: Vec<&str> = listed.iter().map(|column| column.name).collect();
        assert!(
            ["kind", "forms", "shape rule", "derivative", "batching rule"]
                .iter()
                .all(|name| names.contains(name))
        );
        let x = opgrid_core::Value::from(&x);
        assert_eq!(result_specs(&cube, &[x.borrow()])?[0].sizes(), [2, 3]);
        Ok(())
    })
}

#[test]
fn views_are_replayed_and_inverted() -> Result<()> {
    let subject = subject();
    subject.dispatcher.within(|| {
        let x = numbers(&[3, 4]);
        for (name, args) in [
            ("aten::select.int", vec![1.into(), 2.into()]),
            ("aten::slice.Tensor", vec![1.into(), 1.into(), 4.into(), 2.into()]),
            ("aten::transpose.int", vec![0.into(), 1.into()]),
            ("aten::view", vec![vec![2, 6].into()]),
            ("aten::as_strided", vec![vec![2, 2].into(), vec![5, 1].into(), 1.into()]),
        ] {
            let operator = subject.dispatcher.find(name)?;
            let args: Vec<opgrid_core::Value> = std::iter::once((&x).into()).chain(args).collect();
            let borrowed: Vec<_> = args.iter().map(opgrid_core::Value::borrow).collect();
            let view = Tensor::try_from(operator.call_values(args.clone())?.remove(0))?;
            let rule = operator.column::<ViewRule>()?.expect("a view has a rule");
            let other = x.mul(2)?;
            let replayed = rule.replay(&other, &borrowed, 0)?;
            assert_eq!(replayed.to_vec::<f64>()?, view.mul(2)?.to_vec::<f64>()?, "{name}");
            let changed = view.mul(0)?;
            let inverse = rule.inverse(&x, &changed, &borrowed, 0)?;
            assert_eq!(
                rule.replay(&inverse, &borrowed, 0)?.to_vec::<f64>()?,
                changed.to_vec::<f64>()?,
                "{name}"
            );
            let touched = inverse.ne(&x)?.sum()?.to_vec::<i64>()?[0];
            assert!(touched <= view.numel(), "{name}: {touched}");
        }
        // A view of the memory says nothing of another tensor.
        let rule = subject.dispatcher.find("aten::as_strided")?.column::<ViewRule>()?.unwrap();
        let turned = x.t()?;
        let size = opgrid_core::Value::from(vec![2i64]);
        let args = [opgrid_core::ValueRef::NONE, size.borrow(), size.borrow(), opgrid_core::ValueRef::NONE];
        assert!(rule.replay(&turned, &args, 0).unwrap_err().message().contains("contiguous"));
        Ok(())
    })
}

#[test]
fn without_layers_nothing_of_them_is_seen() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    let x = variable(&numbers(&[2]));
    dispatcher.within(|| {
        assert!(!x.exp()?.requires_grad());
        let error = vmap::over(&[&x], |x| x[0].exp()).unwrap_err();
        assert!(error.message().starts_with("vmap: found a dispatcher without"), "{error}");
        Ok::<_, opgrid_core::Error>(())
    })?;
    let add = dispatcher.find("aten::add.Tensor")?;
    assert!(add.column::<ShapeRule>()?.is_some() && add.column::<vmap::BatchingRule>()?.is_none());
    let registration = opgrid_transforms::install(&dispatcher)?;
    assert!(add.column::<vmap::BatchingRule>()?.is_some());
    assert!(opgrid_transforms::install(&dispatcher).is_err(), "there is one at a time");
    drop(registration);
    assert!(add.column::<vmap::BatchingRule>()?.is_none());
    Ok(())
}
