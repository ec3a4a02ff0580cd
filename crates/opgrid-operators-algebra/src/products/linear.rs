//! `aten::linear`: vectors multiplied by the rows of a matrix, with a bias.
//!
//! `out[…, j] = input[…, 0] * weight[j, 0] + input[…, 1] * weight[j, 1] + … + bias[j]`
//!
//! - Shapes: `[…, k]` and `[n, k]` give `[…, n]`, and `[k]` as the weight `[…]`; `bias` is stretched to the result.
//! - Dtypes: one for all, no bools. The 16-bit floats are rounded once where the bias is added by `addmm`.
//! - Dispatch: a composite of `addmm` for matrices and rows of matrices, otherwise of `matmul` and `add_`.
//! - Aliasing: `linear.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: sizes that do not fit, a weight of three dimensions; two dtypes or devices.
//! - Source: torch.nn.functional.linear, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Addmm, Matmul, Reshape, TMatrix};

pub use opgrid_tensor::ops::products::linear::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Linear, &kind::PRODUCT).implicit(linear);
    library
        .implement(LinearOut)
        .on_every_backend(|input, weight, bias, out| result::copied(out, &linear(input, weight, bias)?));
}

fn linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let (x, w) = (input.spec()?, weight.spec()?);
    let transposed = TMatrix.call(weight)?;
    let Some(bias) = bias else { return Matmul.call(input, &transposed) };
    products::check_factors(&[("input", x), ("weight", w), ("bias", bias.spec()?)])?;
    match (x.sizes(), w.sizes()) {
        ([_, _], _) => Addmm.call(bias, input, &transposed, 1.into(), 1.into()),
        // All rows of a stack as one matrix, where that takes no copy.
        ([before @ .., k], &[n, inner])
            if *k == inner && before.len() > 1 && x.geometry().is_contiguous() =>
        {
            let rows: i64 = before.iter().product();
            let rows = Reshape.call(input, &[rows, *k])?;
            let product = Addmm.call(bias, &rows, &transposed, 1.into(), 1.into())?;
            Reshape.call(&product, &[before, &[n]].concat())
        }
        _ => products::with_bias(Matmul.call(input, &transposed)?, bias),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::convolutions;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Linear, NUMBERS, inputs, reference)
            .tolerance(64.0)
            .refuses("", given(x.clone()).and(generate::numbers(DType::F32, &[4, 2], 0)))
            .refuses(
                "at most 2 dimensions",
                given(x.clone()).and(generate::numbers(DType::F32, &[1, 4, 3], 0)),
            )
            .refuses("at least 1d", given(Plain::number(DType::F32, 1)).and(x.clone()))
            .refuses(
                "convert one of them",
                given(x.clone()).and(x.clone()).and(generate::numbers(DType::F64, &[2], 0)),
            )
            .refuses(
                "does not broadcast",
                given(x.clone()).and(x.clone()).and(generate::numbers(DType::F32, &[3], 0)),
            );
        samples.differs_as(Linear, products::samples::DIFFERENCES);
        samples.differs(Linear, convolutions::samples::DTYPE_OF_BIAS);
        samples.differs(
            Linear,
            Difference {
                id: "stacks-of-vectors-with-a-bias-are-written",
                what: "torch's `out` form fails for batches of vectors that are not row-major, with a \
                     bias, which the functional form accepts; here the output is written",
                why: "the functional and `out` forms agree",
                test: (
                    "opgrid-operators/tests/all/differences/outputs.rs",
                    "outputs_of_any_strides_are_written",
                ),
                when: |seen| {
                    let is_stack = seen.tensor("input").is_some_and(|input| input.geometry.dims() > 2);
                    is_stack && seen.out().is_some() && seen.torch_refuses("must match the size of tensor b")
                },
                directed: None,
            },
        );
        samples.rounds(Linear, Roundings::all(Rounding::Sum(4)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        /// The sizes of an input, a weight, and perhaps a bias.
        pub type Case = (&'static [i64], &'static [i64], Option<&'static [i64]>);
        let cases: [Case; 10] = [
            (&[2, 3], &[4, 3], None),
            (&[2, 3], &[4, 3], Some(&[4])),
            (&[3], &[4, 3], Some(&[4])),
            (&[2, 3], &[3], None),
            (&[2, 5, 3], &[4, 3], Some(&[4])),
            (&[2, 5, 3], &[4, 3], None),
            (&[2, 3], &[4, 3], Some(&[])),
            (&[0, 3], &[4, 3], Some(&[4])),
            (&[2, 0], &[4, 0], Some(&[4])),
            (&[5, 2, 33], &[17, 33], Some(&[17])),
        ];
        let cases =
            cases.into_iter().filter(|(a, b, _)| products::samples::is_sample(dtype, &[*a, *b].concat()));
        cases
            .map(|(input, weight, bias)| {
                let sample =
                    given(generate::numbers(dtype, input, 1)).and(generate::numbers(dtype, weight, 2));
                match bias {
                    Some(bias) => sample.and(generate::numbers(dtype, bias, 3)),
                    None => sample,
                }
            })
            .collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, weight) = (it.tensor("input")?, it.tensor("weight")?);
        let bias = it.tensor("bias").ok();
        let (k, before) = (x.sizes()[x.sizes().len() - 1], &x.sizes()[..x.sizes().len() - 1]);
        let columns = &weight.sizes()[..weight.sizes().len() - 1];
        let result = Plain::from_fn(x.dtype(), &[before, columns].concat(), |position| {
            let (row, column) = position.split_at(before.len());
            let term = |at| number::times(x.at(&[row, &[at]].concat()), weight.at(&[column, &[at]].concat()));
            let sum = (0..k).map(term).reduce(number::plus).unwrap_or(Scalar::Int(0));
            bias.map_or(sum, |bias| number::plus(sum, bias.at(position)))
        });
        Ok(result.into())
    }
}
