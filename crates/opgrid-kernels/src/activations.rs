//! Activation functions that are too long for closures, and their slopes, of floats.
//!
//! A loop takes them as [`Function`]s. All are vector code.

use crate::functions::Functions;
use crate::special::Special;
use opgrid_array::loops::function::Function;
use opgrid_array::loops::math::Inexact;

/// `x` times the part of a normal distribution that lies below `x`.
#[derive(Clone, Copy)]
pub struct Gelu;

/// GELU with the tanh approximation of the normal distribution.
#[derive(Clone, Copy)]
pub struct GeluByTanh;

/// The slope of [`Gelu`] at the second argument, times the first.
#[derive(Clone, Copy)]
pub struct GeluSlope;

/// The slope of [`GeluByTanh`] at the second argument, times the first.
#[derive(Clone, Copy)]
pub struct GeluByTanhSlope;

/// `x` times the hyperbolic tangent of its softplus.
#[derive(Clone, Copy)]
pub struct Mish;

/// `ln(1 + e^(beta x)) / beta`, and `x` where the exponent is above the threshold.
#[derive(Clone, Copy)]
pub struct Softplus<T> {
    /// The factor of the exponent.
    pub beta: T,
    /// The exponent above which the function is `x`.
    pub threshold: T,
}

/// `scale * x` above zero, `factor * (e^(input_scale x) - 1)` below.
#[derive(Clone, Copy)]
pub struct Elu<T> {
    /// The factor below zero.
    pub factor: T,
    /// The slope above zero.
    pub scale: T,
    /// The factor of the exponent.
    pub input_scale: T,
}

/// `x` times the logistic function of `x`.
#[derive(Clone, Copy)]
pub struct Silu;

impl<T: Inexact> Function<(T,)> for Silu {
    type Output = T;
    const IS_LONG: bool = true;
    const IS_WIDE: bool = T::IS_WIDE;

    #[inline(always)]
    fn call(self, (x,): (T,)) -> T {
        x.times(Inexact::sigmoid(x))
    }
}

/// The slope of [`Gelu`] times a gradient, by these functions.
macro_rules! gelu_slope {
    ($type:ident: $grad:ident, $x:ident, $erfc:ident, $exp:ident) => {{
        let below = 0.5 * Special::$erfc(-$x * std::$type::consts::FRAC_1_SQRT_2);
        let scale = 0.5 * std::$type::consts::FRAC_2_SQRT_PI * std::$type::consts::FRAC_1_SQRT_2;
        $grad * (below + $x * scale * Inexact::$exp(-0.5 * $x * $x))
    }};
}

macro_rules! activations {
    ($($type:ident),*) => {
        $(impl Function<($type,)> for Gelu {
            type Output = $type;
            const IS_LONG: bool = true;

            #[inline(always)]
            fn call(self, (x,): ($type,)) -> $type {
                Special::gelu(x)
            }

            #[inline(always)]
            fn call_unfused(self, (x,): ($type,)) -> $type {
                Special::gelu_unfused(x)
            }
        }

        impl Function<($type,)> for GeluByTanh {
            type Output = $type;
            const IS_LONG: bool = true;

            #[inline(always)]
            fn call(self, (x,): ($type,)) -> $type {
                let root = std::$type::consts::FRAC_2_SQRT_PI * std::$type::consts::FRAC_1_SQRT_2;
                0.5 * x * (1.0 + Inexact::tanh(root * (x + 0.044715 * x * x * x)))
            }
        }

        impl Function<($type, $type)> for GeluSlope {
            type Output = $type;
            const IS_LONG: bool = true;

            #[inline(always)]
            fn call(self, (grad, x): ($type, $type)) -> $type {
                gelu_slope!($type: grad, x, erfc, exp)
            }

            #[inline(always)]
            fn call_unfused(self, (grad, x): ($type, $type)) -> $type {
                gelu_slope!($type: grad, x, erfc_unfused, exp_unfused)
            }
        }

        impl Function<($type, $type)> for GeluByTanhSlope {
            type Output = $type;
            const IS_LONG: bool = true;

            #[inline(always)]
            fn call(self, (grad, x): ($type, $type)) -> $type {
                let root = std::$type::consts::FRAC_2_SQRT_PI * std::$type::consts::FRAC_1_SQRT_2;
                let square = x * x;
                let tanh = Inexact::tanh(root * x * (1.0 + 0.044715 * square));
                let inner = root * (1.0 + 3.0 * 0.044715 * square);
                grad * 0.5 * ((1.0 + tanh) + x * (1.0 - tanh * tanh) * inner)
            }
        }

        impl Function<($type,)> for Mish {
            type Output = $type;
            const IS_LONG: bool = true;

            /// `tanh(ln(1 + e)) = n / (n + 2)` with `n = e (e + 2)`; above 20 that is one.
            #[inline(always)]
            fn call(self, (x,): ($type,)) -> $type {
                let e = Inexact::exp(x);
                let n = e * (e + 2.0);
                if x > 20.0 { x } else { x * (n / (n + 2.0)) }
            }
        }

        impl Function<($type,)> for Elu<$type> {
            type Output = $type;
            const IS_LONG: bool = true;

            #[inline(always)]
            fn call(self, (x,): ($type,)) -> $type {
                let below = Functions::exp_m1(x * self.input_scale) * self.factor;
                if x < 0.0 { below } else { x * self.scale }
            }
        }

        impl Function<($type,)> for Softplus<$type> {
            type Output = $type;
            const IS_LONG: bool = true;

            #[inline(always)]
            fn call(self, (x,): ($type,)) -> $type {
                let exponent = x * self.beta;
                let soft = Functions::ln_1p(Inexact::exp(exponent)) / self.beta;
                if exponent > self.threshold { x } else { soft }
            }
        })*
    };
}

activations!(f32, f64);
