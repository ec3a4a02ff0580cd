//! Views: operators that give other sizes and strides to the memory of their first argument.

use std::fmt;

use opgrid_core::{
    Argument, Column, MemoryFormat, Operator, Result, Return, Signature, TensorType, ValueRef, WritesLast,
};

use super::result;
use crate::error::argument;
use crate::ops::{CloneTensor, CopyInplace};
use crate::tensor::{Geometry, Tensor};

/// The result of an operator that gives views: one, or a list of them.
pub trait Views: Sized + Argument + Return<Output = Self> {
    /// Where the elements of the views lie.
    type Geometries: 'static;
    /// What an operator returns that writes copies of the views to outputs.
    type Written: Return<Output = ()>;

    /// Takes the views.
    ///
    /// # Errors
    ///
    /// The tensor has no memory of ours, or a geometry leaves it.
    fn from_base(base: &Tensor, geometries: Self::Geometries) -> Result<Self>;

    /// Takes views that are not recorded in the graph of their base.
    ///
    /// # Errors
    ///
    /// Those of [`from_base`](Self::from_base).
    fn without_history(base: &Tensor, geometries: Self::Geometries) -> Result<Self>;

    /// The geometries one by one.
    fn list(geometries: Self::Geometries) -> Vec<Geometry>;

    /// Row-major copies of the views.
    ///
    /// # Errors
    ///
    /// There is no memory for them.
    fn copied(&self) -> Result<Self>;

    /// Writes the tensors to outputs of their dtypes.
    ///
    /// # Errors
    ///
    /// Another number of outputs; those of [`result::all_copied`].
    fn written_to(&self, outputs: Self::At<'_>) -> Result<()>;
}

impl Views for Tensor {
    type Geometries = Geometry;
    type Written = WritesLast;

    fn from_base(base: &Tensor, geometry: Geometry) -> Result<Self> {
        Ok(base.bare_view(geometry)?.taken_of(base))
    }

    fn without_history(base: &Tensor, geometry: Geometry) -> Result<Self> {
        Ok(base.bare_view(geometry)?.detached_from_graph())
    }

    fn list(geometry: Geometry) -> Vec<Geometry> {
        vec![geometry]
    }

    fn copied(&self) -> Result<Self> {
        CloneTensor.call(self, Some(MemoryFormat::Contiguous))
    }

    fn written_to(&self, output: &Tensor) -> Result<()> {
        result::copied(output, self)
    }
}

impl Views for Vec<Tensor> {
    type Geometries = Vec<Geometry>;
    type Written = ();

    fn from_base(base: &Tensor, geometries: Vec<Geometry>) -> Result<Self> {
        geometries.into_iter().map(|geometry| Tensor::from_base(base, geometry)).collect()
    }

    fn without_history(base: &Tensor, geometries: Vec<Geometry>) -> Result<Self> {
        geometries.into_iter().map(|geometry| Tensor::without_history(base, geometry)).collect()
    }

    fn list(geometries: Vec<Geometry>) -> Vec<Geometry> {
        geometries
    }

    fn copied(&self) -> Result<Self> {
        self.iter().map(Views::copied).collect()
    }

    fn written_to(&self, outputs: &[Tensor]) -> Result<()> {
        result::list_copied(outputs, self)
    }
}

/// Where the views of a signature have their elements, from the arguments.
pub type GeometriesOf<S> = <S as Signature>::Returning<<<S as Signature>::Output as Views>::Geometries>;

/// What is known of an operator that gives a view, or a list of views: where their elements lie in the memory of the first
/// argument.
pub struct ViewFamily<O: Operator<Signature: Signature<Output: Views>>> {
    pub(crate) geometry: GeometriesOf<O::Signature>,
    pub(crate) is_absolute: bool,
    pub(crate) has_history: bool,
}

impl<O: Operator<Signature: Signature<Output: Views>>> ViewFamily<O> {
    /// A view by its geometry, or views by their geometries, which follow from the arguments.
    pub const fn new(_operator: O, geometry: GeometriesOf<O::Signature>) -> Self {
        Self { geometry, is_absolute: false, has_history: true }
    }

