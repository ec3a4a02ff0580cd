//! Whose memory gradients have, whose gradient a tensor retains, and what hooks may give.

use opgrid_core::{DType, Result};
use opgrid_tensor::layers::autograd::{self, BackwardOptions, no_grad};
use opgrid_tensor::{Tensor, ops};

const RECORDED: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: true };
const KEEPS: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };

fn leaf(numbers: &[f64]) -> Tensor {
    let x = Tensor::from_slice(numbers, &[numbers.len() as i64]).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

fn grad_of(tensor: &Tensor) -> Vec<f64> {
    tensor.grad().expect("it has a gradient").to_vec().unwrap()
}

/// Writes to a gradient, which must change nothing else.
fn spoil(tensor: &Tensor) -> Result<()> {
    no_grad(|| tensor.grad().expect("it has a gradient").fill_(-77.0).map(drop))
}

#[test]
fn leaves_share_no_gradient_where_the_pass_is_recorded() -> Result<()> {
    let (a, b) = (leaf(&[1.0, 2.0]), leaf(&[3.0, 4.0]));
    let given = Tensor::from_slice(&[1.0, 1.0], &[2])?;
    autograd::backward(&[&a.add(&b)?], &[Some(given.clone())], None, RECORDED)?;
    spoil(&a)?;
    assert_eq!(grad_of(&b), [1.0, 1.0]);
    assert_eq!(given.to_vec::<f64>()?, [1.0, 1.0]);
    // The one that was there before is not written either.
    let before = b.grad().unwrap();
    autograd::backward(&[&b.mul(3)?.sum()?], &[], None, RECORDED)?;
    assert_eq!((before.to_vec::<f64>()?, grad_of(&b)), (vec![1.0; 2], vec![4.0; 2]));
    Ok(())
}

#[test]
fn a_gradient_that_repeats_one_element_is_written_out() -> Result<()> {
    for options in [RECORDED, KEEPS] {
        let x = leaf(&[1.0, 2.0, 3.0]);
        autograd::backward(&[&x.sum()?], &[], None, options)?;
        assert_eq!(x.grad().unwrap().strides(), [1]);
        no_grad(|| x.grad().unwrap().select(0, 0)?.fill_(9.0).map(drop))?;
        assert_eq!(grad_of(&x), [9.0, 1.0, 1.0]);
    }
    Ok(())
}

#[test]
fn what_is_asked_for_by_name_is_its_own_too() -> Result<()> {
    let (a, b) = (leaf(&[1.0]), leaf(&[2.0]));
    let sum = a.add(&b)?;
    for options in [RECORDED, KEEPS] {
        a.set_grad(None)?;
        b.set_grad(None)?;
        autograd::backward(&[&sum], &[], Some(&[&a, &b]), options)?;
        spoil(&a)?;
        assert_eq!(grad_of(&b), [1.0]);
    }
    Ok(())
}

#[test]
fn a_retained_gradient_is_that_of_what_the_tensor_holds_at_the_end() -> Result<()> {
    type Write = fn(&Tensor) -> Result<()>;
    let writes: [(&str, Write, f64); 3] = [
        ("nothing", |_| Ok(()), 1.0),
        ("a product", |y| ops::MulInplaceScalar.call(y, 5.into()).map(drop), 5.0),
        (
            "two products, one of them by a view",
            |y| {
                ops::MulInplaceScalar.call(y, 5.into())?;
                ops::MulInplaceScalar.call(&y.narrow(0, 0, 1)?, 2.into()).map(drop)
            },
            10.0,
        ),
    ];
    for (name, write, of_leaf) in writes {
        let x = leaf(&[2.0]);
        let y = x.mul(1)?;
        y.retain_grad()?;
        write(&y)?;
        y.add(1)?.sum()?.backward()?;
        assert_eq!((grad_of(&y), grad_of(&x)), (vec![1.0], vec![of_leaf]), "{name}");
    }
    Ok(())
}

#[test]
fn retained_gradients_add_up_and_are_not_those_that_go_on() -> Result<()> {
    let x = leaf(&[2.0, 3.0]);
    let y = x.mul(2)?;
    y.retain_grad()?;
    let sum = y.sum()?;
    autograd::backward(&[&sum], &[], None, KEEPS)?;
    assert_eq!(y.grad().unwrap().strides(), [1]);
    autograd::backward(&[&sum], &[], None, KEEPS)?;
    assert_eq!((grad_of(&y), grad_of(&x)), (vec![2.0; 2], vec![4.0; 2]));
    spoil(&y)?;
    autograd::backward(&[&sum], &[], None, KEEPS)?;
    assert_eq!(grad_of(&x), [6.0; 2]);
    Ok(())
}

#[test]
fn gradients_of_hooks_are_like_those_that_came() -> Result<()> {
    let other = |sizes: &[i64], dtype: DType| ops::Zeros.call(sizes, Some(dtype), None, None, None);
    let cases: [(&str, Tensor, &str); 3] = [
        (
            "shape",
            other(&[2, 2], DType::F64)?,
            "shape [2, 2], float64 on cpu, expected shape [3], float64 on cpu",
        ),
        ("dtype", other(&[3], DType::F32)?, "shape [3], float32 on cpu, expected shape [3], float64 on cpu"),
        ("device", Tensor::zeros(&[3], DType::F64, opgrid_core::Device::META)?, "float64 on meta"),
    ];
    for (name, wrong, message) in cases {
        for way in ["of a tensor", "before a node", "behind a node"] {
            let x = leaf(&[1.0, 2.0, 3.0]);
            let y = x.mul(2)?;
            let node = y.origin()?.expect("it was computed");
            let given = wrong.clone();
            let _hook = match way {
                "of a tensor" => y.register_hook(move |_| Ok(Some(given.clone())))?,
                "before a node" => node.register_prehook(move |_| Ok(Some(vec![Some(given.clone())]))),
                _ => node.register_hook(move |_| Ok(Some(vec![Some(given.clone())]))),
            };
            let error = y.sum()?.backward().unwrap_err();
            assert!(error.message().contains(message), "{name} {way}: {error}");
            assert!(x.grad().is_none(), "{name} {way}");
        }
    }
    Ok(())
}

/// Each of these was an index out of range, or a gradient that another operator refused.
#[test]
fn derivatives_are_asked_for_after_the_arguments_were_checked() -> Result<()> {
    let x = Tensor::from_slice(&[1.0; 4], &[2, 2])?;
    let vector = leaf(&[1.0; 3]);
    let message = |found: Result<()>| found.unwrap_err().to_string();
    assert!(
        message(ops::AddbmmInplace.call(&x, &x, &vector, 1.into(), 1.into())).contains("three dimensions")
    );
    assert!(
        message(ops::BaddbmmInplace.call(&x, &x, &vector, 1.into(), 1.into())).contains("three dimensions")
    );
    let refused = message(ops::AddmmInplace.call(&x, &x, &vector, 1.into(), 1.into()));
    assert!(refused.contains("expected two matrices"), "{refused}");
    assert_eq!(x.to_vec::<f64>()?, [1.0; 4]);
    Ok(())
}
