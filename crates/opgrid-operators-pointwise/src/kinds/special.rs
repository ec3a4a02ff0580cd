//! What special functions share: loops over functions of `f64`, shapes, parts of derivatives, and references.

use opgrid_core::{Error, ErrorKind};
use opgrid_kinds::prelude::*;
use opgrid_tensor::ops::WhereScalarSelf;
use opgrid_tensor::tensor::Element;

/// Fills an output with what a function gives for elements, in double precision whatever the dtype: one loop for all functions.
pub(crate) fn unary(input: &Tensor, out: &Tensor, function: fn(f64) -> f64) -> Result<()> {
    unary_with(input, out, function)
}

/// As [`unary`], for functions that hold a number.
pub(crate) fn unary_with(
    input: &Tensor,
    out: &Tensor,
    function: impl Fn(f64) -> f64 + Copy + Sync + 'static,
) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => {
        elementwise::unary::<T, T>(out, input, move |a| function(a.cast()).cast())
    })
}

/// Fills an output with what a function gives for pairs of elements, in double precision whatever the dtype.
pub(crate) fn binary(
    input: &Tensor,
    other: &Tensor,
    out: &Tensor,
    function: fn(f64, f64) -> f64,
) -> Result<()> {
    let dtype = inexact(result_type(&[input, other])?);
    with_dtype!(dtype, T: Float => {
        elementwise::binary::<T, T, T>(out, input, other, move |a, b| function(a.cast(), b.cast()).cast())
    })
}

/// The spec of a function of one tensor `x`, which is not complex.
pub(crate) fn real_unary_of_x(x: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[x])?;
    pointwise::inexact([("x", x)])
}

/// The spec of polynomials of `x` of degree `n`.
pub(crate) fn polynomial(x: &Tensor, n: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[x, n])?;
    pointwise::inexact([("x", x), ("n", n)])
}

/// The spec of a function of two tensors that promote to a floating-point dtype.
pub(crate) fn float_binary(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_float(spec.dtype()).map(|()| spec)
}

/// An odd function over `x`, for functions that begin like half the identity: one half at zero, where its own slope is zero.
pub(crate) fn over_x(function: &Tensor, x: &Tensor) -> Result<Tensor> {
    let is_zero = x.eq(0)?;
    // What is not chosen must be finite, or its own gradient is none.
    let quotient = (function / x.masked_fill(&is_zero, 1)?)?;
    WhereScalarSelf.call(&is_zero, Scalar::Float(0.5), &quotient)
}

/// The density of the gamma distribution of shape `a`.
pub(crate) fn gamma_density(a: &Tensor, x: &Tensor) -> Result<Tensor> {
    let exponent = (((a - 1)? * x.log()?)? - (x + a.lgamma()?)?)?;
    exponent.exp()
}

/// The error of a gradient of `self` where only that of `other` is known.
///
/// # Errors
///
/// Always.
pub(crate) fn without_gradient(operator: &str) -> Result<Tensor> {
    Err(Error::new(
        ErrorKind::NotImplemented,
        format!("the derivative of {operator} by `self` is not implemented, as in torch; detach `self`"),
    ))
}

