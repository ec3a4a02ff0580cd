//! Computes each element from the elements at its place.

use opgrid_core::Result;

declarations! {
    /// # Arithmetic and functions of single elements
    pointwise {
        abs {
            /// The distance from zero.
            pub Abs = "aten::abs(Tensor self) -> Tensor", in_place, out, method, alias("absolute");
        }

        acos {
            /// The inverse of the cosine.
            pub Acos = "aten::acos(Tensor self) -> Tensor", in_place, out, method, alias("arccos");
        }

        acosh {
            /// The inverse of the hyperbolic cosine.
            pub Acosh = "aten::acosh(Tensor self) -> Tensor", in_place, out, method, alias("arccosh");
        }

        add {
            /// `self + alpha * other`.
            pub AddTensor = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", in_place, out("out"), method, or_number(AddScalar);
            /// `self + alpha * other` with a number.
            pub AddScalar = "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", in_place, out;
        }

        addcdiv {
            /// A quotient of two tensors, scaled and added.
            pub Addcdiv = "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", in_place, out, method;
        }

        addcmul {
            /// A product of two tensors, scaled and added.
            pub Addcmul = "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", in_place, out, method;
        }

        asin {
            /// The inverse of the sine.
            pub Asin = "aten::asin(Tensor self) -> Tensor", in_place, out, method, alias("arcsin");
        }

        asinh {
            /// The inverse of the hyperbolic sine.
            pub Asinh = "aten::asinh(Tensor self) -> Tensor", in_place, out, method, alias("arcsinh");
        }

        atan {
            /// The inverse of the tangent.
            pub Atan = "aten::atan(Tensor self) -> Tensor", in_place, out, method, alias("arctan");
        }

        atan2 {
            /// The angle of a point, by its second and its first coordinate.
            pub Atan2 = "aten::atan2(Tensor self, Tensor other) -> Tensor", in_place, out, method, alias("arctan2");
        }

        atanh {
            /// The inverse of the hyperbolic tangent.
            pub Atanh = "aten::atanh(Tensor self) -> Tensor", in_place, out, method, alias("arctanh");
        }

        bitwise_and {
            /// The bits that both have.
            pub BitwiseAndTensor = "aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(BitwiseAndScalar);
            /// The bits that both have of a number.
            pub BitwiseAndScalar = "aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
            pub BitwiseAndScalarTensor = "aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", out;
            pub AndTensor = "aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor";
            pub AndScalar = "aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor";
            pub IandTensor = "aten::__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
            pub IandScalar = "aten::__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
        }

        bitwise_left_shift {
            /// The bits moved up by so many places.
            pub BitwiseLeftShiftTensor = "aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(BitwiseLeftShiftTensorScalar);
            /// The bits moved up by a number of places.
            pub BitwiseLeftShiftTensorScalar = "aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
            pub BitwiseLeftShiftScalarTensor = "aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", out;
            pub LshiftTensor = "aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", out;
            pub LshiftScalar = "aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", out;
            pub IlshiftTensor = "aten::__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
            pub IlshiftScalar = "aten::__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
        }

        bitwise_not {
            /// The other bits.
            pub BitwiseNot = "aten::bitwise_not(Tensor self) -> Tensor", in_place, out, method;
        }

        bitwise_or {
            /// The bits that one of both has.
            pub BitwiseOrTensor = "aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(BitwiseOrScalar);
            /// The bits that one of both has of a number.
            pub BitwiseOrScalar = "aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
            pub BitwiseOrScalarTensor = "aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", out;
            pub OrTensor = "aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor";
            pub OrScalar = "aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor";
            pub IorTensor = "aten::__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
            pub IorScalar = "aten::__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
        }

        bitwise_right_shift {
            /// The bits moved down by so many places.
            pub BitwiseRightShiftTensor = "aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(BitwiseRightShiftTensorScalar);
            /// The bits moved down by a number of places.
            pub BitwiseRightShiftTensorScalar = "aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
            pub BitwiseRightShiftScalarTensor = "aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", out;
            pub RshiftTensor = "aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", out;
            pub RshiftScalar = "aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", out;
            pub IrshiftTensor = "aten::__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
            pub IrshiftScalar = "aten::__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
        }

        bitwise_xor {
            /// The bits that exactly one of both has.
            pub BitwiseXorTensor = "aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(BitwiseXorScalar);
            /// The bits that exactly one of both has of a number.
            pub BitwiseXorScalar = "aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
            pub BitwiseXorScalarTensor = "aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", out;
            pub XorTensor = "aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor";
            pub XorScalar = "aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor";
            pub IxorTensor = "aten::__ixor__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
            pub IxorScalar = "aten::__ixor__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
        }

        ceil {
            /// The next whole number that is not smaller.
            pub Ceil = "aten::ceil(Tensor self) -> Tensor", in_place, out, method;
        }

        clamp {
            /// Elements limited to a range.
            pub Clamp = "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", in_place, out, method, alias("clip");
            /// Elements limited by those of tensors.
            pub ClampTensor = "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", in_place, out, method(clamp_tensor), alias("clip", in_place, out);
        }

        clamp_max {
            /// Elements that are not above a bound.
            pub ClampMax = "aten::clamp_max(Tensor self, Scalar max) -> Tensor", in_place, out;
            /// Elements that are not above those of a tensor.
            pub ClampMaxTensor = "aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", in_place, out, method, or_number(ClampMax);
        }

        clamp_min {
            /// Elements that are not below a bound.
            pub ClampMin = "aten::clamp_min(Tensor self, Scalar min) -> Tensor", in_place, out;
            /// Elements that are not below those of a tensor.
            pub ClampMinTensor = "aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", in_place, out, method, or_number(ClampMin);
        }

        copysign {
            /// Elements with the sign of others.
            pub CopysignTensor = "aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out("out"), method, or_number(CopysignScalar);
            /// Elements with the sign of a number.
            pub CopysignScalar = "aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        cos {
            /// The cosine of angles in radians.
            pub Cos = "aten::cos(Tensor self) -> Tensor", in_place, out, method;
        }

        cosh {
            /// The hyperbolic cosine.
            pub Cosh = "aten::cosh(Tensor self) -> Tensor", in_place, out, method;
        }

        deg2rad {
            /// Degrees as radians.
            pub Deg2rad = "aten::deg2rad(Tensor self) -> Tensor", in_place, out, method;
        }

        digamma {
            /// The derivative of the logarithm of the gamma function.
            pub Digamma = "aten::digamma(Tensor self) -> Tensor", in_place, out, method, alias("special_digamma", out), alias("special_psi", out);
        }

        div {
            /// The quotient.
            pub DivTensor = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out("out"), method, or_number(DivScalar), alias("divide"), alias("true_divide");
            /// The quotient by a number.
            pub DivScalar = "aten::div.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, alias("divide", in_place), alias("true_divide", in_place);
        }

        div_mode {
            pub DivTensorMode = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", in_place, out("out_mode"), alias("divide");
            pub DivScalarMode = "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", in_place, out, alias("divide", in_place);
        }

        erf {
            /// The error function.
            pub Erf = "aten::erf(Tensor self) -> Tensor", in_place, out, method, alias("special_erf", out);
        }

        erfc {
            /// One minus the error function.
            pub Erfc = "aten::erfc(Tensor self) -> Tensor", in_place, out, method, alias("special_erfc", out);
        }

        erfinv {
            /// The inverse of the error function.
            pub Erfinv = "aten::erfinv(Tensor self) -> Tensor", in_place, out, method, alias("special_erfinv", out);
        }

        exp {
            /// The exponential function.
            pub Exp = "aten::exp(Tensor self) -> Tensor", in_place, out, method;
        }

        exp2 {
            /// Two to the power of elements.
            pub Exp2 = "aten::exp2(Tensor self) -> Tensor", in_place, out, method, alias("special_exp2", out);
        }

        expm1 {
            /// The exponential function less one.
            pub Expm1 = "aten::expm1(Tensor self) -> Tensor", in_place, out, method, alias("special_expm1", out);
        }

        float_power {
            /// Elements to the power of others, in double precision.
            pub FloatPowerTensorTensor = "aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", in_place("Tensor"), out, method, or_number(FloatPowerTensorScalar, FloatPowerInplaceScalar);
            /// Elements to the power of a number, in double precision.
            pub FloatPowerTensorScalar = "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", in_place("Scalar"), out;
            pub FloatPowerScalar = "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", out;
        }

        floor {
            /// The next whole number that is not larger.
            pub Floor = "aten::floor(Tensor self) -> Tensor", in_place, out, method;
        }

        floor_divide {
            /// The quotient, rounded downwards.
            pub FloorDivide = "aten::floor_divide(Tensor self, Tensor other) -> Tensor", in_place("Tensor"), out, method, or_number(FloorDivideScalar);
            /// The quotient by a number, rounded downwards.
            pub FloorDivideScalar = "aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        fmax {
            /// The larger one of two elements, where a number wins over NaN.
            pub Fmax = "aten::fmax(Tensor self, Tensor other) -> Tensor", out, method;
        }

        fmin {
            /// The smaller one of two elements, where a number wins over NaN.
            pub Fmin = "aten::fmin(Tensor self, Tensor other) -> Tensor", out, method;
        }

        fmod {
            /// What a quotient that is rounded towards zero leaves.
            pub FmodTensor = "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(FmodScalar);
            /// What a quotient that is rounded towards zero leaves, of a division by a number.
            pub FmodScalar = "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        frac {
            /// The fraction, without the whole number towards zero.
            pub Frac = "aten::frac(Tensor self) -> Tensor", in_place, out, method;
        }

        frexp {
            /// Numbers as fractions from 0.5 to before 1 times powers of two.
            pub FrexpTensor = "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", out, method(frexp);
        }

        gcd {
            /// The largest integer that divides both of two.
            pub Gcd = "aten::gcd(Tensor self, Tensor other) -> Tensor", in_place, out, method;
        }

        heaviside {
            /// The step from zero to one.
            pub Heaviside = "aten::heaviside(Tensor self, Tensor values) -> Tensor", in_place, out, method;
        }

        hypot {
            /// The length of the hypotenuse of a right triangle.
            pub Hypot = "aten::hypot(Tensor self, Tensor other) -> Tensor", in_place, out, method;
        }

        isfinite {
            /// Whether elements are neither infinite nor NaN.
            pub Isfinite = "aten::isfinite(Tensor self) -> Tensor", method;
        }

        isinf {
            /// Whether elements are infinite.
            pub Isinf = "aten::isinf(Tensor self) -> Tensor", out, method;
        }

        isnan {
            /// Whether elements are NaN.
            pub Isnan = "aten::isnan(Tensor self) -> Tensor", out, method;
        }

        isneginf {
            /// Whether elements are infinite and negative.
            pub Isneginf = "aten::isneginf(Tensor self) -> Tensor", out, method;
        }

        isposinf {
            /// Whether elements are infinite and positive.
            pub Isposinf = "aten::isposinf(Tensor self) -> Tensor", out, method;
        }

        isreal {
            /// Whether elements have no imaginary part.
            pub Isreal = "aten::isreal(Tensor self) -> Tensor", method;
        }

        lcm {
            /// The smallest integer that both of two divide.
            pub Lcm = "aten::lcm(Tensor self, Tensor other) -> Tensor", in_place, out, method;
        }

        ldexp {
            /// Elements times powers of two.
            pub LdexpTensor = "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", in_place(""), out("out"), method;
        }

        lerp {
            /// A part of the way from elements to others.
            pub LerpScalar = "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", in_place, out;
            /// A part of the way from elements to others, of each element its own.
            pub LerpTensor = "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", in_place, out, method, or_number(LerpScalar);
        }

        lgamma {
            /// The logarithm of the gamma function.
            pub Lgamma = "aten::lgamma(Tensor self) -> Tensor", in_place, out, method, alias("special_gammaln", out);
        }

        log {
            /// The natural logarithm.
            pub Log = "aten::log(Tensor self) -> Tensor", in_place, out, method;
        }

        log10 {
            /// The logarithm to base 10.
            pub Log10 = "aten::log10(Tensor self) -> Tensor", in_place, out, method;
        }

        log1p {
            /// The logarithm of one and elements.
            pub Log1p = "aten::log1p(Tensor self) -> Tensor", in_place, out, method, alias("special_log1p", out);
        }

        log2 {
            /// The logarithm to base 2.
            pub Log2 = "aten::log2(Tensor self) -> Tensor", in_place, out, method;
        }

        logaddexp {
            /// The logarithm of a sum of exponential functions.
            pub Logaddexp = "aten::logaddexp(Tensor self, Tensor other) -> Tensor", out, method;
        }

        logaddexp2 {
            /// The logarithm to base 2 of a sum of powers of two.
            pub Logaddexp2 = "aten::logaddexp2(Tensor self, Tensor other) -> Tensor", out, method;
        }

        logical_and {
            /// Whether both elements are other than zero.
            pub LogicalAnd = "aten::logical_and(Tensor self, Tensor other) -> Tensor", in_place, out, method;
        }

        logical_not {
            /// Whether elements are zero.
            pub LogicalNot = "aten::logical_not(Tensor self) -> Tensor", in_place, out, method;
        }

        logical_or {
            /// Whether at least one of two elements is other than zero.
            pub LogicalOr = "aten::logical_or(Tensor self, Tensor other) -> Tensor", in_place, out, method;
        }

        logical_xor {
            /// Whether exactly one of two elements is other than zero.
            pub LogicalXor = "aten::logical_xor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
        }

        logit {
            /// The inverse of the logistic function.
            pub Logit = "aten::logit(Tensor self, float? eps=None) -> Tensor", in_place, out, method, alias("special_logit", out);
            /// The gradient of `logit`.
            pub LogitBackward = "aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", out("grad_input", grad_input);
        }

        maximum {
            /// The larger one of two elements.
            pub Maximum = "aten::maximum(Tensor self, Tensor other) -> Tensor", out, method;
        }

        minimum {
            /// The smaller one of two elements.
            pub Minimum = "aten::minimum(Tensor self, Tensor other) -> Tensor", out, method;
        }

        mul {
            /// The product.
            pub MulTensor = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out("out"), method, or_number(MulScalar), alias("multiply");
            /// The product with a number.
            pub MulScalar = "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, alias("multiply", in_place);
        }

        nan_to_num {
            /// Numbers instead of NaN and infinity.
            pub NanToNum = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", in_place, out, method, arguments();
        }

        neg {
            /// The negative.
            pub Neg = "aten::neg(Tensor self) -> Tensor", in_place, out, method, alias("negative");
        }

        nextafter {
            /// The next number of the dtype in the direction of another one.
            pub Nextafter = "aten::nextafter(Tensor self, Tensor other) -> Tensor", in_place, out, method;
        }

        positive {
            /// Elements as they are: the tensor itself.
            pub Positive = "aten::positive(Tensor(a) self) -> Tensor(a)", method;
        }

        pow {
            /// Elements to the power of others.
            pub PowTensorTensor = "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", in_place("Tensor"), out, method, or_number(PowTensorScalar, PowInplaceScalar);
            /// Elements to the power of a number.
            pub PowTensorScalar = "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", in_place("Scalar"), out;
            pub PowScalar = "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", out;
        }

        rad2deg {
            /// Radians as degrees.
            pub Rad2deg = "aten::rad2deg(Tensor self) -> Tensor", in_place, out, method;
        }

        reciprocal {
            /// One divided by each element.
            pub Reciprocal = "aten::reciprocal(Tensor self) -> Tensor", in_place, out, method;
        }

        relu {
            /// Zero instead of negative numbers.
            pub Relu = "aten::relu(Tensor self) -> Tensor", in_place, out, method;
        }

        remainder {
            /// What a quotient that is rounded downwards leaves.
            pub RemainderTensor = "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(RemainderScalar);
            /// What a quotient that is rounded downwards leaves, of a division by a number.
            pub RemainderScalar = "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
            pub RemainderScalarTensor = "aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", out;
        }

        round {
            /// The nearest whole number, the even one of two.
            pub Round = "aten::round(Tensor self) -> Tensor", in_place, out, method;
        }

        round_decimals {
            /// The nearest number with so many decimals.
            pub RoundDecimals = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor", in_place, out, method(round_decimals);
            /// As `round.decimals`.
            pub SpecialRound = "aten::special_round(Tensor self, *, int decimals=0) -> Tensor", out;
        }

        rsqrt {
            /// One divided by the square root.
            pub Rsqrt = "aten::rsqrt(Tensor self) -> Tensor", in_place, out, method;
        }

        rsub {
            pub RsubTensor = "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", method, or_number(RsubScalar);
            /// `other - alpha * self` with a number.
            pub RsubScalar = "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor";
        }

        sgn {
            /// The number at distance one from zero in the direction of elements, or zero.
            pub Sgn = "aten::sgn(Tensor self) -> Tensor", in_place, out, method;
        }

        sigmoid {
            /// The logistic function.
            pub Sigmoid = "aten::sigmoid(Tensor self) -> Tensor", in_place, out, method, alias("special_expit", out);
        }

        sigmoid_backward {
            /// The slope of `sigmoid` by its result, times what stands in front of it; complex slopes are conjugated.
            pub SigmoidBackward = "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", out("grad_input", grad_input);
        }

        sign {
            /// One with the sign of elements, or zero.
            pub Sign = "aten::sign(Tensor self) -> Tensor", in_place, out, method;
        }

        signbit {
            /// Whether elements are negative, minus zero included.
            pub Signbit = "aten::signbit(Tensor self) -> Tensor", out, method;
        }

        sin {
            /// The sine of angles in radians.
            pub Sin = "aten::sin(Tensor self) -> Tensor", in_place, out, method;
        }

        sinc {
            /// The sine of pi times elements, divided by its angle.
            pub Sinc = "aten::sinc(Tensor self) -> Tensor", in_place, out, method, alias("special_sinc", out);
        }

        sinh {
            /// The hyperbolic sine.
            pub Sinh = "aten::sinh(Tensor self) -> Tensor", in_place, out, method;
        }

        sqrt {
            /// The square root.
            pub Sqrt = "aten::sqrt(Tensor self) -> Tensor", in_place, out, method;
        }

        square {
            /// Elements times themselves.
            pub Square = "aten::square(Tensor self) -> Tensor", in_place, out, method;
        }

        sub {
            /// `self - alpha * other`.
            pub SubTensor = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", in_place, out("out"), method, or_number(SubScalar), alias("subtract");
            /// `self - alpha * other` with a number.
            pub SubScalar = "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", in_place, out, alias("subtract", in_place);
        }

        tan {
            /// The tangent of angles in radians.
            pub Tan = "aten::tan(Tensor self) -> Tensor", in_place, out, method;
        }

        tanh {
            /// The hyperbolic tangent.
            pub Tanh = "aten::tanh(Tensor self) -> Tensor", in_place, out, method;
        }

        tanh_backward {
            /// The slope of `tanh` by its result, times what stands in front of it; complex slopes are conjugated.
            pub TanhBackward = "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", out("grad_input", grad_input);
        }

        trunc {
            /// The whole number towards zero.
            pub Trunc = "aten::trunc(Tensor self) -> Tensor", in_place, out, method, alias("fix");
        }

        where_self {
            /// `self` where `condition` is true, `other` elsewhere.
            pub WhereSelf = "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", out;
            pub WhereScalarSelf = "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor";
            pub WhereScalarOther = "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor";
            /// Where `condition` is other than zero: the indices for each dimension.
            pub Where = "aten::where(Tensor condition) -> Tensor[]";
            pub WhereScalar = "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor";
        }

        xlogy {
            /// Elements times the logarithm of others.
            pub XlogyTensor = "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out("OutTensor"), method;
            pub XlogyScalarOther = "aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", in_place, out("OutScalar_Other");
            pub XlogyScalarSelf = "aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", out("OutScalar_Self");
            /// As `xlogy`.
            pub SpecialXlogy = "aten::special_xlogy(Tensor self, Tensor other) -> Tensor", out;
            pub SpecialXlogyOtherScalar = "aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", out;
            pub SpecialXlogySelfScalar = "aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", out;
        }
    }
}

/// # Rounded division, and choosing elements
impl Tensor {
    /// The quotient, rounded as `rounding_mode` says: "trunc" towards zero, "floor" downwards.
    ///
    /// # Errors
    ///
    /// Those of [`DivTensorMode`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::from_slice(&[-7i64, 7], &[2])?;
    /// let two = Tensor::number(2);
    /// assert_eq!(x.div_rounded(&two, "floor")?.to_vec::<i64>()?, [-4, 3]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn div_rounded<'m>(&self, other: &Self, rounding_mode: impl Into<Option<&'m str>>) -> Result<Self> {
        DivTensorMode.call(self, other, rounding_mode.into())
    }

    /// The elements of `input` where `condition` holds, and those of `other` elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`WhereSelf`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::{Tensor, tensor};
    ///
    /// let x = tensor![-1.0, 2.0]?;
    /// assert_eq!(Tensor::where_(&x.gt(0)?, &x, &x.mul(0.1)?)?.to_vec::<f32>()?, [-0.1, 2.0]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn where_(condition: &Self, input: &Self, other: &Self) -> Result<Self> {
        WhereSelf.call(condition, input, other)
    }
}
