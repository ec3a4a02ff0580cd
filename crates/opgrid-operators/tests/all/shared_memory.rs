//! Tensors that share memory with one in a graph, by each way to come to one: what is written to them is in the graph, or the
//! write is refused. (That every operator for views is recorded is a check of `opgrid-testing`.)

use opgrid_core::{DType, DispatchKey, Result, excluding, inference_mode};
use opgrid_tensor::layers::autograd::{self, no_grad};
use opgrid_tensor::{Geometry, Tensor, ops};

fn leaf() -> Tensor {
    let x = Tensor::from_slice(&[1.0f64, 2.0, 3.0, 4.0], &[4]).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

fn triple(x: &Tensor) -> Result<()> {
    ops::MulInplaceScalar.call(x, 3.into()).map(drop)
}

/// What becomes of a write to a tensor that `take` takes of a base: the gradient of the leaf behind the base, or the error.
fn written(take: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Vec<f64>, String> {
    let x = leaf();
    let base = x.mul(1).unwrap();
    let other = take(&base).unwrap();
    triple(&other).map_err(|error| error.to_string())?;
    base.sum().unwrap().backward().map_err(|error| error.to_string())?;
    Ok(x.grad().unwrap().to_vec().unwrap())
}

#[test]
fn each_way_to_share_memory_is_recorded_or_refused() {
    let half = Geometry::strided(&[2], &[1], 0).unwrap();
    type Way<'a> = (&'a str, &'a dyn Fn(&Tensor) -> Result<Tensor>, Result<[f64; 4], &'a str>);
    let ways: [Way<'_>; 12] = [
        ("a view", &|x| x.narrow(0, 0, 2), Ok([3.0, 3.0, 1.0, 1.0])),
        ("a view of a view", &|x| x.view(&[2, 2])?.select(0, 1), Ok([1.0, 1.0, 3.0, 3.0])),
        (
            "a complex view",
            &|x| ops::ViewAsComplex.call(&x.view(&[2, 2])?)?.select(0, 0),
            Ok([3.0, 3.0, 1.0, 1.0]),
        ),
        ("without recording", &|x| no_grad(|| x.narrow(0, 0, 2)), Err("without recording")),
        (
            "a recorded view of one without recording",
            &|x| no_grad(|| x.narrow(0, 0, 3))?.narrow(0, 0, 2),
            Ok([3.0, 3.0, 1.0, 1.0]),
        ),
        (
            "in inference mode",
            &|x| {
                let _inference = inference_mode();
                x.narrow(0, 0, 2)
            },
            Err("without recording"),
        ),
        (
            "below the layer of gradients",
            &|x| excluding(DispatchKey::AutogradCpu, || x.narrow(0, 0, 2)),
            Err("without recording"),
        ),
        ("by geometry, without a dispatch", &|x| x.view_as(half.clone()), Err("without recording")),
        ("of another dtype", &|x| ops::ViewDtype.call(x, DType::I64), Err("another dtype")),
        (
            "given back by a function with a derivative of its own",
            &|x| {
                let forward = || Ok((vec![x.narrow(0, 0, 2)?], vec![]));
                let results = autograd::custom("part", &[x], forward, |grads, _| {
                    Ok(vec![
                        grads
                            .for_result(0)
                            .map(|grad| ops::ConstantPadNd.call(grad, &[0, 2], 0.into()))
                            .transpose()?,
                    ])
                })?;
                Ok(results[0].clone())
            },
            Err("function"),
        ),
        ("detached", &|x| x.detach(), Ok([1.0; 4])),
        ("a copy", &|x| ops::CloneTensor.call(x, None), Ok([1.0; 4])),
    ];
    for (name, take, expected) in ways {
        match (written(take), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
            (Err(found), Err(words)) => assert!(found.contains(words), "{name}: {found}"),
            (found, expected) => panic!("{name}: found {found:?}, expected {expected:?}"),
        }
    }
}

/// A view of another dtype, and one that was taken without recording, hold what was written to their base.
#[test]
fn what_does_not_follow_its_base_is_not_used_as_if_it_did() -> Result<()> {
    let x = leaf();
    let base = x.mul(1)?;
    let unrecorded = no_grad(|| base.narrow(0, 0, 2))?;
    triple(&base)?;
    let error = unrecorded.sum().unwrap_err();
    assert!(error.message().contains("without recording"), "{error}");
    assert_eq!(no_grad(|| unrecorded.sum())?.item()?.to_f64()?, 9.0);
    Ok(())
}

/// A leaf is not written by a view either, however that was taken.
#[test]
fn a_leaf_is_not_written_through_views() {
    for take in [|x: &Tensor| x.narrow(0, 0, 2), |x: &Tensor| no_grad(|| x.narrow(0, 0, 2))] {
        let x = leaf();
        let view = take(&x).unwrap();
        assert!(triple(&view).is_err());
        assert_eq!(x.to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert!(no_grad(|| triple(&view)).is_ok());
    }
}

/// What an operator writes to other arguments than its first one has no derivative, and is not taken for what was there before.
#[test]
fn writes_to_other_arguments_are_in_the_graph() -> Result<()> {
    let x = leaf();
    let [mean, variance] = [0, 2].map(|start| x.mul(1).and_then(|x| x.narrow(0, start, 2)));
    let (mean, variance) = (mean?, variance?);
    let rows = Tensor::from_slice(&[1.0f64, 2.0, 3.0, 5.0], &[2, 2])?;
    let call = |mean: &Tensor, variance: &Tensor| {
        ops::NativeBatchNormLegit.call(&rows, None, None, mean, variance, true, 0.5, 1e-5).map(drop)
    };
    let error = call(&mean, &variance).unwrap_err();
    assert!(error.message().contains("requires a gradient and is written"), "{error}");
    assert_eq!(mean.to_vec::<f64>()?, [1.0, 2.0]);
    call(&mean.detach()?, &variance.detach()?)?;
    assert_eq!(mean.to_vec::<f64>()?, [1.5, 2.75]);
    Ok(())
}
