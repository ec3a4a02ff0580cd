//! `aten::embedding_renorm`: rows of a table by their indices, shortened where they are longer than a bound.
//!
//! `out[i] = self[i] * max_norm / (norm + 1e-7)` for each row `i` in `indices` whose `norm` is larger than `max_norm`; other
//! rows stay as they are
//!
//! - Shapes: a matrix; `indices` of any shape.
//! - Dtypes: floating-point and complex ones; `indices` is int32 or int64.
//! - Values: the norm of order `norm_type` is computed in double precision.
//! - Aliasing: `embedding_renorm_` writes `self`, `embedding_renorm.out` writes `out`.
//! - Errors: a tensor that is no matrix, an index out of range.
//! - Source: torch.ops.aten.embedding_renorm_, PyTorch 2.15.

use std::collections::BTreeSet;

use crate::prelude::*;
use opgrid_array::error::out_of_range;
use opgrid_kernels::norm::order_in;
use opgrid_kernels::{copy, indexing, normalise};
use opgrid_kinds::indexing::check_index_dtype;

pub use opgrid_tensor::ops::embeddings::embedding_renorm::*;

/// The family of `aten::embedding_renorm`: its kind, shape rule and `out` rule.
pub const EMBEDDING_RENORM: Family<EmbeddingRenorm> =
    Family::new(EmbeddingRenorm, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&EMBEDDING_RENORM).cpu(cpu);
}

fn shape(input: &Tensor, indices: &Tensor, _max_norm: f64, _norm_type: f64) -> Result<TensorSpec> {
    let spec = input.spec()?;
    let &[_, _] = spec.sizes() else {
        return Err(argument(format!("argument `self` has shape {:?}, expected a matrix", spec.sizes())));
    };
    pointwise::check_inexact(spec.dtype())?;
    with_dtype!(spec.dtype(), T: Inexact => Ok(size_of::<T>()))?;
    check_index_dtype("indices", indices.spec()?)?;
    pointwise::same_device([("self", input), ("indices", indices)])?;
    Ok(spec.with_geometry(spec.geometry().like(MemoryFormat::Preserve)?))
}

fn cpu(input: &Tensor, indices: &Tensor, max_norm: f64, norm_type: f64, out: &Tensor) -> Result<()> {
    let target = out.array()?;
    indexing::check_apart(target, indices.array()?)?;
    let indices: Vec<i64> = normalise::numbers(indices.array()?)?;
    let rows = input.sizes()[0];
    if let Some(index) = indices.iter().find(|index| !(0..rows).contains(*index)) {
        return Err(out_of_range(format!("index {index} is out of range for the {rows} rows of `self`")));
    }
    if !out.is_same(input) {
        copy::copy(target, input.array()?)?;
    }
    for row in indices.into_iter().collect::<BTreeSet<i64>>() {
        let row = target.view(target.geometry().select(0, row)?)?;
        let norm = norm(&row, norm_type)?;
        if norm > max_norm {
            let factor = max_norm / (norm + 1e-7);
            with_dtype!(row.dtype(), T: Inexact => {
                let factor: Math<T> = opgrid_tensor::Element::cast(factor);
                elementwise::unary::<T, T>(&row, &row, move |x| x.times(factor))
            })?;
        }
    }
    Ok(())
}

