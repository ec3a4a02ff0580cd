//! `aten::hardtanh`: elements limited to a range that does not change their dtype; its slope; and `relu6`.
//!
//! `out[i] = min(max(self[i], min_val), max_val)`
//!
//! - Shapes: that of `self`; `hardtanh_backward` broadcasts.
//! - Dtypes: that of `self`, integers or floats; integers are limited by the integers in the bounds. The slope has the
//!   promoted dtype, which is one of floats.
//! - Aliasing: `hardtanh_` and `relu6_` write `self`, `hardtanh.out` writes `out`, which has the dtype of `self`.
//! - Derivative: zero at the limits.
//! - Dispatch: `relu6` is a composite of `hardtanh` with 0 and 6.
//! - Errors: bools and complex numbers; a bound beyond the range of the dtype.
//! - Source: torch.nn.functional.hardtanh, PyTorch 2.15.

use crate::kernels::clamp;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// Elements limited to a range.
    pub Hardtanh = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", in_place, out, method;
    pub HardtanhBackward = "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", out("grad_input", grad_input);
    /// Elements limited to what lies from 0 to 6.
    pub Relu6 = "aten::relu6(Tensor self) -> Tensor", in_place, method;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const HARDTANH: Family<Hardtanh> = Family::new(Hardtanh, &kind::POINTWISE_UNARY, shape).same_dtype_out();

/// Kind, shape rule and `out` rule, for everybody.
pub const HARDTANH_BACKWARD: Family<HardtanhBackward> =
    Family::new(HardtanhBackward, &kind::POINTWISE_BINARY, backward_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&HARDTANH).cpu(cpu).derivative(|d, (input, low, high)| {
        d.by(input, [input], move |grad, [x]| HardtanhBackward.call(grad, x, low, high))
    });
    library.family(&HARDTANH_BACKWARD).cpu(backward_cpu).derivative(|d, (grad_output, input, low, high)| {
        d.by(grad_output, [input], move |grad, [x]| HardtanhBackward.call(grad, x, low, high))?;
        d.by(input, [], |grad, []| derivatives::zeros(grad))
    });
    const LOW: Scalar = Scalar::Int(0);
    const HIGH: Scalar = Scalar::Int(6);
    library
        .define_with_forms(Relu6, &kind::POINTWISE_UNARY)
        .implicit(|input| Hardtanh.call(input, LOW, HIGH));
    library.implement(Relu6Inplace).implicit(|input| HardtanhInplace.call(input, LOW, HIGH));
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype: DType| match dtype {
        // No other bounds are numbers of all dtypes.
        DType::U8 => activation::with_numbers(dtype, &[&[0.0, 3.0]]),
        _ => activation::with_numbers(dtype, &[&[], &[-2.5, 0.5]]),
    };
    samples.of(Hardtanh, REAL, inputs, |it| {
        let [low, high] = [activation::real(it, "min_val")?, activation::real(it, "max_val")?];
        limited(it, low, high)
    });
    let slopes = |dtype| -> Vec<Sample> {
        activation::pairs(dtype).into_iter().map(|sample| sample.and(-1).and(Scalar::Float(0.5))).collect()
    };
    samples.of(HardtanhBackward, FLOATS, slopes, |it| {
        let [low, high] = [activation::real(it, "min_val")?, activation::real(it, "max_val")?];
        activation::of_two(
            it,
            ["grad_output", "self"],
            |grad, x| if x <= low || x >= high { 0.0 } else { grad },
        )
    });
    samples.of(Relu6, REAL, make::unary, |it| limited(it, 0.0, 6.0));
    samples.differs_as(Hardtanh, &[arithmetic::SIGN_OF_ZERO, pointwise::NUMBER_IN_RANGE]);
    samples.differs(Relu6, arithmetic::SIGN_OF_ZERO);
    samples.differs(
        HardtanhBackward,
        Difference {
            id: "slopes-of-no-numbers",
            what: "torch gives the slope at NaN, or between limits that are NaN, as zero in vectors and as one elsewhere; here always as one",
            why: "equal numbers, computed in one way",
            test: ("opgrid-tensor/tests/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
            when: |seen| {
                let has_nan = |input: &Operand| input.elements.iter().any(|element| element.re.is_nan());
                let is_nan = |number: Scalar| matches!(number, Scalar::Float(number) if number.is_nan());
                seen.each(|(_, _, torch)| torch.re == 0.0)
                    && (seen.tensor("self").is_some_and(has_nan) || seen.numbers().any(is_nan))
            },
            directed: Some(Directed {
                operator: "aten::hardtanh_backward",
                arguments: || {
                    vec![
                        ("grad_output", Operand::rows(0, DType::F64, &[16], &[1.0; 16]).into()),
                        ("self", Operand::rows(1, DType::F64, &[16], &[f64::NAN; 16]).into()),
                        ("min_val", Scalar::Float(-1.0).into()),
                        ("max_val", Scalar::Float(1.0).into()),
                    ]
                },
                needs: None,
            }),
        },
    );
}

fn limited(it: &Inputs, low: f64, high: f64) -> Result<Expected> {
    it.unary(DTypeRule::Promoted, |x| match x {
        Scalar::Int(x) => Scalar::Int(x.max(low as i64).min(high as i64)),
        x => number::float_by(x, |x| {
            let limited = if x < low { low } else { x };
            if limited > high { high } else { limited }
        }),
    })
}

/// The bounds as numbers of the dtype: integers have integers in them.
fn bounds(dtype: DType, low: Scalar, high: Scalar) -> [Option<Scalar>; 2] {
    [low, high].map(|bound| match bound {
        Scalar::Float(bound) if dtype.is_integral() && bound.abs() < 2f64.powi(63) => {
            Some(Scalar::Int(bound as i64))
        }
        bound => Some(bound),
    })
}

fn shape(input: &Tensor, low: Scalar, high: Scalar) -> Result<TensorSpec> {
    let spec = pointwise::real_unary(input)?;
    clamp::check_numbers(spec.dtype(), bounds(spec.dtype(), low, high))?;
    Ok(spec)
}

fn backward_shape(grad: &Tensor, input: &Tensor, low: Scalar, high: Scalar) -> Result<TensorSpec> {
    let spec = activation::slope(("grad_output", grad), ("self", input))?;
    for bound in [low, high] {
        with_dtype!(spec.dtype(), T: Float => arithmetic::element::<Math<T>>(bound).map(drop))?;
    }
    Ok(spec)
}

fn cpu(input: &Tensor, low: Scalar, high: Scalar, out: &Tensor) -> Result<()> {
    let dtype = input.dtype();
    let [low, high] = bounds(dtype, low, high);
    clamp::by_numbers(out, input, dtype, low, high)
}

fn backward_cpu(grad: &Tensor, input: &Tensor, low: Scalar, high: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let (low, high) = (arithmetic::element::<Math<T>>(low)?, arithmetic::element::<Math<T>>(high)?);
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            if x <= low || x >= high { 0.0 } else { grad }
        })
    })
}
