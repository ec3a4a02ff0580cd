//! `aten::where`: from one tensor where a condition is true, from another elsewhere; of a condition alone, where it is true.
//!
//! `out[i] = self[i] if condition[i] else other[i]`
//!
//! - Shapes: all three broadcast.
//! - Dtypes: `self` and `other` are promoted; `condition` is bool (or uint8, as of old).
//! - Aliasing: `where.self_out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//!   `where(condition)` is a composite of `nonzero_numpy`: one list of indices for each dimension.
//! - Errors: a condition of another dtype, an `out` of another dtype than the result, overlap in part, a number beyond the
//!   range of the result.
//! - Source: torch.where, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::NonzeroNumpy;

pub use opgrid_tensor::ops::pointwise::where_self::*;

/// The family of `aten::where.self`: its kind, shape rule and `out` rule.
pub const WHERE_SELF: Family<WhereSelf> =
    Family::new(WhereSelf, &kind::POINTWISE_TERNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&WHERE_SELF).cpu(cpu).derivative(|d, (condition, input, other)| {
        d.by(input, [condition], |grad, [condition]| derivatives::where_true(condition, grad))?;
        d.by(other, [condition], |grad, [condition]| derivatives::where_false(condition, grad))
    });
    let implicit = DispatchKey::CompositeImplicitAutograd;
    library.define(WhereScalarSelf).kind(&kind::POINTWISE_TERNARY).kernel(
        implicit,
        |condition, input, other| {
            let number = Tensor::number(input);
            check_number(input, result_type(&[&number, other])?)
                .map_err(|error| error.within("aten::where.ScalarSelf"))?;
            WhereSelf.call(condition, &number, other)
        },
    );
    library.define(WhereScalarOther).kind(&kind::POINTWISE_TERNARY).kernel(
        implicit,
        |condition, input, other| {
            let number = Tensor::number(other);
            check_number(other, result_type(&[input, &number])?)
                .map_err(|error| error.within("aten::where.ScalarOther"))?;
            WhereSelf.call(condition, input, &number)
        },
    );
    library.define(Where).kind(&kind::INDEXING).composite(|condition| NonzeroNumpy.call(condition));
    library.define(WhereScalar).kind(&kind::POINTWISE_TERNARY).kernel(implicit, |condition, input, other| {
        let numbers = [input, other].map(Tensor::number);
        let dtype = result_type(&[&numbers[0], &numbers[1]])?;
        for number in [input, other] {
            check_number(number, dtype).map_err(|error| error.within("aten::where.Scalar"))?;
        }
        WhereSelf.call(condition, &numbers[0], &numbers[1])
    });
}

/// # Errors
///
/// A number beyond the range of the result's dtype; beyond that of a 16-bit float it is infinite.
fn check_number(number: Scalar, dtype: DType) -> Result<()> {
    match dtype {
        DType::F16 | DType::BF16 => Ok(()),
        _ => with_dtype!(dtype, T: Stored => arithmetic::element::<T>(number).map(drop)),
    }
}

fn shape(condition: &Tensor, input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    if !matches!(condition.spec()?.dtype(), DType::Bool | DType::U8) {
        return Err(argument(format!("argument `condition` has dtype {}, expected bool", condition.dtype())));
    }
    let dtype = result_type(&[input, other])?;
    let spec = pointwise::of_dtype([("condition", condition), ("self", input), ("other", other)], dtype)?;
    if [input, other].iter().all(|tensor| tensor.dtype() == dtype) {
        return Ok(spec);
    }
    // The result lies as torch lays it out, which converts both first.
    let converted = |tensor: &Tensor| {
        if tensor.dtype() == dtype {
            Ok(tensor.geometry().clone())
        } else {
            tensor.geometry().like(MemoryFormat::Preserve)
        }
    };
    let geometries = [&condition.geometry().clone(), &converted(input)?, &converted(other)?];
    TensorSpec::elementwise(&geometries, dtype, spec.device())
}

fn cpu(condition: &Tensor, input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Stored => {
        elementwise::ternary::<T, Bool, T, T>(out, condition, input, other, |condition, input, other| {
            if condition.is_true() { input } else { other }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, longer) = (generate::numbers(DType::F32, &[2], 0), generate::numbers(DType::Bool, &[3], 0));
        samples
            .operator(WhereSelf, STORED, inputs, reference)
            .refuses("expected bool", given(x.clone()).and(x.clone()).and(x.clone()))
            .refuses("does not broadcast", given(longer).and(x.clone()).and(x));
        samples.operator(
            WhereScalarSelf,
            STORED,
            |dtype| {
                let (condition, x) = condition_and_tensor(dtype);
                NUMBERS_INSTEAD.map(|number| given(condition.clone()).and(number).and(x.clone())).to_vec()
            },
            reference,
        );
        samples.operator(
            WhereScalarOther,
            STORED,
            |dtype| {
                let (condition, x) = condition_and_tensor(dtype);
                NUMBERS_INSTEAD.map(|number| given(condition.clone()).and(x.clone()).and(number)).to_vec()
            },
            reference,
        );
        samples
            .operator(Where, STORED, generate::unary, |it| naive::columns_of_places(it.tensor("condition")?))
            .not_on_meta();
        // Conditions of uint8 are taken, as of old.
        let conditions = |dtype| match dtype {
            DType::U8 => Vec::new(),
            dtype => vec![given(generate::numbers(dtype, &[2, 3], 1)).and(2).and(0.5)],
        };
        samples.operator(WhereScalar, &[DType::Bool], conditions, reference);
    }

    /// What stands in a tensor's place.
    const NUMBERS_INSTEAD: [Scalar; 2] = [Scalar::Int(3), Scalar::Float(0.5)];

    fn condition_and_tensor(dtype: DType) -> (Plain, Plain) {
        (generate::numbers(DType::Bool, &[2, 3], 1), generate::numbers(dtype, &[3], 2))
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 3]; 5] = [
            [&[2, 3]; 3],
            [&[2, 1], &[3], &[]],
            [&[], &[2, 37], &[2, 37]],
            [&[0], &[1], &[1]],
            [&[], &[], &[]],
        ];
        let same = shapes.map(|[condition, a, b]| {
            given(generate::numbers(DType::Bool, condition, 0))
                .and(generate::numbers(dtype, a, 1))
                .and(generate::numbers(dtype, b, 2))
        });
        let [condition, a, b] = [(DType::Bool, 0), (dtype, 1), (generate::beside(dtype, DType::F32), 2)];
        let mixed = [condition, a, b].map(|(dtype, seed)| generate::numbers(dtype, &[3], seed));
        let [condition, a, b] = mixed;
        same.into_iter().chain([given(condition).and(a).and(b)]).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let dtype = it.common_dtype(&["self", "other"])?;
        let condition = it.tensor("condition")?;
        let [a, b] = ["self", "other"].map(|name| it.operand(name));
        let (a, b) = (a?, b?);
        let sizes = naive::broadcast([condition.sizes(), a.sizes(), b.sizes()].into_iter())?;
        let chosen = Plain::from_fn(dtype, &sizes, |position| {
            if condition.at(position).to_bool() { a.at(position) } else { b.at(position) }
        });
        Ok(chosen.into())
    }
}
