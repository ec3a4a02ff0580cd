//! Initial values of parameters. Each function fills its tensor in place, without recording.
//!
//! The default generator is used, in the order of torch's calls: the same seed gives the same numbers.
//!
//! # Examples
//!
//! ```
//! use opgrid_nn::{Linear, init};
//!
//! let layer = Linear::new(64, 32)?;
//! init::xavier_uniform_(&layer.weight, 1.0)?;
//! init::zeros_(layer.bias.as_ref().unwrap())?;
//! # Ok::<(), opgrid_core::Error>(())
//! ```

use opgrid_core::Result;
use opgrid_tensor::layers::autograd::no_grad;
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;

/// Fills with values from the uniform distribution over `[low, high)`.
///
/// # Errors
///
/// Those of `aten::uniform_`.
pub fn uniform_(tensor: &Tensor, low: f64, high: f64) -> Result<()> {
    no_grad(|| ops::UniformInplace.call(tensor, low, high, None))
}

/// Fills with values from a normal distribution.
///
/// # Errors
///
/// Those of `aten::normal_`.
pub fn normal_(tensor: &Tensor, mean: f64, std: f64) -> Result<()> {
    no_grad(|| ops::NormalInplace.call(tensor, mean, std, None))
}

/// Fills with one value.
///
/// # Errors
///
/// Those of `aten::fill_`.
pub fn constant_(tensor: &Tensor, value: f64) -> Result<()> {
    no_grad(|| tensor.fill_(value).map(drop))
}

/// Fills with ones.
///
/// # Errors
///
/// Those of `aten::fill_`.
pub fn ones_(tensor: &Tensor) -> Result<()> {
    constant_(tensor, 1.0)
}

/// Fills with zeros.
///
/// # Errors
///
/// Those of `aten::fill_`.
pub fn zeros_(tensor: &Tensor) -> Result<()> {
    constant_(tensor, 0.0)
}

/// Uniform values after Glorot and Bengio, 2010.
///
/// # Errors
///
/// A tensor with fewer than two dimensions.
pub fn xavier_uniform_(tensor: &Tensor, gain: f64) -> Result<()> {
    let (inputs, outputs) = fans(tensor)?;
    let bound = 3f64.sqrt() * (gain * (2.0 / (inputs + outputs)).sqrt());
    uniform_(tensor, -bound, bound)
}

/// Normal values after Glorot and Bengio, 2010.
///
/// # Errors
///
/// A tensor with fewer than two dimensions.
pub fn xavier_normal_(tensor: &Tensor, gain: f64) -> Result<()> {
    let (inputs, outputs) = fans(tensor)?;
    normal_(tensor, 0.0, gain * (2.0 / (inputs + outputs)).sqrt())
}

/// Uniform values after He et al., 2015, for a leaky ReLU of that slope behind the inputs; 0 is ReLU.
///
/// # Errors
///
/// A tensor with fewer than two dimensions.
pub fn kaiming_uniform_(tensor: &Tensor, slope: f64) -> Result<()> {
    if tensor.numel() == 0 {
        return Ok(());
    }
    let std = (2.0 / (1.0 + slope * slope)).sqrt() / fans(tensor)?.0.sqrt();
    let bound = 3f64.sqrt() * std;
    uniform_(tensor, -bound, bound)
}

/// Normal values after He et al., 2015, for a leaky ReLU of that slope behind the inputs; 0 is ReLU.
///
/// # Errors
///
/// A tensor with fewer than two dimensions.
pub fn kaiming_normal_(tensor: &Tensor, slope: f64) -> Result<()> {
    if tensor.numel() == 0 {
        return Ok(());
    }
    normal_(tensor, 0.0, (2.0 / (1.0 + slope * slope)).sqrt() / fans(tensor)?.0.sqrt())
}

/// What linear layers and convolutions start with: both uniform between `±1 / sqrt(inputs of each output)`.
pub(crate) fn weight_and_bias(weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
    kaiming_uniform_(weight, 5f64.sqrt())?;
    let Some(bias) = bias else { return Ok(()) };
    let (inputs, _) = fans(weight)?;
    let bound = if inputs > 0.0 { 1.0 / inputs.sqrt() } else { 0.0 };
    uniform_(bias, -bound, bound)
}

/// The number of inputs of each output, and of outputs of each input.
fn fans(tensor: &Tensor) -> Result<(f64, f64)> {
    let [outputs, inputs, field @ ..] = tensor.sizes() else {
        return Err(argument(format!(
            "initialization by fan-in: found a tensor of shape {:?}, expected two dimensions or more; \
             use `uniform_` or `normal_`",
            tensor.sizes()
        )));
    };
    let field: i64 = field.iter().product();
    Ok(((inputs * field) as f64, (outputs * field) as f64))
}
