//! The column that says what an operator's result is like, without computing it.

use std::fmt;

use opgrid_core::{Column, OperatorHandle, Result, Signature, ValueRef};

use crate::error::argument;
use crate::tensor::TensorSpec;

/// A shape rule over values.
type Rule = dyn Fn(&[ValueRef<'_>]) -> Result<TensorSpec> + Send + Sync;

/// Sizes, strides, dtype and device of an operator's result, from its arguments; it refuses what the operator refuses.
///
/// It runs on the sizes that are there, writes nothing and needs no memory but the spec's.
pub struct ShapeRule(Box<Rule>);

impl ShapeRule {
    /// A rule over typed arguments.
    pub fn typed<S: Signature>(rule: S::Returning<TensorSpec>) -> Self {
        Self::of_values(move |values| S::unpack(values, |args| S::apply(rule, args))?)
    }

    /// A rule over values, for operators that are defined at run time.
    pub fn of_values(rule: impl Fn(&[ValueRef<'_>]) -> Result<TensorSpec> + Send + Sync + 'static) -> Self {
        Self(Box::new(rule))
    }

    /// What the result is like.
    ///
    /// # Errors
    ///
    /// Those of the operator for such arguments.
    pub fn apply(&self, args: &[ValueRef<'_>]) -> Result<TensorSpec> {
        (self.0)(args)
    }
}

impl Column for ShapeRule {
    const NAME: &'static str = "shape rule";
}

impl fmt::Debug for ShapeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShapeRule")
    }
}

/// What an operator's result is like for these arguments, in the order of the schema.
///
/// # Errors
///
/// The operator carries no [`ShapeRule`], or refuses the arguments.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Dispatcher, Value};
/// use opgrid_tensor::{Tensor, families::result_spec};
///
/// opgrid_tensor::home()?;
/// let add = Dispatcher::global().find("aten::add.Tensor")?;
/// let (x, y) = (Tensor::from_slice(&[1i64, 2, 3], &[3, 1])?, Tensor::from_slice(&[0.5f32, 1.5], &[2])?);
/// let args = [Value::from(&x), Value::from(&y), Value::from(1)];
/// let spec = result_spec(&add, &args.each_ref().map(Value::borrow))?;
/// assert_eq!((spec.sizes(), spec.dtype()), (&[3, 2][..], opgrid_core::DType::F32));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn result_spec(operator: &OperatorHandle, args: &[ValueRef<'_>]) -> Result<TensorSpec> {
    match operator.column::<ShapeRule>()? {
        Some(rule) => rule.apply(args).map_err(|error| error.within(operator.name())),
        None => Err(argument(format!(
            "{}: the operator says nothing of its result's shape; give it a `ShapeRule`, or call it on meta tensors",
            operator.name()
        ))),
    }
}
