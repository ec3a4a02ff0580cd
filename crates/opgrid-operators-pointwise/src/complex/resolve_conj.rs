//! `aten::resolve_conj`, `aten::resolve_neg`, `aten::is_conj`, `aten::is_neg`: what programs ask that are written for marks of
//! conjugates and negatives.
//!
//! - Aliasing: `resolve_conj` and `resolve_neg` give `self` itself.
//! - Source: torch.resolve_conj, torch.is_conj, PyTorch 2.15.
//!
//! No tensor has a mark here; why is said with [`Conj`](opgrid_tensor::ops::Conj).

use crate::prelude::*;

pub use opgrid_tensor::ops::complex::resolve_conj::*;

pub(super) fn register(library: &mut Library) {
    library.define(ResolveConj).kind(&kind::VIEW).implicit(itself);
    library.define(ResolveNeg).kind(&kind::VIEW).implicit(itself);
    library.define(IsConj).kind(&kind::QUESTION).implicit(no);
    library.define(IsNeg).kind(&kind::QUESTION).implicit(no);
}

fn itself(input: &Tensor) -> Result<Tensor> {
    input.spec()?;
    Ok(input.clone())
}

fn no(input: &Tensor) -> Result<bool> {
    input.spec()?;
    Ok(false)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(ResolveConj, STORED, DTypeRule::Promoted, |x| x).view();
        samples.unary(ResolveNeg, STORED, DTypeRule::Promoted, |x| x).view();
        samples.operator(IsConj, STORED, generate::unary, |_| Ok(Expected::Value(false.into())));
        samples.operator(IsNeg, STORED, generate::unary, |_| Ok(Expected::Value(false.into())));
        samples.differs(ResolveConj, complex::samples::RESOLVED);
        samples.differs(ResolveNeg, complex::samples::RESOLVED);
    }
}
