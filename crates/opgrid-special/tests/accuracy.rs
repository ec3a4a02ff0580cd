//! Compares every function with values of mpmath, and looks at the ends of ranges.

use opgrid_special::*;
use std::f64::consts::LN_2;
use std::path::Path;

/// Checks a function of one number.
fn unary(name: &str, most: f64, function: impl Fn(f64) -> f64) {
    check(name, |_| most, |arguments| function(arguments[0]));
}

/// Checks a function of two numbers.
fn binary(name: &str, most: f64, function: impl Fn(f64, f64) -> f64) {
    check(name, |_| most, |arguments| function(arguments[0], arguments[1]));
}

/// Checks a function of three numbers.
fn ternary(name: &str, most: f64, function: impl Fn(f64, f64, f64) -> f64) {
    check(name, |_| most, |arguments| function(arguments[0], arguments[1], arguments[2]));
}

/// Checks a polynomial of a number and a degree, whose error grows with the degree.
fn polynomial(name: &str, function: impl Fn(f64, f64) -> f64) {
    check(name, |arguments| 8.0 * arguments[1] + 4.0, |arguments| function(arguments[0], arguments[1]));
}

/// Checks a function of an order and a number, whose error grows with the order.
fn growing(name: &str, function: impl Fn(f64, f64) -> f64) {
    check(name, |arguments| 8.0 * arguments[0], |arguments| function(arguments[0], arguments[1]));
}

/// Reads the arguments, values and scales of a function, and bounds its error in units in the last place of the scale.
fn check(name: &str, most: impl Fn(&[f64]) -> f64, function: impl Fn(&[f64]) -> f64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).with_extension("csv");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut worst, mut at) = (0.0, Vec::new());
    let mut failures = Vec::new();
    for line in text.lines() {
        let numbers: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
        let [arguments @ .., expected, scale] = &numbers[..] else { panic!("{name}: {line}") };
        let found = function(arguments);
        let unit = scale.next_up() - scale;
        let error = (found - expected).abs() / unit;
        if error > worst || error.is_nan() {
            (worst, at) = (error, arguments.to_vec());
        }
        if error > most(arguments) || error.is_nan() {
            failures.push(format!("{arguments:?}: found {found:e}, expected {expected:e}, {error:.1} units"));
        }
    }
    println!("{name}: at most {worst:.2} units, at {at:?}");
    assert!(failures.is_empty(), "{name}, {} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(text.lines().count() >= 8, "{name} has few values");
}

macro_rules! accuracy {
    ($($check:ident $name:ident $(by $function:expr)? $(, $most:literal)?;)*) => {
        /// A test for each function, called like it.
        mod errors_are_bounded {
            $(#[test]
            fn $name() {
                super::$check(stringify!($name), $($most,)? accuracy!(@ $name $(by $function)?));
            })*
        }
    };
    (@ $name:ident by $function:expr) => { $function };
    (@ $name:ident) => { opgrid_special::$name };
}

