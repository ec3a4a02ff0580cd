//! `aten::zeros`, `aten::zero`: a new tensor with zero everywhere.
//!
//! `out[i] = 0`
//!
//! - Shapes: `size`, row-major; `zero` gives a tensor like `self`.
//! - Dtypes: `dtype`, the default one without it; that of `self`.
//! - Aliasing: `zeros.out` writes `out`, and gives it its shape if it has no elements; `zero_` writes `self`.
//! - Dispatch: as [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat); a composite of `empty` and `zero_`.
//! - Errors: what `empty` refuses.
//! - Source: torch.zeros, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::EmptyLike;

pub use opgrid_tensor::ops::factories::zeros::*;

pub(super) fn register(library: &mut Library) {
    factory::define_filled(library, Zeros, ZerosOut, |out| ZeroInplace.call(out));
    library
        .define_with_forms(Zero, &kind::COPY)
        .on_every_backend(|input| {
            let out = EmptyLike.call(input, None, None, None, None, None)?;
            ZeroInplace.call(&out).map(|()| out)
        })
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
    library
        .implement(ZeroOut)
        .on_every_backend(|input, out| factory::fill_like(out, input, None, |out| ZeroInplace.call(out)));
    library
        .define(ZeroInplace)
        .kind(&kind::FACTORY)
        .in_place(|input| input.spec().cloned(), |_, out| elementwise::fill(out, 0));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Zeros, STORED, generate::shapes, |it| generate::filled(it, Scalar::Int(0)))
            .output_decides()
            .refuses("", given([2, -1].to_vec()));
        let cleared = |it: &Inputs| it.unary(DTypeRule::Promoted, |_| Scalar::Int(0));
        samples.operator(ZeroInplace, STORED, generate::unary, cleared);
        samples.operator(Zero, STORED, generate::unary, cleared).output_decides();
    }
}
