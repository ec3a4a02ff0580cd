//! `aten::put`: elements written to places of the tensor as one list.
//!
//! `out.flatten()[index[i]] = source[i]`, or `+=` with `accumulate`
//!
//! - Shapes: that of `self`, whose dimensions keep their order in memory; `source` has as many elements as `index`.
//! - Dtypes: `source` has that of `self`; `index` is int64.
//! - Values: of several for one place the last one stays, or all are added with `accumulate`.
//! - Aliasing: `put_` writes `self`, `put.out` writes `out`, of the dtype of `self`.
//! - Derivative: values that others overwrite have gradients, too, as in torch.
//! - Errors: an index out of range (negative ones count from the end), before anything is written; another number of
//!   elements; overlap of what is written with `index` or `source`.
//! - Source: torch.Tensor.put_, PyTorch 2.15.

use crate::kinds::scatter;
use crate::prelude::*;
use opgrid_kernels::copy;
use opgrid_kernels::indexing::{self, Indexed, Lookup};
use opgrid_kinds::indexing as check;

pub use opgrid_tensor::ops::indexing::put::*;

/// The family of `aten::put`: its kind, shape rule and `out` rule.
pub const PUT: Family<Put> = Family::new(Put, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&PUT).cpu(cpu).derivative(|d, (input, index, source, accumulate)| {
        let sizes = source.sizes().to_vec();
        d.by(input, [index], move |grad, [index]| {
            if accumulate {
                Ok(grad.clone())
            } else {
                Put.call(grad, index, &derivatives::zeros_of(index.sizes(), grad)?, false)
            }
        })?;
        d.by(source, [index], move |grad, [index]| grad.take(index)?.reshape(&sizes))
    });
}

fn shape(input: &Tensor, index: &Tensor, source: &Tensor, _accumulate: bool) -> Result<TensorSpec> {
    let (spec, places, values) = (input.spec()?, index.spec()?, source.spec()?);
    with_dtype!(spec.dtype(), _T: Any by itself => Ok(()))?;
    scatter::check_long(index)?;
    check::dimension(spec, 0, places)?;
    scatter::check_values(spec, values, "source")?;
    if places.numel() != values.numel() {
        let message = format!(
            "argument `source` has {} elements, expected as many as `index` has, {}",
            values.numel(),
            places.numel()
        );
        return Err(argument(message));
    }
    if spec.numel() == 0 && places.numel() > 0 {
        let message = "argument `self` has no elements, expected an empty `index`";
        return Err(opgrid_array::error::out_of_range(message));
    }
    TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, index: &Tensor, source: &Tensor, accumulate: bool, out: &Tensor) -> Result<()> {
    let (to, values) = (out.array()?, source.array()?);
    let list = Indexed { dim: 0, size: out.numel(), stride: 1, from_end: true };
    let offsets = indexing::offsets(index.sizes(), [(list, index.array()?)])?;
    scatter::copy_input(out, input, &[index, source])?;
    // Written in place where there is one list of the elements, otherwise by way of a copy.
    let rows = copy::rows(to)?;
    let flat = rows.view(rows.geometry().view(&[rows.spec().numel()])?)?;
    let lookup = Lookup::new(flat.geometry(), 0..1, offsets)?;
    if accumulate {
        indexing::accumulate(&flat, values, &lookup)?
    } else {
        indexing::write(&flat, values, &lookup)?
    }
    if rows.storage().is_same(to.storage()) { Ok(()) } else { copy::copy(to, &rows) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64], &[i64]); 5] = [
                (&[2, 3], &[2, 2], &[5, -1, 0, -5]),
                (&[4], &[3], &[0, 0, 3]),
                (&[], &[2], &[0, -1]),
                (&[2, 3], &[], &[4]),
                (&[0], &[0], &[]),
            ];
            let one = |(sizes, shape, index): (&[i64], &[i64], &[i64])| {
                let source = generate::numbers(dtype, shape, 3);
                let sample = given(generate::numbers(dtype, sizes, 0))
                    .and(Plain::from_elements(DType::I64, shape, index))
                    .and(source);
                [sample.clone(), sample.and(true)]
            };
            cases.map(one).concat()
        };
        let (x, index) =
            (generate::numbers(DType::F32, &[2, 3], 0), Plain::from_elements(DType::I64, &[1], &[6]));
        let value = generate::numbers(DType::F32, &[1], 0);
        samples
            .operator(Put, ANY, inputs, reference)
            // Values that others overwrite get gradients, too, as in torch.
            .constant(&["source"])
            .tolerance(4.0)
            .refuses_data("out of bounds", given(x.clone()).and(index.clone()).and(value.clone()))
            .refuses("as many", given(x.clone()).and(index.clone()).and(x.clone()))
            .refuses("expected float32", given(x.clone()).and(index.clone()).and(value.to(DType::F64)))
            .refuses("expected int64", given(x).and(index.to(DType::I32)).and(value));
        samples.rounds(Put, Roundings::all(Rounding::Sum(2)));
        samples.differs(
            Put,
            Difference {
                id: "the-last-of-several-is-put",
                what: "torch writes several values to one position in an order that depends on strides; \
                     here in the order of the list, so that the last one is kept",
                why: "results must not depend on strides",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let adds = matches!(seen.number("accumulate"), Some(Scalar::Bool(true)));
                    let (Some(index), Some(input)) = (seen.tensor("index"), seen.tensor("self")) else {
                        return false;
                    };
                    let count = input.elements.len().max(1) as f64;
                    let places: Vec<f64> =
                        index.elements.iter().map(|place| place.re.rem_euclid(count)).collect();
                    let is_named = |at: usize| places[..at].contains(&places[at]);
                    !adds && (0..places.len()).any(is_named) && !seen.elements.is_empty()
                },
                directed: None,
            },
        );
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, index, source) = (it.tensor("self")?, it.tensor("index")?, it.tensor("source")?);
        let accumulate: bool = it.value("accumulate")?;
        let mut all = x.elements().to_vec();
        let count = all.len() as i64;
        for (place, value) in index.elements().iter().zip(source.elements()) {
            let own = &mut all[number::whole(*place).rem_euclid(count) as usize];
            *own = if accumulate { naive::convert(number::plus(*own, *value), x.dtype()) } else { *value };
        }
        Ok(Plain::from_elements(x.dtype(), x.sizes(), &all).into())
    }
}