    /// Takes the view out of the graph: neither gradients nor writes reach the base, or the other way round.
    #[must_use]
    pub const fn without_history(mut self) -> Self {
        self.has_history = false;
        self
    }

    /// Interprets the view's arguments as positions in the storage, independent of the first argument's geometry.
    #[must_use]
    pub const fn absolute(mut self) -> Self {
        self.is_absolute = true;
        self
    }
}

/// The geometries of views over values.
type GeometryRule = dyn Fn(&[ValueRef<'_>]) -> Result<Vec<Geometry>> + Send + Sync;

/// The column of views: takes the same view of another tensor, and puts elements back where a view took them from. Views of
/// a list are told apart by their index.
///
/// Whoever replaces a tensor under its views (in-place operators on views, functionalization) needs both.
pub struct ViewRule {
    geometry: Box<GeometryRule>,
    is_absolute: bool,
}

impl ViewRule {
    /// A rule over typed arguments, of which the first is the tensor that is viewed.
    pub fn typed<S: Signature<Output: Views>>(geometry: GeometriesOf<S>) -> Self {
        Self::of_values(move |values| {
            S::unpack(values, |args| S::apply(geometry, args).map(S::Output::list))?
        })
    }

    /// A rule over values, for operators that are defined at run time.
    pub fn of_values(
        rule: impl Fn(&[ValueRef<'_>]) -> Result<Vec<Geometry>> + Send + Sync + 'static,
    ) -> Self {
        Self { geometry: Box::new(rule), is_absolute: false }
    }

    /// Says whether the view's arguments are positions in the storage.
    #[must_use]
    pub fn absolute(self, is_absolute: bool) -> Self {
        Self { is_absolute, ..self }
    }

    /// Checks that the view can be taken of another tensor.
    ///
    /// # Errors
    ///
    /// The view of such a tensor says nothing of how to view another one.
    pub fn check_base(&self, base: &Tensor) -> Result<()> {
        let geometry = base.geometry();
        if !self.is_absolute || geometry.is_row_major() && geometry.offset() == 0 {
            Ok(())
        } else {
            Err(argument(
                "the view is defined by positions in memory, so that it cannot be taken of another \
                 tensor; view a contiguous one, or use slice, select or transpose",
            ))
        }
    }

    /// Takes the view of `base` again, or the one at `index` of a list; `args` are the arguments of the call, of
    /// which the first is ignored.
    ///
    /// # Errors
    ///
    /// Those of the operator on `base`; fewer views than `index` says.
    pub fn replay(&self, base: &Tensor, args: &[ValueRef<'_>], index: usize) -> Result<Tensor> {
        self.check_base(base)?;
        let mut args = args.to_vec();
        match args.first_mut() {
            Some(first) => *first = ValueRef::from(base.as_any()),
            None => {
                return Err(argument("a view needs a tensor as its first argument; found none"));
            }
        }
        let mut views = (self.geometry)(&args)?;
        if index < views.len() {
            Tensor::from_base(base, views.swap_remove(index))
        } else {
            Err(argument(format!("the call returned {} views, expected one at index {index}", views.len())))
        }
    }

    /// A row-major copy of `base` that has the elements of `changed` where the view of it has its own.
    ///
    /// # Errors
    ///
    /// As [`replay`](Self::replay); a `changed` whose shape does not broadcast to that of the view.
    pub fn inverse(
        &self,
        base: &Tensor,
        changed: &Tensor,
        args: &[ValueRef<'_>],
        index: usize,
    ) -> Result<Tensor> {
        self.check_base(base)?;
        let copy = CloneTensor.call(base, Some(MemoryFormat::Contiguous))?;
        CopyInplace.call(&self.replay(&copy, args, index)?, changed, false)?;
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
