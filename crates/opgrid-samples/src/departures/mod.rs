//! Differences from torch that come of what operators share: promotion, conversion, memory, outputs, and functions of numbers.

pub mod access;
pub mod activations;
pub mod arithmetic;
pub mod draws;
pub mod element;
pub mod factory;
pub mod fourier;
pub mod functions;
pub mod kernels;
pub mod math;
pub mod matrices;
pub mod norm;
pub mod pointwise;
pub mod promote;
pub mod reduce;
pub mod result;
pub mod special;

use crate::differences::Difference;

/// The differences that belong to no single operator.
pub fn general() -> Vec<&'static Difference> {
    let lists = [
        promote::DIFFERENCES,
        element::DIFFERENCES,
        access::DIFFERENCES,
        result::DIFFERENCES,
        pointwise::DIFFERENCES,
        factory::DIFFERENCES,
        draws::DIFFERENCES,
        fourier::DIFFERENCES,
        kernels::DIFFERENCES,
        matrices::DIFFERENCES,
    ];
    lists.into_iter().flatten().collect()
}
