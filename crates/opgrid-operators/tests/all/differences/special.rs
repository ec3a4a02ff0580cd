//! Special functions at the ends of their ranges, and to their last digits.

use opgrid_tensor::ops::{
    I0, Igamma, Polygamma, SpecialAiryAi, SpecialBesselJ0, SpecialBesselY1,
    SpecialChebyshevPolynomialTNScalar, SpecialChebyshevPolynomialVNScalar,
    SpecialLegendrePolynomialPNScalar, SpecialZeta,
};

use super::*;

fn doubles(numbers: &[f64]) -> Tensor {
    Tensor::from_slice(numbers, &[numbers.len() as i64]).unwrap()
}

#[test]
fn bessel_functions_keep_their_digits() {
    // By mpmath.
    for (function, x, expected) in [
        (SpecialBesselJ0.call(&doubles(&[5.5])), 5.5, -0.006_843_869_417_819_197),
        (SpecialBesselY1.call(&doubles(&[5.5])), 5.5, -0.023_758_238_956_389_618),
        (SpecialAiryAi.call(&doubles(&[-2.5])), -2.5, -0.112_325_067_692_966_09),
    ] {
        let found = elements(&function.unwrap())[0];
        assert!((found - expected).abs() < 1e-16, "{found} at {x}");
    }
}

#[test]
fn polynomials_beyond_the_range() {
    let large = Tensor::from_slice(&[1e20f32, -1e20], &[2]).unwrap();
    let (even, odd) = (4, 5);
    let infinite = elements(&SpecialChebyshevPolynomialTNScalar.call(&large, even.into()).unwrap());
    assert_eq!(infinite, [f64::INFINITY; 2]);
    let infinite = elements(&SpecialLegendrePolynomialPNScalar.call(&large, odd.into()).unwrap());
    assert_eq!(infinite, [f64::INFINITY, f64::NEG_INFINITY]);
}

#[test]
fn polynomials_of_large_degrees() {
    let degree = 1i64 << 62;
    let ends = SpecialChebyshevPolynomialVNScalar.call(&doubles(&[-1.0]), degree.into()).unwrap();
    assert_eq!(elements(&ends), [2.0f64.powi(63)]);
    let steps = SpecialLegendrePolynomialPNScalar.call(&doubles(&[0.5]), degree.into()).unwrap();
    assert!(elements(&steps)[0].is_nan());
}

#[test]
fn functions_near_the_ends_of_their_ranges() {
    let modified = elements(&I0.call(&Tensor::from_slice(&[90.0f32], &[1]).unwrap()).unwrap())[0];
    assert!((modified / 5.139_238_582_071_915e37 - 1.0).abs() < 1.0 && modified.is_finite(), "{modified}");
    assert_eq!(elements(&Polygamma.call(1, &doubles(&[-1.0, -2.0])).unwrap()), [f64::INFINITY; 2]);
    let digits = elements(&Polygamma.call(1, &doubles(&[4.3])).unwrap())[0];
    assert!((digits - 0.261_674_177_286_424_56).abs() < 1e-15, "{digits}");
    let shares = Igamma.call(&doubles(&[1e-45, f64::MAX]), &doubles(&[1.0, 5.5])).unwrap();
    assert_eq!(elements(&shares), [1.0, 0.0]);
    let smallest = Igamma.call(&doubles(&[f64::INFINITY]), &doubles(&[f64::NAN])).unwrap();
    assert!(elements(&smallest)[0].is_nan());
    assert_eq!(elements(&SpecialZeta.call(&doubles(&[9.2e18]), &doubles(&[3.0])).unwrap()), [0.0]);
}
