//! `aten::bilinear`: pairs of vectors multiplied by matrices between them, with a bias.
//!
//! `out[…, o] = Σ input1[…, i] * weight[o, i, j] * input2[…, j] + bias[o]`
//!
//! - Shapes: `[…, i]`, `[…, j]` and `[o, i, j]` give `[…, o]`; nothing broadcasts but the bias.
//! - Dtypes: one for all, no bools.
//! - Dispatch: a composite of `mm`, `bmm`, `add_` and views.
//! - Errors: sizes that do not fit; two dtypes or devices.
//! - Source: torch.nn.functional.bilinear, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Bmm, Mm, Permute, Reshape};

pub use opgrid_tensor::ops::products::bilinear::*;

pub(super) fn register(library: &mut Library) {
    library.define(Bilinear).kind(&kind::PRODUCT).implicit(bilinear);
}

fn bilinear(input1: &Tensor, input2: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let (x, y, w) = (input1.spec()?, input2.spec()?, weight.spec()?);
    let misfit = |name: &str, found: &[i64], expected: String| {
        argument(format!("argument `{name}` has shape {found:?}, expected {expected}"))
    };
    let [before @ .., i] = x.sizes() else {
        return Err(misfit("input1", x.sizes(), "at least one dimension".to_owned()));
    };
    let [same @ .., j] = y.sizes() else {
        return Err(misfit("input2", y.sizes(), "at least one dimension".to_owned()));
    };
    if before != same {
        return Err(misfit(
            "input2",
            y.sizes(),
            format!("the dimensions {before:?} of `input1` before the last"),
        ));
    }
    let o = match w.sizes() {
        [o, rows, columns] if (rows, columns) == (i, j) => *o,
        found => return Err(misfit("weight", found, format!("[any, {i}, {j}] to fit the inputs"))),
    };
    products::check_factors(&[("input1", x), ("input2", y), ("weight", w)])?;
    if let Some(bias) = bias {
        products::check_factors(&[("input1", x), ("bias", bias.spec()?)])?;
        if bias.sizes() != [o] {
            return Err(misfit("bias", bias.sizes(), format!("[{o}] as `weight` has matrices")));
        }
    }
    let rows: i64 = before.iter().product();
    let between =
        i64::checked_mul(o, *j).ok_or_else(|| argument("the sizes of `weight` overflow 64 bits"))?;
    // First all matrices from the left: of each row of `input1` come as many rows for the rows of `input2`.
    let matrices = Reshape.call(&Permute.call(weight, &[1, 0, 2])?, &[*i, between])?;
    let left = Mm.call(&Reshape.call(input1, &[rows, *i])?, &matrices)?;
    let right = Reshape.call(input2, &[rows, *j, 1])?;
    let product = Bmm.call(&Reshape.call(&left, &[rows, o, *j])?, &right)?;
    let result = Reshape.call(&product, &[before, &[o]].concat())?;
    match bias {
        Some(bias) => products::with_bias(result, bias),
        None => Ok(result),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        samples
            .operator(Bilinear, NUMBERS, inputs, reference)
            .tolerance(1024.0)
            .refuses("`input2` has shape", given(x(&[2, 3])).and(x(&[3, 2])).and(x(&[4, 3, 2])))
            .refuses("`weight` has shape", given(x(&[2, 3])).and(x(&[2, 2])).and(x(&[4, 3, 3])))
            .refuses("`bias` has shape", given(x(&[2, 3])).and(x(&[2, 2])).and(x(&[4, 3, 2])).and(x(&[3])));
        samples.differs_as(Bilinear, products::samples::DIFFERENCES);
        samples.differs(
            Bilinear,
            Difference {
                id: "vectors-of-nothing",
                what: "torch cannot reshape pairs of empty vectors; here they add nothing to the bias",
                why: "an empty sum is zero",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "products_and_slices_of_nothing",
                ),
                when: |seen| seen.torch_refuses("cannot reshape tensor of 0 elements"),
                directed: None,
            },
        );
        samples.rounds(Bilinear, Roundings::all(Rounding::Sum(8)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        // Few terms: sums of many small integers in 16 bits would depend on where they are rounded.
        let cases: [(&[i64], [i64; 3], bool); 6] = [
            (&[5], [4, 3, 2], true),
            (&[], [2, 3, 2], false),
            (&[2, 2], [1, 2, 2], true),
            (&[0], [2, 3, 2], true),
            (&[2], [2, 0, 2], true),
            (&[2], [2, 2, 0], false),
        ];
        let cases =
            cases.into_iter().filter(|(a, b, _)| products::samples::is_sample(dtype, &[*a, &b[..]].concat()));
        cases
            .map(|(before, [o, i, j], with_bias)| {
                let small = |sizes: &[i64], seed| {
                    let all = generate::numbers(dtype, sizes, seed);
                    let one = |x: &Scalar| match x {
                        Scalar::Float(x) => Scalar::Float((x * 2.0).round() / 2.0),
                        x => *x,
                    };
                    Plain::from_elements(dtype, sizes, &all.elements().iter().map(one).collect::<Vec<_>>())
                };
                let sample =
                    given(small(&[before, &[i]].concat(), 1)).and(small(&[before, &[j]].concat(), 2));
                let sample = sample.and(small(&[o, i, j], 3));
                if with_bias { sample.and(small(&[o], 4)) } else { sample }
            })
            .collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, y, weight) = (it.tensor("input1")?, it.tensor("input2")?, it.tensor("weight")?);
        let bias = it.tensor("bias").ok();
        let before = &x.sizes()[..x.sizes().len() - 1];
        let &[o, ref between @ ..] = weight.sizes() else { return Ok(weight.clone().into()) };
        let result = Plain::from_fn(x.dtype(), &[before, &[o]].concat(), |position| {
            let (row, o) = (&position[..before.len()], position[before.len()]);
            let terms = naive::positions(between).map(|at| {
                let pair = number::times(x.at(&[row, &at[..1]].concat()), y.at(&[row, &at[1..]].concat()));
                number::times(pair, weight.at(&[o, at[0], at[1]]))
            });
            let sum = terms.reduce(number::plus).unwrap_or(Scalar::Int(0));
            bias.map_or(sum, |bias| number::plus(sum, bias.at(&[o])))
        });
        Ok(result.into())
    }
}
