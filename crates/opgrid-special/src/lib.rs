//! Special functions of `f64`: Bessel and Airy functions, incomplete gamma functions, the zeta function and polygamma functions, the
//! normal distribution, orthogonal polynomials.
//!
//! A crate of its own because none of it is generic: it is compiled once, whatever calls it. Where a function is not defined,
//! infinite or has a jump, it gives what PyTorch gives.
//!
//! "Error" in the documentation of a function is the largest one that the tests allow, in units in the last place of the result
//! (the distance to the next larger number), for results that are normal numbers. Near a zero of a function
//! that crosses it, the error is relative to one or to the function's amplitude instead.
//!
//! ```
//! use opgrid_special::{bessel_j0, zeta};
//!
//! assert_eq!(bessel_j0(0.0), 1.0);
//! assert!((zeta(4.0, 1.0) - std::f64::consts::PI.powi(4) / 90.0).abs() < 1e-15);
//! ```

#![forbid(unsafe_code)]

mod airy;
mod bessel;
mod digamma;
mod gamma;
mod logarithms;
mod modified_bessel;
mod normal;
mod orthogonal;
mod pieces;
mod sample_gradients;
mod tables;
mod zeta;

pub use airy::airy_ai;
pub use bessel::{bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_bessel_j0};
pub use digamma::{digamma, ln_gamma};
pub use gamma::{gamma_p, gamma_q, multivariate_ln_gamma};
pub use logarithms::{entr, xlog1py};
pub use modified_bessel::{i0, i0e, i1, i1e, k0, k0e, k1, k1e};
pub use normal::{erfcx, log_ndtr, ndtr, ndtri};
pub use orthogonal::{
    chebyshev_t, chebyshev_u, chebyshev_v, chebyshev_w, hermite_h, hermite_he, laguerre_l, legendre_p,
    shifted_chebyshev_t, shifted_chebyshev_u, shifted_chebyshev_v, shifted_chebyshev_w,
};
pub use sample_gradients::{dirichlet_gradient, standard_gamma_gradient};
pub use zeta::{polygamma, zeta};

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
