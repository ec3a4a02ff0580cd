//! One-line programs as users of candle, burn, tch and ndarray write them. Those that are written otherwise here stand at the end,
//! with the reason; `docs/from/candle.md` and `docs/from/tch.md` lead to them.
#![allow(clippy::useless_vec, reason = "lines as people write them")]

use opgrid::nn::{Conv2d, Linear, Module, ReLU, Sequential, StateDict};
use opgrid::prelude::*;

fn matrix() -> Tensor {
    tensor![[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]].unwrap()
}

fn elements(x: &Tensor) -> Vec<f32> {
    x.to_vec().unwrap()
}

#[test]
fn new_tensors() -> Result<()> {
    let n: usize = 3;
    assert_eq!(Tensor::zeros((2, 3), DType::F32, &Device::CPU)?.sizes(), [2, 3]);
    assert_eq!(Tensor::zeros(&[n, n], DType::F32, Device::CPU)?.shape(), [n, n]);
    assert_eq!(Tensor::new(&[[1f32, 2.]], &Device::CPU)?.sizes(), [1, 2]);
    assert_eq!(Tensor::from_vec(vec![1f32; 6], &[2, 3])?.sizes(), [2, 3]);
    assert_eq!(elements(&Tensor::from_slice(&vec![7f32; 6], &[2, 3])?.clamp(0.0, 1.0)?), [1.0; 6]);
    assert_eq!(Tensor::arange(0, 10, 1)?.reshape((2, 5))?.sizes(), [2, 5]);
    assert!(
        Tensor::randint(10, &[3], DType::I64, Device::CPU)?
            .lt(10)?
            .all()?
            .to_scalar::<opgrid::array::Bool>()?
            .is_true()
    );
    assert_eq!(matrix().zeros_like()?.sizes(), [2, 3]);
    let literals = || -> std::result::Result<String, Box<dyn std::error::Error>> {
        let t: Tensor = tensor![[1., 2.], [3., 4.]]?;
        Ok(format!("{t}"))
    };
    assert_eq!(literals().unwrap(), "tensor([[1., 2.],\n        [3., 4.]])");
    Ok(())
}

#[test]
fn elements_and_sizes() -> Result<()> {
    let x = matrix();
    assert_eq!(x.to_vec2::<f32>()?, [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]);
    assert_eq!(x.i((0, 1))?.to_scalar::<f32>()?, -2.0);
    assert_eq!(x.dims2()?, (2, 3));
    assert!(x.dims3().unwrap_err().to_string().contains("2 dimensions with sizes [2, 3], expected 3"));
    let rows: usize = x.shape()[0];
    assert_eq!(rows, 2);
    let sum = x.sum()?;
    assert_eq!(f64::try_from(&sum)?, 5.0);
    assert_eq!(sum.item()?.to_f32()?, 5.0);
    assert_eq!(Vec::<f32>::try_from(&x)?.len(), 6);
    assert!(f64::try_from(&x).is_err());
    Ok(())
}

#[test]
fn arithmetic() -> Result<()> {
    let (x, y) = (matrix(), matrix());
    let (x, y) = (&x, &y);
    assert!(x.add(y)?.equal(&(x * 2)?)?);
    assert!(x.add(&y)?.equal(&x.mul(2)?)?);
    assert_eq!(elements(&((x * x + x)? / 2.0)?), elements(&x.pow(2)?.add(x)?.div(2)?));
    assert_eq!(elements(&x.pow(2)?), [1.0, 4.0, 9.0, 16.0, 25.0, 36.0]);
    let filled = x.masked_fill(&x.gt(0.5)?, f64::NEG_INFINITY)?;
    assert_eq!(elements(&filled)[..2], [f32::NEG_INFINITY, -2.0]);
    assert_eq!(elements(&Tensor::where_(&x.gt(0)?, x, &x.zeros_like()?)?)[..2], [1.0, 0.0]);
    assert!(!x.gt(y)?.any()?.to_scalar::<opgrid::array::Bool>()?.is_true());
    assert_eq!(x.to(DType::BF16)?.matmul(&x.to(DType::BF16)?.t()?)?.sizes(), [2, 2]);
    Ok(())
}

