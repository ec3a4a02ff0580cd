//! Powers, exponentials and what else can leave the range.

use num_complex::Complex;
use opgrid_core::DType;

use crate::differences::Pair;
use crate::{Difference, Directed, Operand};

/// Differences for complex functions whose intermediate results leave the range.
pub const IN_RANGE: Difference = Difference {
    id: "complex-results-in-range",
    what: "torch returns NaN or infinity for some complex numbers near the ends of the range, where an \
         intermediate result overflows; here the result is finite",
    why: "the mathematical result",
    test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
    when: |seen| {
        // Beside numbers that are beyond the range on both sides.
        let is_such = |(dtype, ours, torch): &Pair| {
            dtype.is_complex()
                && !torch.is_finite()
                && (torch.is_nan() || ours.norm() < 2.0 || !ours.is_finite())
        };
        seen.each(is_such)
    },
    directed: Some(Directed {
        operator: "aten::silu",
        arguments: || {
            let far_left = Operand {
                elements: vec![Complex::new(-100.0, 1.0)],
                ..Operand::rows(0, DType::Complex64, &[1], &[])
            };
            vec![("self", far_left.into())]
        },
        needs: None,
    }),
};

/// Differences for sigmoids, and for their products.
pub const SIGMOIDS: Difference = Difference {
    id: "sigmoids-of-large-negative-numbers",
    what: "torch divides by an exponential that overflows, and returns NaN or zero; here the \
         exponential that underflows is used, so that the result is zero unless it is multiplied by a \
         number at the end of the range",
    why: "the mathematical result",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
    when: |seen| {
        // The exponential overflows, and the other part is so large that the product of both is not zero.
        let is_far = |x: &Complex<f64>, dtype: DType| {
            let overflows = if dtype == DType::Complex128 { -709.0 } else { -88.0 };
            x.re < overflows && x.im.abs() > 1e30
        };
        let far = seen.tensor("self").into_iter().flat_map(|x| {
            x.elements.iter().filter(|element| is_far(element, x.dtype)).map(|element| element.im.abs())
        });
        // What such an exponential leaves of the largest one.
        let most = far.fold(0.0, f64::max) * 1e-37;
        seen.each(|(dtype, ours, torch)| {
            let vanishes = |value: &Complex<f64>| value.norm() < 1e-35;
            let is_such = vanishes(ours) || !ours.is_finite() && !torch.is_finite() || ours.norm() <= most;
            dtype.is_complex() && is_such && (vanishes(torch) || !torch.is_finite())
        })
    },
    directed: None,
};

/// Differences for halves of exponentials.
pub const HALF_OF_EXPONENTIALS: Difference = Difference {
    id: "halves-of-exponentials-in-range",
    what: "torch halves an exponential that is already infinite although half of it is finite; here the \
         half is computed directly",
    why: "the mathematical result",
    test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "halves_of_exponentials_stay_in_range"),
    when: |seen| {
        seen.each(|(dtype, ours, torch)| {
            let largest = opgrid_tensor::tensor::finfo(*dtype).map_or(f64::MAX, |limits| limits.max);
            let is_such = |ours: f64, torch: f64| torch.is_infinite() && ours.abs() > largest / 4.0;
            is_such(ours.re, torch.re)
        })
    },
    directed: None,
};

/// Differences for complex powers near the ends of the range.
pub const FAR_POWERS: Difference = Difference {
    id: "complex-powers-that-are-not-finite",
    what: "torch computes complex powers of numbers near the ends of the range, and of infinity and \
         zero, by squares that overflow or underflow to NaN; here each is the exponential of the \
         logarithm, as precise as such small numbers allow",
    why: "most such powers are representable",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
    when: |seen| {
        let is_far = |x: &Complex<f64>| !(1e-19..1e19).contains(&x.norm());
        let is_extreme = seen.inputs().iter().any(|input| input.elements.iter().any(is_far))
            || seen.numbers().any(|number| is_far(&number.to_complex()));
        let vanishes = |ours: &Complex<f64>, torch: &Complex<f64>| !ours.is_finite() && torch.norm() < 1e-37;
        // A base that is infinite in the dtype of the result, whose negative powers are zero.
        let is_cut = |dtype: DType| {
            let largest = opgrid_tensor::tensor::finfo(dtype).map_or(f64::MAX, |limits| limits.max);
            seen.numbers()
                .any(|number| number.to_complex().is_finite() && number.to_complex().norm() > largest)
        };
        is_extreme
            && seen.each(|(dtype, ours, torch)| {
                // Numbers that small have few digits.
                let smallest =
                    opgrid_tensor::tensor::finfo(*dtype).map_or(0.0, |limits| limits.smallest_normal);
                let both_vanish = ours.norm().max(torch.norm()) < smallest;
                dtype.is_complex()
                    && (!torch.is_finite()
                        || vanishes(ours, torch)
                        || both_vanish
                        || is_cut(*dtype) && torch.norm() == 0.0)
            })
    },
    directed: None,
};

/// Differences for functions of complex numbers that are not finite.
pub const NOT_FINITE: Difference = Difference {
    id: "parts-that-are-not-finite",
    what: "torch and C compilers are inconsistent about which parts of a complex result that overflows \
         are infinite and which NaN; here each follows from the formula",
    why: "both sides report an overflow",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
    when: |seen| {
        seen.each(|(dtype, ours, torch)| dtype.is_complex() && !ours.is_finite() && !torch.is_finite())
    },
    directed: None,
};
