//! Of norms.

use opgrid_core::{DType, Scalar};

use crate::differences::{Difference, Directed, Operand};

/// Differences for norms.
pub const NO_ORDER: Difference = Difference {
    id: "norms-of-no-order",
    what: "torch computes another norm if the order is NaN, or so large that its reciprocal is zero in \
         single precision; here the result is NaN, or the maximum norm",
    why: "NaN propagates, and the norm converges to the maximum norm",
    test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
    when: |seen| {
        let order = seen.number("p").or_else(|| seen.number("ord"));
        match order {
            Some(Scalar::Float(order)) if order.is_nan() => seen.each(|(_, ours, _)| ours.re.is_nan()),
            // Whatever it is a power of, with an exponent of zero it is one.
            Some(Scalar::Float(order)) => {
                (order as f32).is_infinite()
                    && seen.each(|(dtype, _, torch)| *dtype != DType::F64 && torch.re == 1.0)
            }
            _ => false,
        }
    },
    directed: Some(Directed {
        operator: "aten::norm.Scalar",
        arguments: || {
            vec![
                ("self", Operand::rows(0, DType::F32, &[1], &[2.0]).into()),
                ("p", Scalar::Float(f64::NAN).into()),
            ]
        },
        needs: None,
    }),
};