fn norm(row: &opgrid_tensor::tensor::Array, order: f64) -> Result<f64> {
    let lengths = normalise::numbers::<Complex64>(row)?.into_iter().map(|x| x.norm());
    Ok(match order_in(row.dtype(), order) {
        // NaN stays.
        f64::INFINITY => lengths.fold(0.0, |most, length| if length <= most { most } else { length }),
        f64::NEG_INFINITY => {
            lengths.fold(f64::INFINITY, |least, length| if length >= least { least } else { length })
        }
        0.0 => lengths.filter(|length| *length != 0.0).count() as f64,
        1.0 => lengths.sum(),
        2.0 => lengths.map(|length| length * length).sum::<f64>().sqrt(),
        order => lengths.map(|length| length.powf(order)).sum::<f64>().powf(1.0 / order),
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, indices) =
            (generate::numbers(DType::F32, &[3, 2], 0), Plain::from_elements(DType::I64, &[2], &[2, 0]));
        let of = |table: Plain, indices: Plain| given(table).and(indices).and(1.0).and(2.0);
        samples
            .operator(EmbeddingRenorm, INEXACT, inputs, reference)
            .tolerance(8.0)
            .refuses("expected a matrix", of(generate::numbers(DType::F32, &[3], 0), indices.clone()))
            .refuses("expected int32 or int64", of(x.clone(), indices.to(DType::F32)))
            .refuses_data("out of range", of(x.clone(), Plain::from_elements(DType::I64, &[1], &[3])))
            .refuses_data("out of range", of(x, Plain::from_elements(DType::I64, &[1], &[-1])));
        samples.differs(EmbeddingRenorm, TABLES_OF_NUMBERS);
        samples.differs(
            EmbeddingRenorm,
            Difference {
                id: "rows-of-nothing-are-not-shortened",
                what: "torch fails to compute the maximum norm of a row without elements; here such a \
                     row stays as it is",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "products_and_slices_of_nothing",
                ),
                when: |seen| seen.we_give_nothing() && seen.torch_refuses("norm on an empty tensor"),
                directed: None,
            },
        );
        samples.differs(
            EmbeddingRenorm,
            Difference {
                id: "zeros-are-shortened-to-zeros",
                what: "torch rounds the factor of a row to float16, which is infinite for a row of \
                     zeros and a negative norm; here zeros stay zeros",
                why: "consistent with all other dtypes",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
                when: |seen| {
                    seen.each(|(dtype, ours, torch)| *dtype == DType::F16 && ours.re == 0.0 && torch.is_nan())
                },
                directed: None,
            },
        );
        samples.differs(
            EmbeddingRenorm,
            Difference {
                id: "rows-shortened-by-no-order",
                what: "torch uses a norm of 1 for every row if the order is infinite only in single \
                     precision; here the norm is the maximum norm",
                why: "the norm converges to it",
                test: ("opgrid-operators/tests/all/differences/computed.rs", "means_beyond_the_range"),
                when: |seen| {
                    let Some(Scalar::Float(order)) = seen.number("norm_type") else { return false };
                    order.is_finite()
                        && (order as f32).is_infinite()
                        && seen.each(|(dtype, ..)| !matches!(dtype, DType::F64 | DType::Complex128))
                },
                directed: Some(Directed {
                    operator: "aten::embedding_renorm",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[1, 2], &[2.0, 3.0]).into()),
                            ("indices", Operand::rows(1, DType::I64, &[1], &[0.0]).into()),
                            ("max_norm", Scalar::Float(0.5).into()),
                            ("norm_type", Scalar::Float(-1e300).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(EmbeddingRenorm, Roundings::all(Rounding::Result(16)));
    }

    /// Differences for the dtypes of embedding tables and their gradients.
    pub(crate) const TABLES_OF_NUMBERS: Difference = Difference {
        id: "tables-of-inexact-numbers",
        what: "torch truncates the results for tables of integers and bools; here tables have a \
             floating-point or complex dtype",
        why: "values must not be lost silently",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "tables_of_integers"),
        when: |seen| seen.we_refuse("expected a floating-point or complex dtype"),
        directed: None,
    };

    fn inputs(dtype: DType) -> Vec<Sample> {
        let of = |indices: &[i64], max_norm: f64, norm_type: f64| {
            let indices = Plain::from_elements(DType::I64, &[indices.len() as i64], indices);
            given(generate::numbers(dtype, &[4, 3], 1)).and(indices).and(max_norm).and(norm_type)
        };
        vec![
            of(&[0, 2, 0], 1.0, 2.0),
            of(&[3], 0.5, 1.0),
            of(&[1, 3], 1.5, f64::INFINITY),
            of(&[0, 1, 2, 3], 100.0, 2.0),
            of(&[0, 1], 1.0, 0.0),
            of(&[], 1.0, 2.0),
        ]
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, indices) = (it.tensor("self")?, it.tensor("indices")?);
        let [max_norm, order]: [f64; 2] = [it.value("max_norm")?, it.value("norm_type")?];
        let is_named = |row: i64| indices.elements().iter().any(|index| number::whole(*index) == row);
        let factor = |row: i64| {
            let lengths = (0..x.sizes()[1]).map(|column| x.at(&[row, column]).to_complex().norm());
            let norm = match order {
                f64::INFINITY => lengths.fold(0.0, f64::max),
                0.0 => lengths.filter(|length| *length != 0.0).count() as f64,
                order => lengths.map(|length| length.powf(order)).sum::<f64>().powf(1.0 / order),
            };
            if is_named(row) && norm > max_norm { max_norm / (norm + 1e-7) } else { 1.0 }
        };
        let scaled = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            number::times(x.at(position), Scalar::Float(factor(position[0])))
        });
        Ok(scaled.into())
    }
}