accuracy! {
    unary i0, 6.0;
    unary i1, 6.0;
    unary i0e, 4.0;
    unary i1e, 4.0;
    unary k0, 6.0;
    unary k1, 6.0;
    unary k0e, 6.0;
    unary k1e, 6.0;
    unary bessel_j0, 4.0;
    unary bessel_j1, 4.0;
    unary bessel_y0, 4.0;
    unary bessel_y1, 4.0;
    unary spherical_bessel_j0, 3.0;
    unary airy_ai, 8.0;
    unary erfcx, 4.0;
    unary ndtr, 5.0;
    unary log_ndtr, 4.0;
    unary ndtri, 4.0;
    unary entr, 2.0;
    binary xlog1py, 2.0;
    binary zeta, 6.0;
    binary zeta_of_negative by opgrid_special::zeta, 16.0;
    binary polygamma by |n, x| opgrid_special::polygamma(n as u32, x), 8.0;
    binary polygamma_of_negative by |n, x| opgrid_special::polygamma(n as u32, x), 16.0;
    binary gamma_p, 8.0;
    binary gamma_q, 8.0;
    unary digamma, 8.0;
    unary ln_gamma, 4.0;
    binary standard_gamma_gradient, 4e6;
    ternary dirichlet_gradient, 4e6;
    binary multivariate_ln_gamma by |x, p| opgrid_special::multivariate_ln_gamma(x, p as u32), 8.0;
    growing polygamma_of_large by |n, x| opgrid_special::polygamma(n as u32, x);
    polynomial chebyshev_t;
    polynomial chebyshev_u;
    polynomial chebyshev_v;
    polynomial chebyshev_w;
    polynomial shifted_chebyshev_t;
    polynomial shifted_chebyshev_u;
    polynomial shifted_chebyshev_v;
    polynomial shifted_chebyshev_w;
    polynomial hermite_h;
    polynomial hermite_he;
    polynomial laguerre_l;
    polynomial legendre_p;
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Whether two numbers are equal, NaN included.
fn same(found: f64, expected: f64) -> bool {
    found == expected || (found.is_nan() && expected.is_nan())
}

#[test]
fn ends_of_ranges_are_those_of_torch() {
    type Unary = (&'static str, fn(f64) -> f64, [f64; 6]);
    // At 0, -0, infinity, minus infinity, NaN, and a negative number where that is no ordinary one.
    let cases: &[Unary] = &[
        ("airy_ai", airy_ai, [0.3550280538878172, 0.3550280538878172, NAN, NAN, NAN, 0.5355608832923521]),
        ("bessel_j0", bessel_j0, [1.0, 1.0, NAN, NAN, NAN, 0.7651976865579666]),
        ("bessel_j1", bessel_j1, [0.0, 0.0, NAN, NAN, NAN, -0.44005058574493355]),
        ("bessel_y0", bessel_y0, [-INF, -INF, NAN, NAN, NAN, NAN]),
        ("bessel_y1", bessel_y1, [-INF, -INF, NAN, NAN, NAN, NAN]),
        ("i0", i0, [1.0, 1.0, NAN, NAN, NAN, 1.2660658777520082]),
        ("i1", i1, [0.0, 0.0, NAN, NAN, NAN, -0.5651591039924851]),
        ("i0e", i0e, [1.0, 1.0, 0.0, 0.0, NAN, 0.46575960759364043]),
        ("i1e", i1e, [0.0, 0.0, 0.0, 0.0, NAN, -0.2079104153497085]),
        ("k0", k0, [INF, INF, 0.0, NAN, NAN, NAN]),
        ("k1", k1, [INF, INF, 0.0, NAN, NAN, NAN]),
        ("k0e", k0e, [INF, INF, 0.0, NAN, NAN, NAN]),
        ("k1e", k1e, [INF, INF, 0.0, NAN, NAN, NAN]),
        ("spherical_bessel_j0", spherical_bessel_j0, [1.0, 1.0, 0.0, 0.0, NAN, 0.8414709848078965]),
        ("entr", entr, [0.0, 0.0, -INF, -INF, NAN, -INF]),
        ("erfcx", erfcx, [1.0, 1.0, 0.0, INF, NAN, 5.008980080762283]),
        ("ndtr", ndtr, [0.5, 0.5, 1.0, 0.0, NAN, 0.15865525393145705]),
        ("log_ndtr", log_ndtr, [-LN_2, -LN_2, 0.0, -INF, NAN, -1.841021645009264]),
        ("ndtri", ndtri, [-INF, -INF, NAN, NAN, NAN, NAN]),
    ];
    for (name, function, expected) in cases {
        for (x, expected) in [0.0, -0.0, INF, -INF, NAN, -1.0].into_iter().zip(expected) {
            let found = function(x);
            let is_near = (found - expected).abs() <= 4e-16 * expected.abs();
            assert!(same(found, *expected) || is_near, "{name}({x}) is {found}, expected {expected}");
        }
    }
    assert_eq!((ndtri(1.0), ndtri(0.5)), (INF, 0.0));
    assert!(
        i1(-0.0).is_sign_negative() && i1e(-0.0).is_sign_negative() && bessel_j1(-0.0).is_sign_negative()
    );
    assert_eq!((i0(713.0).is_finite(), i0(800.0), erfcx(-30.0), ndtr(-50.0)), (true, INF, INF, 0.0));
    assert_eq!((xlog1py(0.0, -2.0), xlog1py(1.0, -1.0)), (0.0, -INF));
    assert!(xlog1py(0.0, NAN).is_nan() && xlog1py(1.0, -2.0).is_nan());
}

/// Functions at numbers where others are less precise.
const BESSEL: [(fn() -> f64, f64); 2] =
    [(|| bessel_j0(-5.4215280659972755), -0.033781312788260555), (|| bessel_y1(8.5), -0.02616867939853747)];

/// Rational fits of single precision lose half of the digits here.
#[test]
fn bessel_functions_have_all_digits() {
    for (found, expected) in BESSEL {
        assert!((found() - expected).abs() < 1e-16, "{} is not {expected}", found());
    }
}

#[test]
fn poles_of_the_trigamma_function_are_infinite() {
    assert_eq!((polygamma(1, -1.0), polygamma(1, -30_000.0)), (INF, INF));
}

#[test]
fn zeta_and_polygamma_have_the_poles_of_torch() {
    let cases = [
        (1.0, 2.0, INF),
        (0.5, 2.0, NAN),
        (2.0, 0.0, INF),
        (2.0, -1.0, INF),
        (2.5, -1.5, NAN),
        (INF, 2.0, NAN),
        (2.0, INF, NAN),
        (2.0, -INF, INF),
        (NAN, 2.0, NAN),
        (2.0, NAN, NAN),
        (2.0, 1e300, 1e-300),
    ];
    for (x, q, expected) in cases {
        assert!(same(zeta(x, q), expected), "zeta({x}, {q}) is {}", zeta(x, q));
    }
    assert_eq!((polygamma(1, INF), polygamma(1, 0.0), polygamma(2, -0.0)), (0.0, INF, -INF));
    assert_eq!((polygamma(1, -3.0), polygamma(2, -3.0), polygamma(3, -INF)), (INF, -INF, INF));
    assert!(polygamma(2, INF).is_nan() && polygamma(1, -INF).is_nan() && polygamma(4, NAN).is_nan());
}

#[test]
fn incomplete_gamma_functions_have_the_ends_of_torch() {
    /// Q(19, 730), of which the exponential alone is not a normal number.
    const FAR: f64 = 5.1206626225377244e-282;
    let cases = [
        (0.0, 0.0, NAN),
        (0.0, 1.0, 1.0),
        (0.0, INF, 1.0),
        (1.0, 0.0, 0.0),
        (1.0, INF, 1.0),
        (INF, 0.0, 0.0),
        (INF, 1.0, 0.0),
        (INF, INF, NAN),
        (-1.0, 1.0, NAN),
        (1.0, -1.0, NAN),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (-0.0, 1.0, 1.0),
        (1e-300, 1e-300, 1.0),
        (1e300, 1e300, 0.5),
        (1e300, 1.0, 0.0),
        (1.0, 1e300, 1.0),
    ];
    for (a, x, expected) in cases {
        assert!(same(gamma_p(a, x), expected), "P({a}, {x}) is {}", gamma_p(a, x));
        let complement = gamma_q(a, x);
        assert!(
            (complement - (1.0 - expected)).abs() < 1e-15 || same(complement, 1.0 - expected),
            "Q({a}, {x}) is {complement}"
        );
    }
    let far = (gamma_q(1.0, 700.0) / (-700.0f64).exp(), gamma_q(19.0, 730.0) / FAR, gamma_q(19.0, 1e300));
    assert!((far.0 - 1.0).abs() < 1e-14 && (far.1 - 1.0).abs() < 1e-13 && far.2 == 0.0, "{far:?}");
    assert_eq!((multivariate_ln_gamma(INF, 3), multivariate_ln_gamma(1.0, 3)), (INF, INF));
}

#[test]
fn polynomials_of_no_degree_are_zero_and_all_end() {
    let all = [
        chebyshev_t,
        chebyshev_u,
        chebyshev_v,
        chebyshev_w,
        shifted_chebyshev_t,
        shifted_chebyshev_u,
        shifted_chebyshev_v,
        shifted_chebyshev_w,
        hermite_h,
        hermite_he,
        laguerre_l,
        legendre_p,
    ];
    for function in all {
        for n in [-1.0, -INF, INF, NAN, 1e19] {
            assert_eq!(function(0.5, n), 0.0);
        }
        assert_eq!((function(0.3, 0.7), function(NAN, 0.0)), (1.0, 1.0));
        assert_eq!(function(0.3, 2.9), function(0.3, 2.0));
        for n in [600.0, 1e6, 1e18] {
            assert!(function(3.0, n).is_nan() || function(3.0, n).abs() < 1e5);
        }
        assert!(function(INF, 7.0).is_nan() && function(NAN, 7.0).is_nan());
    }
    assert!((chebyshev_t(0.5, 1e6) - (1e6 * 0.5f64.acos()).cos()).abs() < 1e-12);
    assert!((-1.0..=1.0).contains(&chebyshev_t(0.3, 1e18)) && legendre_p(0.3, 1e18).is_nan());
}
