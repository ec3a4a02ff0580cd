//! Modules that follow each other.

use std::fmt;

use opgrid_core::Result;
use opgrid_core::deferred_drop::Flat;
use opgrid_tensor::Tensor;

use crate::module::{Forward, Module, Parts, forward};

/// Modules of one tensor, each of which takes what the one before gives.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::{Conv2d, Flatten, Linear, MaxPool2d, Module, ReLU, Sequential};
/// use opgrid::Tensor;
///
/// let model = Sequential::new()
///     .then(Conv2d::new(1, 4, 3)?.padding(1))
///     .then(ReLU)
///     .then(MaxPool2d::new(2))
///     .then(Flatten)
///     .then(Linear::new(4 * 4 * 4, 10)?);
/// let x = Tensor::ones(&[2, 1, 8, 8], DType::F32, Device::CPU)?;
/// assert_eq!(model.forward(&x)?.sizes(), [2, 10]);
/// let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["0.weight", "0.bias", "4.weight", "4.bias"]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Default)]
pub struct Sequential {
    /// Each may be another `Sequential`, and so on.
    modules: Vec<Flat<Box<dyn Forward + Send + Sync>>>,
}

impl Sequential {
    /// Without modules: gives back its input.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a module at the end. Their names are `0`, `1` and so on.
    #[must_use]
    pub fn then(mut self, module: impl Forward + Send + Sync + 'static) -> Self {
        self.modules.push(Flat::new(Box::new(module)));
        self
    }

    /// What the last module gives.
    ///
    /// # Errors
    ///
    /// Those of the modules, with the module's number.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut x = input.clone();
        for (place, module) in self.modules.iter().enumerate() {
            x = module
                .forward(&x)
                .map_err(|error| error.within(format_args!("module {place} of Sequential")))?;
        }
        Ok(x)
    }
}

impl Module for Sequential {
    fn parts(&self, parts: &mut Parts) {
        for (place, module) in self.modules.iter().enumerate() {
            parts.module(&place.to_string(), &**module);
        }
    }
}

impl fmt::Debug for Sequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequential").field("modules", &self.modules.len()).finish()
    }
}

forward!(Sequential);
