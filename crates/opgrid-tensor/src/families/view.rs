//! Views: operators that give other sizes and strides to the memory of their first argument.

use std::fmt;

use opgrid_core::operator::ReturningOf;
use opgrid_core::{Column, MemoryFormat, Operator, Result, Signature, TensorType, ValueRef};

use crate::error::argument;
use crate::ops::{Clone, CopyInplace};
use crate::tensor::{Geometry, Tensor};

/// What is known of an operator that gives a view: where its elements lie in the memory of the first argument.
pub struct ViewFamily<O: Operator> {
    pub(crate) geometry: ReturningOf<O, Geometry>,
    pub(crate) is_absolute: bool,
}

impl<O: Operator> ViewFamily<O> {
    /// A view by its geometry, which follows from the arguments.
    pub const fn new(_operator: O, geometry: ReturningOf<O, Geometry>) -> Self {
        Self { geometry, is_absolute: false }
    }

    /// The same view, whose arguments count elements of the memory, whatever the first argument is like.
    #[must_use]
    pub const fn absolute(mut self) -> Self {
        self.is_absolute = true;
        self
    }
}

/// A view's geometry over values.
type GeometryRule = dyn Fn(&[ValueRef<'_>]) -> Result<Geometry> + Send + Sync;

/// The column of views: takes the same view of another tensor, and puts elements back where a view took them from.
///
/// Whoever replaces a tensor under its views (in-place operators on views, functionalization) needs both.
pub struct ViewRule {
    geometry: Box<GeometryRule>,
    is_absolute: bool,
}

impl ViewRule {
    /// A rule over typed arguments, of which the first is the tensor that is viewed.
    pub fn typed<S: Signature>(geometry: S::Returning<Geometry>) -> Self {
        Self::of_values(move |values| S::unpack(values, |args| S::apply(geometry, args))?)
    }

    /// A rule over values, for operators that are defined at run time.
    pub fn of_values(rule: impl Fn(&[ValueRef<'_>]) -> Result<Geometry> + Send + Sync + 'static) -> Self {
        Self { geometry: Box::new(rule), is_absolute: false }
    }

    /// The same rule for a view whose arguments count elements of the memory.
    #[must_use]
    pub fn absolute(self, is_absolute: bool) -> Self {
        Self { is_absolute, ..self }
    }

    /// # Errors
    ///
    /// The view of such a tensor says nothing of how to view another one.
    pub fn check_base(&self, base: &Tensor) -> Result<()> {
        let geometry = base.geometry();
        match !self.is_absolute || geometry.is_row_major() && geometry.offset() == 0 {
            true => Ok(()),
            false => Err(argument(
                "the view is one of the memory and not of the tensor in it, so that it cannot be taken of another tensor; view \
                 a contiguous one, or use slice, select or transpose",
            )),
        }
    }

    /// The same view of `base`; `args` are the arguments of the call, of which the first does not count.
    ///
    /// # Errors
    ///
    /// Those of the operator on `base`.
    pub fn replay(&self, base: &Tensor, args: &[ValueRef<'_>]) -> Result<Tensor> {
        self.check_base(base)?;
        let mut args = args.to_vec();
        match args.first_mut() {
            Some(first) => *first = ValueRef::from(base.as_any()),
            None => {
                return Err(argument(
                    "a view has arguments, of which the first is what it views; found none",
                ));
            }
        }
        base.view_as((self.geometry)(&args)?)
    }

    /// A row-major copy of `base` that has the elements of `changed` where the view of it has its own.
    ///
    /// # Errors
    ///
    /// As [`replay`](Self::replay); a `changed` whose shape does not broadcast to that of the view.
    pub fn inverse(&self, base: &Tensor, changed: &Tensor, args: &[ValueRef<'_>]) -> Result<Tensor> {
        self.check_base(base)?;
        let copy = Clone.call(base, Some(MemoryFormat::Contiguous))?;
        CopyInplace.call(&self.replay(&copy, args)?, changed, false)?;
        Ok(copy)
    }
}

impl Column for ViewRule {
    const NAME: &'static str = "view rule";
}

impl fmt::Debug for ViewRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ViewRule")
    }
}
