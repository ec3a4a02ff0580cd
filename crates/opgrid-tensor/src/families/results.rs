//! What the results of operators have in common, be it one tensor or several.

use opgrid_core::Result;

use crate::tensor::{Tensor, TensorSpec};

/// The results of an operator that makes new tensors: one to four.
///
/// A shape rule gives [`Specs`](Self::Specs), one for each result, and a loop gets as many outputs behind its arguments.
pub trait Results: Sized + 'static {
    /// What results are like: a spec, or a tuple of specs.
    type Specs: 'static;
    /// The outputs of a loop: a tensor, or a tuple of tensors.
    type Outputs<'a>: Copy;

    /// Makes the results one after the other.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    fn made(specs: &Self::Specs, make: impl FnMut(&TensorSpec) -> Result<Tensor>) -> Result<Self>;

    /// The results as outputs.
    fn outputs(&self) -> Self::Outputs<'_>;

    /// The outputs in their order.
    fn tensors<'a>(outputs: Self::Outputs<'a>) -> impl Iterator<Item = &'a Tensor>;

    /// The outputs in their order, each with what the result is like.
    fn each<'a, 's>(
        outputs: Self::Outputs<'a>,
        specs: &'s Self::Specs,
    ) -> impl Iterator<Item = (&'a Tensor, &'s TensorSpec)> + Clone;

    /// A tensor for each output, made in their order.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    fn each_made(
        outputs: Self::Outputs<'_>,
        specs: &Self::Specs,
        make: impl FnMut(&Tensor, &TensorSpec) -> Result<Tensor>,
    ) -> Result<Self>;

    /// The specs in their order.
    fn list(specs: Self::Specs) -> Vec<TensorSpec>;

    /// The first argument as the only output; of several results none is written in place.
    fn in_place(first: &Tensor) -> Option<Self::Outputs<'_>>;
}

impl Results for Tensor {
    type Specs = TensorSpec;
    type Outputs<'a> = &'a Tensor;

    #[inline(always)]
    fn made(spec: &TensorSpec, mut make: impl FnMut(&TensorSpec) -> Result<Tensor>) -> Result<Self> {
        make(spec)
    }

    #[inline(always)]
    fn outputs(&self) -> &Tensor {
        self
    }

    fn tensors<'a>(output: Self::Outputs<'a>) -> impl Iterator<Item = &'a Tensor> {
        std::iter::once(output)
    }

    #[inline(always)]
    fn each<'a, 's>(
        output: Self::Outputs<'a>,
        spec: &'s TensorSpec,
    ) -> impl Iterator<Item = (&'a Tensor, &'s TensorSpec)> + Clone {
        std::iter::once((output, spec))
    }

    fn each_made(
        output: &Tensor,
        spec: &TensorSpec,
        mut make: impl FnMut(&Tensor, &TensorSpec) -> Result<Tensor>,
    ) -> Result<Self> {
        make(output, spec)
    }

    fn list(spec: TensorSpec) -> Vec<TensorSpec> {
        vec![spec]
    }

    #[inline(always)]
    fn in_place(first: &Tensor) -> Option<&Tensor> {
        Some(first)
    }
}

macro_rules! of {
    ($name:ident $type:ty) => {
        $type
    };
}

macro_rules! several {
    ($(($($result:ident $spec:ident $tensor:ident),+))*) => {
        $(
            impl Results for ($($tensor,)+) {
                type Specs = ($(of!($spec TensorSpec),)+);
                type Outputs<'a> = ($(of!($spec &'a Tensor),)+);

                fn made(
                    ($($spec,)+): &Self::Specs,
                    mut make: impl FnMut(&TensorSpec) -> Result<Tensor>,
                ) -> Result<Self> {
                    Ok(($(make($spec)?,)+))
                }

                #[inline]
                fn outputs(&self) -> Self::Outputs<'_> {
                    let ($($result,)+) = self;
                    ($($result,)+)
                }

                fn tensors<'a>(($($result,)+): Self::Outputs<'a>) -> impl Iterator<Item = &'a Tensor> {
                    [$($result),+].into_iter()
                }

                fn each<'a, 's>(
                    ($($result,)+): Self::Outputs<'a>,
                    ($($spec,)+): &'s Self::Specs,
                ) -> impl Iterator<Item = (&'a Tensor, &'s TensorSpec)> + Clone {
                    [$(($result, $spec)),+].into_iter()
                }

                fn each_made(
                    ($($result,)+): Self::Outputs<'_>,
                    ($($spec,)+): &Self::Specs,
                    mut make: impl FnMut(&Tensor, &TensorSpec) -> Result<Tensor>,
                ) -> Result<Self> {
                    Ok(($(make($result, $spec)?,)+))
                }

                fn list(($($spec,)+): Self::Specs) -> Vec<TensorSpec> {
                    vec![$($spec),+]
                }

                fn in_place(_first: &Tensor) -> Option<Self::Outputs<'_>> {
                    None
                }
            }
        )*
    };
}

several! {
    (a first Tensor, b second Tensor)
    (a first Tensor, b second Tensor, c third Tensor)
    (a first Tensor, b second Tensor, c third Tensor, d fourth Tensor)
}