#[test]
fn reductions_and_choices() -> Result<()> {
    let x = &matrix();
    assert_eq!(x.mean_dim(-1, true)?.sizes(), [2, 1]);
    assert_eq!(x.sum_dim((0, 1), false)?.item()?.to_f64()?, 5.0);
    assert_eq!(x.softmax(-1)?.argmax(-1)?.to_vec::<i64>()?, [2, 1]);
    let (values, indices): (Tensor, Tensor) = x.topk(2)?;
    assert_eq!((elements(&values), indices.to_vec::<i64>()?), (vec![3.0, 1.0, 5.0, 4.0], vec![2, 0, 1, 0]));
    assert!(x.abs()?.multinomial(1)?.lt(3)?.all()?.to_scalar::<opgrid::array::Bool>()?.is_true());
    assert_eq!(x.index_select(0, &tensor![1, 0]?)?.sizes(), [2, 3]);
    Ok(())
}

#[test]
fn views() -> Result<()> {
    let x = &matrix();
    assert_eq!(x.i((.., 1..3))?.sizes(), [2, 2]);
    assert_eq!(x.slice(0, 1, 3, 1)?.sizes(), [1, 3]);
    assert_eq!(x.view(&[-1, 2])?.permute(&[1, 0])?.contiguous()?.sizes(), [2, 3]);
    assert_eq!(x.chunk(2, 0)?.len(), 2);
    assert_eq!(Tensor::cat(&[x, x], 0)?.sizes(), [4, 3]);
    assert_eq!(x.unsqueeze(0)?.squeeze(0)?.sizes(), [2, 3]);
    Ok(())
}

#[test]
fn networks() -> Result<()> {
    let (x, n): (&Tensor, usize) = (&matrix(), 3);
    assert_eq!(opgrid::nn::functional::softmax(x, -1)?.sizes(), [2, 3]);
    assert_eq!(Linear::new(n, n)?.weight.shape(), [n, n]);
    assert_eq!(Conv2d::new(1, 16, 3)?.padding(1).weight.shape(), [16, 1, 3, 3]);
    let net = Sequential::new().then(Linear::new(3, 3)?).then(ReLU).then(Linear::new(3, 1)?);
    assert_eq!(net.forward(x)?.sizes(), [2, 1]);
    assert_eq!(x.dropout(0.1, true)?.sizes(), x.gelu()?.sizes());
    let linear = Linear::new(3, 1)?;
    linear.to(DType::BF16)?;
    assert_eq!(linear.weight.dtype(), DType::BF16);
    let y = matrix();
    y.requires_grad_(true)?;
    y.norm()?.sqrt()?.backward()?;
    assert_eq!(y.grad().unwrap().detach()?.sizes(), [2, 3]);
    Ok(())
}

/// What the other libraries write and this one does not take, each beside the form that it takes.
#[test]
fn idioms_that_have_another_form_here() -> Result<()> {
    let x = matrix();
    // candle's `x.sum(1)`: `sum` is torch's sum of all elements, as `mean` and `mean_dim` are two methods.
    assert_eq!(x.sum_dim(1, false)?.sizes(), [2]);
    // `module.save(path)` of a `dyn Module`: a method that takes any path cannot be called on a trait object.
    let path = std::env::temp_dir().join(format!("opgrid-idioms-{}.safetensors", std::process::id()));
    let (linear, path) = (Linear::new(3, 1)?, path.to_str().unwrap());
    let module: &dyn Module = &linear;
    module.state_dict()?.write(path)?;
    module.load_state_dict(&StateDict::read(path)?)?;
    std::fs::remove_file(path).unwrap();
    // candle's `x.broadcast_add(&x)`: all operators broadcast.
    x.add(&x.i(0)?)?;
    // candle's `Device::Cpu`: devices are values, written as the compiler suggests.
    assert_eq!(Device::CPU.to_string(), "cpu");
    // candle's `Tensor::randn(mean, std, shape, device)`: torch's arguments are sizes, dtype and device.
    Tensor::randn((2, 3), DType::F32, Device::CPU)?;
    // `"cuda:0".into()`: a text may be no device, and `From` cannot fail.
    let device: Device = "cuda:0".parse()?;
    assert_eq!(device.to_string(), "cuda:0");
    // `for row in x`: taking a row may fail, which an iterator of tensors cannot say.
    for row in x.unbind(0)? {
        assert_eq!(row.sizes(), [3]);
    }
    // `*x += 1.0`: the assignment of Rust cannot fail, and needs `&mut`.
    x.add_(1.0)?;
    // `x == x`: comparing elements may fail, and torch compares each one.
    assert!(x.equal(&x)?);
    assert_eq!(x.eq(&x)?.dtype(), DType::Bool);
    Ok(())
}