/// Samples of special functions, and other ways to compute them.
#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::Operator;
    use std::f64::consts::{PI, SQRT_2};

    use super::*;
    use opgrid_samples::prelude::*;

    /// Degrees of polynomials whose values have few enough digits for recurrences and sums to be the same.
    const DEGREES: [i64; 6] = [2, 0, 3, 1, 9, 5];

    /// Adds samples of polynomials by tensors, by a number as `x`, and by one as `n`.
    pub(crate) fn polynomial<T: Operator, X: Operator, N: Operator>(
        samples: &mut Samples,
        (tensors, number_first, number): (T, X, N),
        value: fn(f64, i64) -> f64,
    ) {
        let reference = move |it: &Inputs| {
            it.binary(DTypeRule::Inexact, |x, n| {
                let n = n.to_complex().re;
                Scalar::Float(if n < 0.0 { 0.0 } else { value(x.to_complex().re, n as i64) })
            })
        };
        samples.operator_with(tensors, ORDERED, degrees, reference).tolerance(256.0);
        samples.operator_with(number, ORDERED, degree, reference).tolerance(256.0).constant(&["x"]);
        let of_number = |dtype| {
            let degrees = |sizes: &[i64]| Plain::from_elements(dtype, sizes, &DEGREES);
            let numbers = [Scalar::Float(0.5), Scalar::Float(-1.75), Scalar::Int(2), Scalar::Bool(true)];
            let edges = [given(2).and(degrees(&[])), given(2).and(degrees(&[0]))];
            numbers.map(|number| given(number).and(degrees(&[6]))).into_iter().chain(edges).collect()
        };
        samples.operator_with(number_first, ORDERED, of_number, reference).tolerance(256.0).constant(&["n"]);
        samples.rounds(tensors, Roundings::all(Rounding::Near(256)));
        samples.differs_as(tensors, &[POLYNOMIALS_BEYOND_THE_RANGE, LARGE_DEGREES]);
    }

    const POLYNOMIALS_BEYOND_THE_RANGE: Difference = Difference {
        id: "polynomials-beyond-the-range",
        what: "torch computes polynomials in the dtype of the result, and subtracts infinities in the steps \
             after the first one that is too large, which gives NaN; here they are computed in double \
             precision, and become infinite where the polynomial is too large for the dtype",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/special.rs", "polynomials_beyond_the_range"),
        when: |seen| seen.each(|(_, ours, torch)| ours.re.is_infinite() && torch.re.is_nan()),
        directed: None,
    };

    const LARGE_DEGREES: Difference = Difference {
        id: "polynomials-of-large-degrees",
        what: "torch multiplies an angle by a degree above a million in the dtype of the result, so that no digit \
             of the angle is left, doubles degrees beyond 63 bits, which wraps, and takes a step for each degree, \
             which may not end; here the angle is multiplied in double precision, degrees do not wrap, and steps \
             end at a degree of about a million",
        why: "a call must end, and values must not wrap",
        test: ("opgrid-operators/tests/all/differences/special.rs", "polynomials_of_large_degrees"),
        when: |seen| {
            let is_met = !seen.elements.is_empty() || seen.torch_refuses(differences::DIED);
            is_met && seen.elements_of("n").iter().any(|n| n.norm() > 1e6)
        },
        directed: None,
    };

    /// Differences for Bessel functions of the first and second kind.
    pub(crate) const BESSEL: Difference = Difference {
        id: "bessel-functions-keep-their-digits",
        what: "torch loses digits of Bessel functions in the middle of the range, with errors of up to 3e-6 around 5, and all of \
             them beyond 1e9, where the waves are as small as that; here they are right to a few units of double precision",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/special.rs", "bessel_functions_keep_their_digits"),
        when: |seen| seen.each(|(_, ours, torch)| (ours.re - torch.re).abs() <= 3e-6),
        directed: None,
    };

    /// Differences for the Airy function.
    pub(crate) const AIRY: Difference = Difference {
        id: "airy-functions-keep-their-digits",
        what: "torch loses digits of the Airy function below -2, with errors of up to 3e-6, and all digits far below; here \
             they are right to a few units of double precision",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/special.rs", "bessel_functions_keep_their_digits"),
        when: |seen| {
            let lowest = seen.elements_of("x").iter().map(|x| x.re).fold(0.0, f64::min);
            // The envelope of the waves where their angle has lost its digits.
            let most = if lowest < -1e4 { 0.12 } else { 3e-6 };
            lowest < -2.0 && seen.each(|(_, ours, torch)| (ours.re - torch.re).abs() <= most)
        },
        directed: None,
    };

    /// Differences for modified Bessel functions of the first kind.
    pub(crate) const MODIFIED: Difference = Difference {
        id: "modified-bessel-functions-before-their-overflow",
        what: "torch multiplies an exponential that overflows by a small number, so that modified Bessel functions are \
             infinite before they are too large for the dtype; here they are finite there",
        why: "the result is representable",
        test: (
            "opgrid-operators/tests/all/differences/special.rs",
            "functions_near_the_ends_of_their_ranges",
        ),
        when: |seen| seen.each(|(_, ours, torch)| ours.re.is_finite() && torch.re.is_infinite()),
        directed: None,
    };

    /// Differences for derivatives of the digamma function.
    pub(crate) const POLES: Difference = Difference {
        id: "poles-of-the-trigamma-function",
        what: "torch's trigamma function has errors of up to 5e-8, and reflects negative integers by the sine of a rounded number, \
             which gives a large number instead of infinity; here it is right to double precision, and these poles are infinite",
        why: "the mathematical result",
        test: (
            "opgrid-operators/tests/all/differences/special.rs",
            "functions_near_the_ends_of_their_ranges",
        ),
        when: |seen| {
            let is_first = seen.number("n").is_some_and(|n| n.to_complex().re == 1.0);
            let is_pole = |ours: f64, torch: f64| ours.is_infinite() && torch > 1e8;
            let is_near = |ours: f64, torch: f64| (ours - torch).abs() <= 1e-7 * ours.abs();
            is_first && seen.each(|(_, ours, torch)| is_pole(ours.re, torch.re) || is_near(ours.re, torch.re))
        },
        directed: None,
    };

    /// Differences for incomplete gamma functions.
    pub(crate) const INCOMPLETE: Difference = Difference {
        id: "incomplete-gamma-functions-at-the-ends",
        what: "torch's incomplete gamma functions give NaN or 0 for the smallest and largest shapes and for infinite shapes \
             with NaN; here they give their limits, and NaN for NaN",
        why: "the mathematical result",
        test: (
            "opgrid-operators/tests/all/differences/special.rs",
            "functions_near_the_ends_of_their_ranges",
        ),
        when: |seen| {
            let is_limit = |x: f64| x == 0.0 || x == 1.0 || x.is_nan();
            let is_end = |a: &Complex64| a.re.abs() < 1e-37 || a.re > 1e30;
            seen.each(|(_, ours, torch)| is_limit(ours.re) && is_limit(torch.re))
                && seen.elements_of("self").iter().any(is_end)
        },
        directed: None,
    };

    /// Differences for the zeta function.
    pub(crate) const ZETA: Difference = Difference {
        id: "zeta-functions-of-large-numbers",
        what: "torch's zeta function gives NaN where powers of large numbers overflow on the way; here it gives their limit, \
             zero",
        why: "the mathematical result",
        test: (
            "opgrid-operators/tests/all/differences/special.rs",
            "functions_near_the_ends_of_their_ranges",
        ),
        when: |seen| seen.each(|(_, ours, torch)| ours.re == 0.0 && torch.re.is_nan()),
        directed: None,
    };

    fn degrees(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 6] =
            [[&[2, 3], &[2, 3]], [&[2, 1], &[6]], [&[], &[6]], [&[3], &[]], [&[0], &[1]], [&[37, 2], &[2]]];
        let one = |[x, n]: [&[i64]; 2]| {
            given(generate::numbers(dtype, x, 1)).and(Plain::from_elements(dtype, n, &DEGREES))
        };
        let whole = Plain::from_elements(generate::beside(dtype, DType::I64), &[6], &DEGREES);
        let ends = Plain::from_elements(dtype, &[3, 1], &[1, 0, -1]);
        let negative = Plain::from_elements(dtype, &[3], &[-2, 1, 4]);
        let signed = dtype.is_signed().then(|| given(ends).and(negative));
        let mixed = given(generate::numbers(dtype, &[2, 1], 1)).and(whole);
        shapes.into_iter().map(one).chain([mixed]).chain(signed).collect()
    }

    fn degree(dtype: DType) -> Vec<Sample> {
        let x = || generate::numbers(dtype, &[2, 3], 1);
        let mut samples: Vec<_> = DEGREES.map(|n| given(x()).and(n)).into();
        samples.push(given(x()).and(2.5));
        samples.push(given(x()).and(-1));
        samples.extend([&[][..], &[0]].map(|sizes| given(generate::numbers(dtype, sizes, 1)).and(2)));
        samples
    }

    /// Tensors beside numbers from one to a few.
    pub(crate) fn with_number(dtype: DType) -> Vec<Sample> {
        let numbers = [Scalar::Float(1.5), Scalar::Float(2.25), Scalar::Int(3), Scalar::Int(1)];
        let beside = numbers.map(|number| given(generate::numbers(dtype, &[2, 3], 1)).and(number));
        let edges = [&[][..], &[0]].map(|sizes| given(generate::numbers(dtype, sizes, 1)).and(2));
        beside.into_iter().chain(edges).collect()
    }

    /// Pairs of floats that promote to the dtype.
    pub(crate) fn float_pairs(dtype: DType) -> Vec<Sample> {
        generate::computed_in(FLOATS, dtype, generate::pairs_to_divide(dtype))
    }

    /// The sum of a function at the middles of so many parts of an interval, times their length.
    fn integral(low: f64, high: f64, count: u32, function: impl Fn(f64) -> f64) -> f64 {
        let width = (high - low) / f64::from(count);
        (0..count).map(|k| function(low + (f64::from(k) + 0.5) * width)).sum::<f64>() * width
    }

    /// The integral by Boole's rule, for functions that are not periodic.
    fn boole(low: f64, high: f64, function: impl Fn(f64) -> f64) -> f64 {
        const COUNT: u32 = 4000;
        let width = (high - low) / f64::from(COUNT);
        let weight = |k: u32| match (k, k % 4) {
            (0 | COUNT, _) => 7.0,
            (_, 0) => 14.0,
            (_, 2) => 12.0,
            _ => 32.0,
        };
        (0..=COUNT).map(|k| weight(k) * function(low + f64::from(k) * width)).sum::<f64>() * width * 2.0
            / 45.0
    }

    /// Bessel's integral of the first kind.
    pub(crate) fn first(order: u32, x: f64) -> f64 {
        let order = f64::from(order);
        integral(0.0, PI, 400, |angle| (order * angle - x * angle.sin()).cos()) / PI
    }

    /// Bessel's integrals of the second kind.
    pub(crate) fn second(order: u32, x: f64) -> f64 {
        if x == 0.0 {
            return f64::NEG_INFINITY;
        }
        if x < 0.0 {
            return f64::NAN;
        }
        let (n, sign) = (f64::from(order), if order == 0 { 1.0 } else { -1.0 });
        let waves = boole(0.0, PI, |angle| (x * angle.sin() - n * angle).sin());
        let end = (45.0 / x).asinh();
        let rest = boole(0.0, end, |t| ((n * t).exp() + sign * (-n * t).exp()) * (-x * t.sinh()).exp());
        (waves - rest) / PI
    }

    /// The integral of the modified function of the first kind.
    pub(crate) fn modified_first(order: u32, x: f64) -> f64 {
        let order = f64::from(order);
        integral(0.0, PI, 400, |angle| (x * angle.cos()).exp() * (order * angle).cos()) / PI
    }

    /// The integral of the modified function of the second kind.
    pub(crate) fn modified_second(order: f64, x: f64) -> f64 {
        scaled_modified_second(order, x) * (-x).exp()
    }

    /// The integral of the modified function of the second kind, times `exp(x)`.
    pub(crate) fn scaled_modified_second(order: f64, x: f64) -> f64 {
        if x == 0.0 {
            return f64::INFINITY;
        }
        if x < 0.0 {
            return f64::NAN;
        }
        let end = (1.0 + 45.0 / x).acosh();
        boole(0.0, end, |t| (-2.0 * x * (0.5 * t).sinh().powi(2)).exp() * (order * t).cosh())
    }

    /// The sine over the angle.
    pub(crate) fn spherical(x: f64) -> f64 {
        if x == 0.0 { 1.0 } else { x.sin() / x }
    }

    /// The Airy function: by an integral for positive numbers, by steps of a Taylor series from zero for negative ones.
    pub(crate) fn airy(x: f64) -> f64 {
        if x > 0.0 {
            return (x / 3.0).sqrt() / PI * modified_second(1.0 / 3.0, 2.0 / 3.0 * x * x.sqrt());
        }
        let (mut value, mut slope) = (0.355_028_053_887_817_2, -0.258_819_403_792_806_8);
        const COUNT: u32 = 200;
        let step = x / f64::from(COUNT);
        for k in 0..COUNT {
            let at = f64::from(k) * step;
            // Coefficients by `(j + 1) (j + 2) c[j + 2] = at c[j] + c[j - 1]`.
            let mut c = [0.0; 24];
            (c[0], c[1]) = (value, slope);
            for j in 0..c.len() - 2 {
                let before = if j == 0 { 0.0 } else { c[j - 1] };
                c[j + 2] = (at * c[j] + before) / ((j + 1) * (j + 2)) as f64;
            }
            value = c.iter().rev().fold(0.0, |sum, c| sum * step + c);
            slope = (1..c.len()).rev().fold(0.0, |sum, j| sum * step + j as f64 * c[j]);
        }
        value
    }

    /// The scaled complement of the error function, by its integral.
    pub(crate) fn scaled_complement(x: f64) -> f64 {
        let start = (-x).max(0.0);
        boole(0.0, start + 8.0, |t| (-t * t - 2.0 * x * t).exp()) * 2.0 / PI.sqrt()
    }

    /// The part of a normal distribution below a number.
    pub(crate) fn normal(x: f64) -> f64 {
        0.5 * libm::erfc(-x / SQRT_2)
    }

    /// The number below which a part of a normal distribution lies, by halving the interval in which it lies.
    pub(crate) fn quantile(p: f64) -> f64 {
        if p.is_nan() || !(0.0..=1.0).contains(&p) {
            return f64::NAN;
        }
        if p == 0.0 || p == 1.0 {
            return (p - 0.5) * f64::INFINITY;
        }
        let (mut low, mut high) = (-40.0, 40.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if normal(middle) < p { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// The zeta function, by two thousand terms and the first corrections of the integral that follows.
    pub(crate) fn zeta(x: f64, q: f64) -> f64 {
        const COUNT: u32 = 2000;
        if x == 1.0 {
            return f64::INFINITY;
        }
        if x < 1.0 {
            return f64::NAN;
        }
        if q <= 0.0 && q == q.floor() {
            return f64::INFINITY;
        }
        if q <= 0.0 && x != x.floor() {
            return f64::NAN;
        }
        let end = q + f64::from(COUNT);
        let rest = end.powf(1.0 - x) / (x - 1.0) + 0.5 * end.powf(-x) + x / 12.0 * end.powf(-x - 1.0);
        (0..COUNT).rev().fold(rest, |sum, k| sum + (q + f64::from(k)).powf(-x))
    }

    /// The lower incomplete gamma function, by its power series.
    pub(crate) fn lower_gamma(a: f64, x: f64) -> f64 {
        if a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) {
            return f64::NAN;
        }
        if a == 0.0 || x == 0.0 {
            return if a == 0.0 { 1.0 } else { 0.0 };
        }
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..400 {
            term *= x / (a + f64::from(k));
            sum += term;
        }
        sum * (a * x.ln() - x - libm::lgamma(a + 1.0)).exp()
    }

    /// Binomial coefficients of small numbers.
    fn choose(n: i64, k: i64) -> f64 {
        (0..k).fold(1.0, |product, j| product * (n - j) as f64 / (j + 1) as f64)
    }

    fn factorial(n: i64) -> f64 {
        (1..=n).map(|k| k as f64).product()
    }

    fn power(x: f64, n: i64) -> f64 {
        x.powi(n as i32)
    }

    pub(crate) fn chebyshev_t(x: f64, n: i64) -> f64 {
        (0..=n / 2).map(|k| choose(n, 2 * k) * power(x * x - 1.0, k) * power(x, n - 2 * k)).sum()
    }

    pub(crate) fn chebyshev_u(x: f64, n: i64) -> f64 {
        (0..=n / 2).map(|k| choose(n + 1, 2 * k + 1) * power(x * x - 1.0, k) * power(x, n - 2 * k)).sum()
    }

    pub(crate) fn chebyshev_v(x: f64, n: i64) -> f64 {
        chebyshev_u(x, n) - if n == 0 { 0.0 } else { chebyshev_u(x, n - 1) }
    }

    pub(crate) fn chebyshev_w(x: f64, n: i64) -> f64 {
        chebyshev_u(x, n) + if n == 0 { 0.0 } else { chebyshev_u(x, n - 1) }
    }

    pub(crate) fn shifted_chebyshev_t(x: f64, n: i64) -> f64 {
        chebyshev_t(2.0 * x - 1.0, n)
    }

    pub(crate) fn shifted_chebyshev_u(x: f64, n: i64) -> f64 {
        chebyshev_u(2.0 * x - 1.0, n)
    }

    pub(crate) fn shifted_chebyshev_v(x: f64, n: i64) -> f64 {
        chebyshev_v(2.0 * x - 1.0, n)
    }

    pub(crate) fn shifted_chebyshev_w(x: f64, n: i64) -> f64 {
        chebyshev_w(2.0 * x - 1.0, n)
    }

    /// Hermite polynomials, whose terms are scaled by powers of two.
    fn hermite(n: i64, term: impl Fn(i64) -> f64) -> f64 {
        let part = |k: i64| power(-1.0, k) / (factorial(k) * factorial(n - 2 * k)) * term(k);
        factorial(n) * (0..=n / 2).map(part).sum::<f64>()
    }

    pub(crate) fn hermite_h(x: f64, n: i64) -> f64 {
        hermite(n, |k| power(2.0 * x, n - 2 * k))
    }

    pub(crate) fn hermite_he(x: f64, n: i64) -> f64 {
        hermite(n, |k| power(x, n - 2 * k) * power(0.5, k))
    }

    pub(crate) fn laguerre_l(x: f64, n: i64) -> f64 {
        (0..=n).map(|k| choose(n, k) * power(-x, k) / factorial(k)).sum()
    }

    pub(crate) fn legendre_p(x: f64, n: i64) -> f64 {
        let part = |k: i64| power(-1.0, k) * choose(n, k) * choose(2 * n - 2 * k, n) * power(x, n - 2 * k);
        power(0.5, n) * (0..=n / 2).map(part).sum::<f64>()
    }
}
