//! The column that says what an operator's result is like, without computing it.

use std::fmt;

use opgrid_core::{Column, OperatorHandle, Result, ValueRef};

use super::forms::Shape;
use super::results::Results;
use super::signature::FamilySignature;
use crate::error::argument;
use crate::tensor::TensorSpec;

/// A shape rule over values.
type ShapeFn = dyn Fn(&[ValueRef<'_>]) -> Result<Vec<TensorSpec>> + Send + Sync;

/// Sizes, strides, dtype and device of an operator's results, from its arguments; it refuses what the operator refuses.
///
/// It runs on the sizes that are there, writes nothing and needs no memory but the spec's.
pub struct ShapeRule(Box<ShapeFn>);

impl ShapeRule {
    /// A rule over typed arguments.
    pub fn typed<S: FamilySignature>(rule: Shape<S>) -> Self {
        Self(Box::new(move |values| S::unpack(values, |args| S::apply(rule, args).map(S::Output::list))?))
    }

    /// A rule over values for one result, for operators that are defined at run time.
    pub fn of_values(rule: impl Fn(&[ValueRef<'_>]) -> Result<TensorSpec> + Send + Sync + 'static) -> Self {
        Self::of_several(move |values| rule(values).map(|spec| vec![spec]))
    }

    /// A rule over values for any number of results.
    pub fn of_several(
        rule: impl Fn(&[ValueRef<'_>]) -> Result<Vec<TensorSpec>> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(rule))
    }

    /// What the results are like. The tensors of a list that is the result stand there one by one.
    ///
    /// # Errors
    ///
    /// Those of the operator for such arguments.
    pub fn apply(&self, args: &[ValueRef<'_>]) -> Result<Vec<TensorSpec>> {
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

/// What an operator's results are like for these arguments, in the order of the schema.
///
/// # Errors
///
/// The operator carries no [`ShapeRule`], or refuses the arguments.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Dispatcher, Value};
/// use opgrid::{Tensor, families::result_specs};
///
/// opgrid::ops::ensure_registered()?;
/// let add = Dispatcher::global().find("aten::add.Tensor")?;
/// let (x, y) = (Tensor::from_slice(&[1i64, 2, 3], &[3, 1])?, Tensor::from_slice(&[0.5f32, 1.5], &[2])?);
/// let args = [Value::from(&x), Value::from(&y), Value::from(1)];
/// let spec = result_specs(&add, &args.each_ref().map(Value::borrow))?.remove(0);
/// assert_eq!((spec.sizes(), spec.dtype()), (&[3, 2][..], opgrid_core::DType::F32));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn result_specs(operator: &OperatorHandle, args: &[ValueRef<'_>]) -> Result<Vec<TensorSpec>> {
    match operator.column::<ShapeRule>()? {
        Some(rule) => rule.apply(args).map_err(|error| error.within(operator.name())),
        None => Err(argument(format!(
            "{}: the operator has no shape rule; give it a `ShapeRule`, or call it on meta tensors",
            operator.name()
        ))),
    }
}
