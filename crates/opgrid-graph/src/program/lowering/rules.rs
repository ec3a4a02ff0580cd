//! How each operator that can be fused is computed.

use opgrid_core::{DType, Result, Scalar};
use opgrid_jit::{Binary, Comparison, Unary, Value, elementary_function, functions};
use opgrid_kernels::activations::{Gelu, GeluByTanh, Mish, Silu};
use opgrid_kernels::functions as elementary;
use opgrid_kernels::special;

use super::{Call, unsupported};

/// Adds what an operator computes to an expression; the result is converted to the dtype that the operator gives.
pub(super) type Rule = fn(&mut Call<'_>) -> Result<Value>;

/// The rules, each with the overloads that it is for.
pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["aten::add.Tensor", "aten::add.Scalar"], |it| it.scaled(Binary::Add, "self", "other")),
    (&["aten::sub.Tensor", "aten::sub.Scalar"], |it| it.scaled(Binary::Subtract, "self", "other")),
    (&["aten::rsub.Tensor", "aten::rsub.Scalar"], |it| it.scaled(Binary::Subtract, "other", "self")),
    (&["aten::mul.Tensor", "aten::mul.Scalar"], |it| it.factor(Binary::Multiply, it.result)),
    (&["aten::div.Tensor", "aten::div.Scalar"], |it| it.factor(Binary::Divide, it.result)),
    (&["aten::neg"], |it| it.unary(Unary::Negate)),
    (&["aten::abs"], |it| it.unary(Unary::Absolute)),
    (&["aten::sqrt"], |it| it.unary(Unary::SquareRoot)),
    (&["aten::rsqrt"], |it| {
        let root = it.unary(Unary::SquareRoot)?;
        it.reciprocal(root)
    }),
    (&["aten::reciprocal"], |it| {
        let x = it.operand("self", it.result)?;
        it.reciprocal(x)
    }),
    (&["aten::square"], |it| it.power(2)),
    (&["aten::pow.Tensor_Scalar"], |it| match it.number("exponent")? {
        Scalar::Int(2) | Scalar::Float(2.0) => it.power(2),
        Scalar::Int(3) | Scalar::Float(3.0) => it.power(3),
        Scalar::Float(0.5) if it.result != DType::F16 => it.unary(Unary::SquareRoot),
        Scalar::Float(-0.5) if it.result != DType::F16 => {
            let root = it.unary(Unary::SquareRoot)?;
            it.reciprocal(root)
        }
        exponent => Err(unsupported(format_args!("powers of {exponent} are not fused"))),
    }),
    (&["aten::exp"], |it| it.elementary(functions::exp)),
    (&["aten::log"], |it| it.elementary(functions::log)),
    (&["aten::sigmoid"], |it| it.elementary(functions::sigmoid)),
    (&["aten::tanh"], |it| it.elementary(functions::tanh)),
    (&["aten::exp2"], |it| {
        it.elementary(|dtype| elementary_function!(dtype, "exp2", elementary::PowerOfTwo))
    }),
    (&["aten::expm1"], |it| {
        it.elementary(|dtype| elementary_function!(dtype, "expm1", elementary::ExponentialLessOne))
    }),
    (&["aten::log1p"], |it| {
        it.elementary(|dtype| elementary_function!(dtype, "log1p", elementary::LogarithmOfOneAnd))
    }),
    (&["aten::log2"], |it| {
        it.elementary(|dtype| elementary_function!(dtype, "log2", elementary::BinaryLogarithm))
    }),
    (&["aten::log10"], |it| {
        it.elementary(|dtype| elementary_function!(dtype, "log10", elementary::DecimalLogarithm))
    }),
    (&["aten::sin"], |it| it.elementary(|dtype| elementary_function!(dtype, "sin", elementary::Sine))),
    (&["aten::cos"], |it| it.elementary(|dtype| elementary_function!(dtype, "cos", elementary::Cosine))),
    (&["aten::atan"], |it| {
        it.elementary(|dtype| elementary_function!(dtype, "atan", elementary::ArcTangent))
    }),
    (&["aten::erf"], |it| it.elementary(|dtype| elementary_function!(dtype, "erf", special::ErrorFunction))),
    (&["aten::gelu"], |it| match it.text("approximate")? {
        "tanh" => it.elementary(|dtype| elementary_function!(dtype, "gelu by tanh", GeluByTanh)),
        _ => it.elementary(|dtype| elementary_function!(dtype, "gelu", Gelu)),
    }),
    (&["aten::silu"], |it| it.elementary(|dtype| elementary_function!(dtype, "silu", Silu))),
    (&["aten::mish"], |it| it.elementary(|dtype| elementary_function!(dtype, "mish", Mish))),
    (&["aten::relu"], |it| it.clamped(Some(Scalar::Int(0)), None)),
    (&["aten::leaky_relu"], |it| {
        let x = it.operand("self", it.result)?;
        let slope = it.number("negative_slope")?;
        let dtype = it.expression.dtype(x);
        let (slope, zero) = (it.constant(slope, dtype)?, it.constant(Scalar::Int(0), dtype)?);
        let scaled = it.expression.binary(Binary::Multiply, x, slope)?;
        let is_above = it.expression.compare(Comparison::Less, zero, x)?;
        it.expression.select(is_above, x, scaled)
    }),
    (&["aten::hardtanh"], |it| {
        let (low, high) = (it.number("min_val")?, it.number("max_val")?);
        it.clamped(Some(low), Some(high))
    }),
    (&["aten::clamp"], |it| {
        let (low, high) = (it.optional_number("min")?, it.optional_number("max")?);
        it.clamped(low, high)
    }),
    (&["aten::clamp_min"], |it| {
        let low = it.number("min")?;
        it.clamped(Some(low), None)
    }),
    (&["aten::clamp_max"], |it| {
        let high = it.number("max")?;
        it.clamped(None, Some(high))
    }),
    (&["aten::maximum"], |it| it.binary(Binary::Larger, "self", "other")),
    (&["aten::minimum"], |it| it.binary(Binary::Smaller, "self", "other")),
    (&["aten::eq.Tensor", "aten::eq.Scalar"], |it| it.compare(Comparison::Equal, "self", "other")),
    (&["aten::ne.Tensor", "aten::ne.Scalar"], |it| it.compare(Comparison::NotEqual, "self", "other")),
    (&["aten::lt.Tensor", "aten::lt.Scalar"], |it| it.compare(Comparison::Less, "self", "other")),
    (&["aten::le.Tensor", "aten::le.Scalar"], |it| it.compare(Comparison::LessEqual, "self", "other")),
    (&["aten::gt.Tensor", "aten::gt.Scalar"], |it| it.compare(Comparison::Less, "other", "self")),
    (&["aten::ge.Tensor", "aten::ge.Scalar"], |it| it.compare(Comparison::LessEqual, "other", "self")),
    (&["aten::where.self", "aten::where.ScalarSelf", "aten::where.ScalarOther"], |it| {
        let condition = it.stored("condition", DType::Bool)?;
        let dtype = it.result;
        let (a, b) = (it.stored("self", dtype)?, it.stored("other", dtype)?);
        it.expression.select(condition, a, b)
    }),
    (&["aten::logical_and"], |it| it.logical(Binary::And)),
    (&["aten::logical_or"], |it| it.logical(Binary::Or)),
    (&["aten::logical_xor"], |it| it.logical(Binary::Xor)),
    (&["aten::logical_not"], |it| {
        let x = it.operand("self", DType::Bool)?;
        it.expression.unary(Unary::Not, x)
    }),
    (&["aten::bitwise_and.Tensor", "aten::bitwise_and.Scalar"], |it| it.binary(Binary::And, "self", "other")),
    (&["aten::bitwise_or.Tensor", "aten::bitwise_or.Scalar"], |it| it.binary(Binary::Or, "self", "other")),
    (&["aten::bitwise_xor.Tensor", "aten::bitwise_xor.Scalar"], |it| it.binary(Binary::Xor, "self", "other")),
    (&["aten::bitwise_not"], |it| it.unary(Unary::Not)),
    (&["aten::floor"], |it| it.rounded(Unary::Floor)),
    (&["aten::ceil"], |it| it.rounded(Unary::Ceil)),
    (&["aten::trunc"], |it| it.rounded(Unary::Trunc)),
    (&["aten::round"], |it| it.rounded(Unary::Round)),
    (&["aten::addcmul"], |it| {
        let dtype = it.result;
        let value = it.number("value")?;
        let value = it.constant(value, super::arithmetic_dtype(dtype))?;
        let (x, a) = (it.operand("self", dtype)?, it.operand("tensor1", dtype)?);
        let b = it.operand("tensor2", dtype)?;
        let scaled = it.expression.binary(Binary::Multiply, value, a)?;
        let product = it.expression.binary(Binary::Multiply, scaled, b)?;
        it.expression.binary(Binary::Add, x, product)
    }),
    (&["aten::tanh_backward"], |it| {
        let dtype = it.result;
        let (grad, out) = (it.operand("grad_output", dtype)?, it.operand("output", dtype)?);
        let one = it.constant(Scalar::Int(1), dtype)?;
        let square = it.expression.binary(Binary::Multiply, out, out)?;
        let slope = it.expression.binary(Binary::Subtract, one, square)?;
        it.expression.binary(Binary::Multiply, grad, slope)
    }),
    (&["aten::sigmoid_backward"], |it| {
        let dtype = it.result;
        let (grad, out) = (it.operand("grad_output", dtype)?, it.operand("output", dtype)?);
        let one = it.constant(Scalar::Int(1), dtype)?;
        let rest = it.expression.binary(Binary::Subtract, one, out)?;
        let scaled = it.expression.binary(Binary::Multiply, grad, rest)?;
        it.expression.binary(Binary::Multiply, scaled, out)
    }),
    (&["aten::threshold_backward"], |it| {
        let dtype = it.promoted(&["grad_output", "self"])?;
        let (grad, x) = (it.operand("grad_output", dtype)?, it.operand("self", dtype)?);
        let threshold = it.number("threshold")?;
        let threshold = it.constant(threshold, super::arithmetic_dtype(dtype))?;
        let zero = it.constant(Scalar::Int(0), dtype)?;
        let is_below = it.expression.compare(Comparison::LessEqual, x, threshold)?;
        it.expression.select(is_below, zero, grad)
    }),
    (&["aten::_to_copy"], |it| {
        it.expect_none(&["layout", "device", "pin_memory"])?;
        it.stored("self", it.result)
    }),
    (&["aten::to.dtype"], |it| {
        if it.dtype("self")? == it.result {
            return Err(unsupported("the result may be the argument itself"));
        }
        it.stored("self", it.result)
    }),
];

impl Call<'_> {
    /// One divided by a float.
    fn reciprocal(&mut self, x: Value) -> Result<Value> {
        let one = self.constant(Scalar::Int(1), self.result)?;
        self.expression.binary(Binary::Divide, one, x)
    }

    /// The product of `self` with itself, so many times.
    fn power(&mut self, exponent: usize) -> Result<Value> {
        let x = self.operand("self", self.result)?;
        let mut product = x;
        for _ in 1..exponent {
            product = self.expression.binary(Binary::Multiply, product, x)?;
        }
        Ok(product)
    }
}
