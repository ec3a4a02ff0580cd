//! Dropout.

use opgrid_core::Result;
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;
use crate::module::{Mode, Module, Parts, forward};

/// Zeroes elements with probability `p` and divides the others by `1 - p`, while it trains.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::{Dropout, Module};
/// use opgrid::Tensor;
///
/// let dropout = Dropout::new(0.5)?;
/// let x = Tensor::ones(&[100], DType::F32, Device::CPU)?;
/// assert!(dropout.forward(&x)?.to_vec::<f32>()?.iter().all(|it| [0.0, 2.0].contains(it)));
/// dropout.eval();
/// assert!(dropout.forward(&x)?.equal(&x)?);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Dropout {
    p: f64,
    mode: Mode,
}

impl Dropout {
    /// Dropout with probability `p`.
    ///
    /// # Errors
    ///
    /// A probability that is not between 0 and 1.
    pub fn new(p: f64) -> Result<Self> {
        check_probability("Dropout", p)?;
        Ok(Self { p, mode: Mode::default() })
    }

    /// The probability of the next call: 0 unless it trains.
    pub(crate) fn probability(&self) -> f64 {
        if self.mode.is_training() { self.p } else { 0.0 }
    }

    /// The input with elements dropped.
    ///
    /// # Errors
    ///
    /// Those of `aten::dropout`.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        match self.probability() {
            0.0 => Ok(input.clone()),
            p => ops::Dropout.call(input, p, true),
        }
    }
}

impl Module for Dropout {
    fn parts(&self, parts: &mut Parts) {
        parts.mode(&self.mode);
    }
}

fn check_probability(module: &str, p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(argument(format!("{module}: found the probability {p}, expected one between 0 and 1")))
    }
}

forward!(Dropout);
