//! The kernels of a family's forms, made of its shape rule and a loop: functional, in place, into an output.
//!
//! They are compiled once for each signature, not for each operator. Errors get the overload's name in front.

use opgrid_core::{Error, Kernel, Result, Signature};

use super::result::{
    all_copied, check_outputs, check_result, is_filled_itself, same_dtype, stand_in, take_over, wrong_shape,
};
use super::results::Results;
use super::signature::{FamilySignature, OutputsOf, SpecsOf};
use crate::error::argument;
use crate::tensor::{Array, Tensor, TensorSpec};

/// A shape rule: what the results are like; it refuses what cannot be.
pub type Shape<S> = <S as Signature>::Returning<SpecsOf<S>>;
/// A loop: fills outputs that have the right shapes.
pub type Loop<S> = <<S as FamilySignature>::Out as Signature>::Returning<()>;
/// A shape rule that looks at the outputs.
pub type OutShape<S> = <<S as FamilySignature>::Out as Signature>::Returning<SpecsOf<S>>;

/// What an `out` form asks of its outputs, besides the shape.
pub enum OutRule<S: FamilySignature> {
    /// Dtypes to which the results can be converted.
    Converted,
    /// The dtypes of the results.
    SameDtype,
    /// What the outputs say decides on the results.
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
    /// New tensors that `allocate` makes. `schema` names the overload in errors.
    #[track_caller]
    pub(super) fn functional(
        self,
        schema: &'static str,
        allocate: impl Fn(&TensorSpec) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Kernel {
        Kernel::closure::<S>(move |args| {
            let made = || match S::apply(self.shape, args) {
                // By reference, because what comes out of a `Result` by value is moved.
                Ok(ref specs) => {
                    let results = S::Output::made(specs, &allocate)?;
                    self.fill(S::shorten(args), results.outputs())?;
                    S::Output::each(results.outputs(), specs).for_each(|(out, _)| out.restart_version());
                    Ok(results)
                }
                Err(error) => Err(error),
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
                let outputs = S::first(args).and_then(|first| S::Output::in_place(first));
                let Some(outputs) = outputs else {
                    return Err(argument("the first argument is not a tensor"));
                };
                let specs = S::apply(self.in_place_shape, args)?;
                for (out, spec) in S::Output::each(outputs, &specs) {
                    check_result(out, spec)?;
                    if out.sizes() != spec.sizes() {
                        return Err(wrong_shape("self", out, spec));
                    }
                }
                self.fill(args, outputs)?;
                mark_written::<S>(outputs, &specs);
                Ok(())
            };
            written().map_err(|error| named(error, schema))
        })
    }

    /// The last arguments as the outputs; those without elements get memory that `allocate` makes.
    #[track_caller]
    pub(super) fn into_outputs(
        self,
        schema: &'static str,
        allocate: impl Fn(TensorSpec) -> Result<Array> + Send + Sync + 'static,
    ) -> Kernel {
        Kernel::closure::<S::Out>(move |all| {
            let (args, outputs) = S::split(all);
            let written = || {
                let specs = match self.out {
                    OutRule::Shape(shape) => S::Out::apply(shape, all)?,
                    OutRule::Converted | OutRule::SameDtype => S::apply(self.shape, args)?,
                };
                let each = S::Output::each(outputs, &specs);
                if let OutRule::SameDtype = self.out {
                    each.clone().try_for_each(|(out, spec)| same_dtype(out, spec))?;
                }
                check_outputs(each.clone(), Some(schema))?;
                if each.clone().all(|(out, spec)| is_filled_itself(out, spec)) {
                    self.fill(args, outputs)?;
                } else {
                    let filled =
                        S::Output::each_made(outputs, &specs, |out, spec| stand_in(out, spec, &allocate))?;
                    self.fill(S::shorten(args), filled.outputs())?;
                    let filled = S::Output::each(filled.outputs(), &specs);
                    each.zip(filled).try_for_each(|((out, _), (filled, _))| take_over(out, filled))?;
                }
                mark_written::<S>(outputs, &specs);
                Ok(())
            };
            written().map_err(|error| named(error, schema))
        })
    }

    #[inline]
    fn fill<'a>(self, args: S::Args<'a>, outputs: OutputsOf<'a, S>) -> Result<()> {
        match self.fill {
            Some(fill) => S::Out::apply(fill, S::join(args, outputs)),
            None => Ok(()),
        }
    }
}

/// An `out` form that writes what a functional overload gives. Where that is undefined, the output stays as it is.
#[inline(never)]
#[track_caller]
pub(super) fn copied_into_outputs<S: FamilySignature>(
    schema: &'static str,
    functional: S::Returning<S::Output>,
) -> Kernel {
    Kernel::closure::<S::Out>(move |all| {
        let (args, outputs) = S::split(all);
        let written = || {
            let results = S::apply(functional, args)?;
            let pairs = S::Output::tensors(outputs).zip(S::Output::tensors(results.outputs()));
            all_copied(&pairs.filter(|(_, result)| result.is_defined()).collect::<Vec<_>>())
        };
        written().map_err(|error| named(error, schema))
    })
}

/// Says of outputs that no loop of ours writes that they were written.
#[inline]
fn mark_written<S: FamilySignature>(outputs: OutputsOf<'_, S>, specs: &SpecsOf<S>) {
    for (out, _) in S::Output::each(outputs, specs) {
        if !out.has_cpu_memory() {
            out.mark_written();
        }
    }
}

/// The error with the overload's name in front.
#[cold]
#[inline(never)]
pub(super) fn named(error: Error, schema: &'static str) -> Error {
    error.within(name_in(schema))
}

/// The name at the beginning of a schema.
pub(super) fn name_in(schema: &'static str) -> &'static str {
    schema.split('(').next().unwrap_or(schema)
}
