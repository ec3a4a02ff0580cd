//! Activation functions as modules, for `Sequential`; elsewhere the methods of tensors are shorter.

use opgrid_core::Result;
use opgrid_tensor::Tensor;

use crate::module::{Module, Parts, forward};

/// Any function of one tensor, as a module.
///
/// # Examples
///
/// ```
/// use opgrid_nn::{Apply, Linear, Sequential};
/// use opgrid::Tensor;
///
/// let model = Sequential::new().then(Linear::new(2, 3)?).then(Apply(|x| x.softmax(-1)));
/// let y = model.forward(&Tensor::from_slice(&[1.0f32, 2.0], &[1, 2])?)?;
/// assert!((y.sum()?.to_vec::<f32>()?[0] - 1.0).abs() < 1e-6);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Apply(pub fn(&Tensor) -> Result<Tensor>);

impl Apply {
    /// What the function makes of the input.
    ///
    /// # Errors
    ///
    /// Those of the function.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        (self.0)(input)
    }
}

impl Module for Apply {
    fn parts(&self, _: &mut Parts) {}
}

/// `activations!(/// doc; ReLU, |x| x.relu())` declares a module without parts that calls a function.
macro_rules! activations {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl $name {
            /// The function of each element.
            ///
            /// # Errors
            ///
            /// Those of the operator.
            pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
                let function: fn(&Tensor) -> Result<Tensor> = $function;
                function(input)
            }
        }

        impl Module for $name {
            fn parts(&self, _: &mut Parts) {}
        }

        forward!($name);)*
    };
}

activations! {
    /// `max(x, 0)`.
    ReLU = |x| x.relu();
    /// `x` times the part of a normal distribution that lies below it; `Apply(|x| x.gelu_with("tanh"))` is the approximation.
    GELU = |x| x.gelu();
    /// `x * sigmoid(x)`.
    SiLU = |x| x.silu();
    /// The hyperbolic tangent.
    Tanh = |x| x.tanh();
    /// `1 / (1 + exp(-x))`.
    Sigmoid = |x| x.sigmoid();
}

forward!(Apply);
