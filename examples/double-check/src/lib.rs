//! A transform that runs a function in float64 beside, and says which operators lost digits.
//!
//! It is made of what `opgrid::layers::levels` has for everyone, and nests with the transforms of opgrid in any order: a tensor of its level
//! stands for a tensor, and carries the same one in float64. An operator runs on both.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use opgrid::dispatch::{BoxedCall, TensorType, Value, ValueView};
use opgrid::layers::levels::{Entered, Level, Transform, check_writes, each_tensor, map_all, map_tensors};
use opgrid::prelude::*;

/// How far results of operators were from those in float64, by their names: the largest difference, relative to the largest element in float64.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses(BTreeMap<String, f64>);

impl Losses {
    /// The difference of an operator, such as `aten::sum`; zero where it lost nothing, or was not called.
    pub fn loss(&self, operator: &str) -> f64 {
        self.0.get(operator).copied().unwrap_or(0.0)
    }

    /// The operator with the largest difference, and that.
    pub fn worst(&self) -> Option<(&str, f64)> {
        let all = self.0.iter().map(|(name, loss)| (name.as_str(), *loss));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, loss)| writeln!(f, "{loss:9.2e}  {name}"))
    }
}

/// Runs a function with every operator in float64 beside, and gives its result and how far those of operators were from float64.
///
/// # Errors
///
/// Those of the function; a dispatcher without transforms (`opgrid::func::install`).
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
///
/// let _transforms = opgrid::func::install(opgrid::dispatcher()?)?;
/// let x = Tensor::from_slice(&[1.0e8f32, 2.0e8], 2)?;
/// let (ones, losses) = double_check::double_check(&x, |x| x.add(1)?.sub(x))?;
/// assert_eq!((ones.to_vec::<f32>()?, losses.worst()), (vec![0.0, 0.0], Some(("aten::sub.Tensor", 1.0))));
/// # Ok::<(), opgrid::Error>(())
/// ```
#[track_caller]
pub fn double_check(
    input: &Tensor,
    function: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<(Tensor, Losses)> {
    let entered: Entered = Level::enter(DoubleCheck::default())?;
    let level = entered.level();
    let result = function(&pair(input.clone(), to_double(input)?, level)?)?;
    let losses = level.transform_as::<DoubleCheck>().map(DoubleCheck::losses).unwrap_or_default();
    Ok((level.inner_of(&result), losses))
}

#[derive(Default)]
struct DoubleCheck(Mutex<Losses>);

/// A tensor in float64, if it is of floats.
fn to_double(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype().is_floating_point() { tensor.to_dtype(DType::F64) } else { Ok(tensor.clone()) }
}

/// A tensor of the level that stands for the first one and carries the second one.
fn pair(tensor: Tensor, double: Tensor, level: &Level) -> Result<Tensor> {
    let spec = tensor.spec()?.clone();
    Ok(level.wrap(tensor, Some(double), spec, DispatchKeySet::EMPTY))
}

impl DoubleCheck {
    fn losses(&self) -> Losses {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how far a result is from the one in float64.
    fn compare(&self, operator: &str, found: &Tensor, double: &Tensor) -> Result<()> {
        // What stands for a batch or has no data cannot be looked at.
        let has_elements = found.array().is_ok() && double.array().is_ok() && !found.device().is_meta();
        if !has_elements || !found.dtype().is_floating_point() || found.numel() == 0 {
            return Ok(());
        }
        let (found, double) = (found.detach()?.to_dtype(DType::F64)?, double.detach()?);
        let largest = |x: &Tensor| x.abs()?.max()?.item()?.to_f64();
        let loss = largest(&found.sub(&double)?)? / largest(&double)?.max(f64::MIN_POSITIVE);
        let mut losses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = losses.0.entry(operator.to_owned()).or_default();
        *known = known.max(loss);
        Ok(())
    }
}

impl Transform for DoubleCheck {
    fn name(&self) -> &'static str {
        "double_check"
    }

    fn run(&self, call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
        check_writes(call, level)?;
        let args = map_all(call.args(), &mut |tensor| Ok(level.inner_of(tensor)))?;
        let mut doubles = map_all(call.args(), &mut |tensor| match level.behind(tensor) {
            Some(leveled) => Ok(leveled.more().unwrap_or(leveled.inner()).clone()),
            None => level.outside(|| to_double(tensor)),
        })?;
        // A dtype that is asked for is asked for in float64, too.
        for value in &mut doubles {
            if let Value::DType(dtype) = value
                && dtype.is_floating_point()
            {
                *dtype = DType::F64;
            }
        }
        let (operator, name) = (call.operator().clone(), call.operator().name().to_string());
        let (results, doubles) = level
            .outside(|| -> Result<_> { Ok((operator.call_values(args)?, operator.call_values(doubles)?)) })?;
        for (result, double) in results.into_iter().zip(doubles) {
            let mut doubles = Vec::new();
            each_tensor(&[double.borrow()], &mut |tensor| doubles.push(tensor.clone()));
            let mut doubles = doubles.into_iter();
            let paired = map_tensors(result.borrow(), &mut |result| {
                let double = doubles.next().unwrap_or_else(|| result.clone());
                if !result.is_defined() {
                    return Ok(result.clone());
                }
                level.outside(|| self.compare(&name, result, &double))?;
                // What was written, or is given back as it is, stays the tensor that the caller has.
                match argument_of(call, result, level) {
                    Some(argument) => Ok(argument),
                    None => pair(result.clone(), double, level),
                }
            })?;
            call.push(paired);
        }
        Ok(())
    }
}

/// The argument that a result is.
fn argument_of(call: &BoxedCall<'_>, result: &Tensor, level: &Level) -> Option<Tensor> {
    let tensors = call.args().iter().filter_map(|value| match value.view() {
        ValueView::Tensor(tensor) => Tensor::from_any_ref(tensor),
        _ => None,
    });
    tensors.into_iter().find(|tensor| level.inner_of(tensor).is_same(result)).cloned()
}
