//! When a result is as good as the expected one: shape, dtype, and elements up to a tolerance.

use opgrid_core::{DType, Result, Scalar, Value};
use opgrid_samples::{Expected, Plain, number};
use opgrid_tensor::tensor::finfo;
use opgrid_tensor::{Complex, Tensor};

use crate::draws;
use crate::fault::Fault;
use crate::subject::tensors;
use crate::target::Target;

/// Compares what a call has answered with what it should have.
///
/// # Errors
///
/// They differ.
pub(crate) fn check(
    target: &Target<'_>,
    found: &[Value],
    expected: &Expected,
    tolerance: f64,
) -> Result<(), Fault> {
    match (found, expected) {
        ([Value::Tensor(tensor)], Expected::Tensor(expected)) => {
            let tensor = Tensor::try_from(tensor.clone()).map_err(Fault::error)?;
            elements(&target.read(&tensor)?, expected, tolerance)
        }
        ([Value::Tensor(tensor)], Expected::Shape(sizes, dtype)) => {
            let tensor = Tensor::try_from(tensor.clone()).map_err(Fault::error)?;
            shape(&tensor, sizes, *dtype)
        }
        ([Value::Tensor(tensor)], Expected::Random(sizes, dtype, distribution)) => {
            let tensor = Tensor::try_from(tensor.clone()).map_err(Fault::error)?;
            shape(&tensor, sizes, *dtype)?;
            draws::check(&target.read(&tensor)?, distribution)
        }
        (_, Expected::Several(expected)) => match tensors(found) {
            Some(found) if found.len() == expected.len() => {
                let mut results = found.iter().zip(expected).enumerate();
                results.try_for_each(|(index, (found, expected))| {
                    let checked = check(target, &[Value::from(found)], expected, tolerance);
                    checked.map_err(|fault| fault.about(format!("result {index}")))
                })
            }
            _ => Err(Fault::wrong(format!("{found:?}"), format!("{expected:?}"))),
        },
        ([value], Expected::Value(expected)) => {
            let numbers = (value.borrow().as_scalar(), expected.borrow().as_scalar());
            let same_kind = std::mem::discriminant(value) == std::mem::discriminant(expected);
            match numbers {
                (Some(found), Some(expected)) if same_kind && near(found, expected, 0.0) => Ok(()),
                _ if value == expected => Ok(()),
                _ => Err(Fault::wrong(format!("{value:?}"), format!("{expected:?}"))),
            }
        }
        (values, expected) => Err(Fault::wrong(format!("{values:?}"), format!("{expected:?}"))),
    }
}

fn shape(found: &Tensor, sizes: &[i64], dtype: DType) -> Result<(), Fault> {
    if found.sizes() == sizes && found.dtype() == dtype {
        Ok(())
    } else {
        let found = format!("{} {:?}", found.dtype(), found.sizes());
        Err(Fault::wrong(found, format!("{dtype} {sizes:?}")))
    }
}

/// Compares two tensors element by element. The tolerance counts `eps` of the dtype.
///
/// # Errors
///
/// They differ.
pub(crate) fn elements(found: &Plain, expected: &Plain, tolerance: f64) -> Result<(), Fault> {
    if found.sizes() != expected.sizes() || found.dtype() != expected.dtype() {
        return Err(Fault::wrong(found.to_string(), expected.to_string()));
    }
    let allowed = tolerance * finfo(expected.dtype()).map_or(0.0, |limits| limits.eps);
    let mut pairs = found.elements().iter().zip(expected.elements()).enumerate();
    match pairs.find(|(_, (found, expected))| !near(**found, **expected, allowed)) {
        None => Ok(()),
        Some((position, (one, other))) => Err(Fault::wrong(
            format!("{one} at position {position} of {found}"),
            format!("{other} at position {position} of {expected}"),
        )),
    }
}

/// Whether both parts are equal, both NaN, or apart by no more than `allowed` times the magnitude.
fn near(found: Scalar, expected: Scalar, allowed: f64) -> bool {
    if let (Some(found), Some(expected)) = (number::exact(found), number::exact(expected)) {
        return found == expected;
    }
    let (Complex { re, im }, wanted) = (found.to_complex(), expected.to_complex());
    let magnitude = wanted.norm().max(1.0);
    [(re, wanted.re), (im, wanted.im)].into_iter().all(|(found, expected)| {
        found == expected
            || (found.is_nan() && expected.is_nan())
            || (found - expected).abs() <= allowed * magnitude
    })
}
