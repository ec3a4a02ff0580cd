//! The kernels of a family's forms, made of its shape rule and a loop: functional, in place, into an output.
//!
//! They are compiled once for each signature, not for each operator. Errors get the overload's name in front.

use opgrid_core::{Error, Kernel, Result, Signature};

use super::result::{check_result, give_shape_by, wrong_shape};
use super::signature::FamilySignature;
use crate::error::argument;
use crate::tensor::{Array, Tensor, TensorSpec};

/// A shape rule: what the result is like; it refuses what cannot be.
pub type Shape<S> = <S as Signature>::Returning<TensorSpec>;
/// A loop: fills an output that has the right shape.
pub type Loop<S> = <<S as FamilySignature>::Out as Signature>::Returning<()>;
/// A shape rule that looks at the output.
pub type OutShape<S> = <<S as FamilySignature>::Out as Signature>::Returning<TensorSpec>;

/// What an `out` form asks of its output, besides the shape.
pub enum OutRule<S: FamilySignature> {
    /// A dtype to which the result can be converted.
    Converted,
    /// The dtype of the result.
    SameDtype,
    /// What the output says decides on the result.
    Shape(OutShape<S>),
}

impl<S: FamilySignature> Clone for OutRule<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: FamilySignature> Copy for OutRule<S> {}

/// What the forms of a family have in common at one key. Without a loop they compute nothing: so are meta kernels.
pub(super) struct FormKernels<S: FamilySignature> {
    pub(super) shape: Shape<S>,
    pub(super) in_place_shape: Shape<S>,
    pub(super) out: OutRule<S>,
    pub(super) fill: Option<Loop<S>>,
}

impl<S: FamilySignature> Clone for FormKernels<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: FamilySignature> Copy for FormKernels<S> {}

impl<S: FamilySignature> FormKernels<S> {
    /// A new tensor that `allocate` makes and `finish` gives away. `schema` names the overload in errors.
    #[track_caller]
    pub(super) fn functional(
        self,
        schema: &'static str,
        allocate: impl Fn(TensorSpec) -> Result<Tensor> + Send + Sync + 'static,
        finish: impl Fn(Tensor) -> Tensor + Send + Sync + 'static,
    ) -> Kernel {
        Kernel::closure::<S>(move |args| {
            let made = || {
                let out = allocate(S::apply(self.shape, args)?)?;
                self.fill(S::shorten(args), &out)?;
                Ok(finish(out))
            };
            made().map_err(|error| named(error, schema))
        })
    }

    /// The first argument as the output.
    #[track_caller]
    pub(super) fn in_place(self, schema: &'static str) -> Kernel {
        Kernel::closure::<S::InPlace>(move |args| {
            let args = S::of_in_place(args);
            let written = || {
                let Some(out) = S::first(args) else {
                    return Err(argument("the first argument is no tensor"));
                };
                let spec = S::apply(self.in_place_shape, args)?;
                check_result(out, &spec)?;
                if out.sizes() != spec.sizes() {
                    return Err(wrong_shape("self", out, &spec));
                }
                self.fill(args, out)?;
                if !out.has_cpu_memory() {
                    out.mark_written();
                }
                Ok(())
            };
            written().map_err(|error| named(error, schema))
        })
    }

    /// The last argument as the output; one without elements gets memory that `allocate` makes.
    #[track_caller]
    pub(super) fn into_output(
        self,
        schema: &'static str,
        allocate: impl Fn(TensorSpec) -> Result<Array> + Send + Sync + 'static,
    ) -> Kernel {
        Kernel::closure::<S::Out>(move |all| {
            let (args, out) = S::split(all);
            let written = || {
                let spec = match self.out {
                    OutRule::Shape(shape) => S::Out::apply(shape, all)?,
                    OutRule::Converted => S::apply(self.shape, args)?,
                    OutRule::SameDtype => {
                        let spec = S::apply(self.shape, args)?;
                        super::result::same_dtype(out, &spec)?;
                        spec
                    }
                };
                check_result(out, &spec)?;
                give_shape_by(out, &spec, &allocate)?;
                self.fill(args, out)?;
                if !out.has_cpu_memory() {
                    out.mark_written();
                }
                Ok(())
            };
            written().map_err(|error| named(error, schema))
        })
    }

    #[inline]
    fn fill<'a>(self, args: S::Args<'a>, out: &'a Tensor) -> Result<()> {
        match self.fill {
            Some(fill) => S::Out::apply(fill, S::join(args, out)),
            None => Ok(()),
        }
    }
}

#[cold]
#[inline(never)]
fn named(error: Error, schema: &'static str) -> Error {
    error.within(name_in(schema))
}

/// The name at the beginning of a schema.
pub(super) fn name_in(schema: &'static str) -> &'static str {
    schema.split('(').next().unwrap_or(schema)
}
