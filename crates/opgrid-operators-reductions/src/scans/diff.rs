//! `aten::diff`: the differences of neighbours along a dimension, and of those again.
//!
//! `out[i] = self[i + 1] - self[i]`, `n` times, with indices of dimension `dim`; of bools whether they differ
//!
//! - Shapes: that of `self` with `prepend` and `append` at its ends, less `n` elements along `dim`, or all if there are
//!   fewer. For an `n` of 0 it is `self`.
//! - Dtypes: that of `self`, promoted with those of `prepend` and `append`.
//! - Aliasing: `diff.out` writes `out`. Along a dimension without elements the result is `self`.
//! - Dispatch: composites of `cat`, views, `sub` and `ne`.
//! - Errors: a tensor without dimensions; a negative `n`; an `out` of another dtype for an `n` of 0; a dimension out of range; a `prepend` or `append` of another
//!   shape elsewhere than along `dim`.
//! - Source: torch.diff, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Cat, CloneTensor, NeTensor};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::scans::diff::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Diff, &kind::ALONG_DIMENSION).implicit(diff);
    library.implement(DiffOut).implicit(|input, n, dim, prepend, append, out| {
        let found = diff(input, n, dim, prepend, append)?;
        if n == 0 {
            result::same_dtype(out, found.spec()?)?;
        }
        result::converted(&[(out, &found)])
    });
}

fn diff(
    input: &Tensor,
    n: i64,
    dim: i64,
    prepend: Option<&Tensor>,
    append: Option<&Tensor>,
) -> Result<Tensor> {
    if input.dim() == 0 {
        return Err(argument("argument `self` has no dimensions, expected at least one"));
    }
    if n < 0 {
        return Err(argument(format!("argument `n` is {n}, which is negative; expected zero or more")));
    }
    if n == 0 && prepend.is_none() && append.is_none() {
        // As in torch, there is no dimension to look at.
        return CloneTensor.call(input, None);
    }
    let at = normalise_dim(dim, input.dim())?;
    for (name, end) in [("prepend", prepend), ("append", append)] {
        end.map_or(Ok(()), |end| check_end(name, input, end, at))?;
    }
    if n == 0 {
        return CloneTensor.call(input, None);
    }
    let parts: Vec<Tensor> = [prepend, Some(input), append].into_iter().flatten().cloned().collect();
    let mut line = if parts.len() > 1 { Cat.call(&parts, at as i64)? } else { input.clone() };
    let length = line.sizes()[at];
    for _ in 0..n.min(length) {
        let (dim, length) = (at as i64, line.sizes()[at]);
        let (before, behind) = (line.slice(dim, 0, length - 1, 1)?, line.slice(dim, 1, length, 1)?);
        line = match line.dtype() {
            DType::Bool => NeTensor.call(&behind, &before)?,
            _ => behind.sub(&before)?,
        };
    }
    Ok(line)
}

fn check_end(name: &str, input: &Tensor, end: &Tensor, dim: usize) -> Result<()> {
    let (sizes, found) = (input.sizes(), end.sizes());
    if found.len() != sizes.len() {
        let message = format!(
            "argument `{name}` has shape {found:?}, expected as many dimensions as `self` of shape {sizes:?}"
        );
        return Err(argument(message));
    }
    if (0..sizes.len()).any(|at| at != dim && sizes[at] != found[at]) {
        let message = format!(
            "argument `{name}` has shape {found:?}, expected that of `self`, {sizes:?}, in dimensions other than {dim}"
        );
        return Err(argument(message));
    }
    Ok(())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, number) = (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::F32, &[], 0));
        samples
            .operator(Diff, ANY, inputs, reference)
            .tolerance(4.0)
            .refuses("dimension", given(number.clone()))
            .refuses("negative", given(x.clone()).and(-1))
            .refuses("range", given(x.clone()).and(1).and(2))
            .refuses("as many dimensions", given(x.clone()).named("prepend", number))
            .refuses(
                "other than",
                given(x.clone()).named("append", generate::numbers(DType::F32, &[3, 1], 0)),
            );
        samples.differs_as(Diff, &[READ_AFTER_WRITTEN, departures::arithmetic::SIGN_OF_ZERO]);
        samples.differs(
            Diff,
            Difference {
                id: "differences-of-nothing-are-written",
                what: "torch rejects an output for the differences along an empty dimension, which the \
                     functional form accepts; here the output is written",
                why: "the functional and `out` forms agree",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "what_torch_refuses_by_accident_is_computed",
                ),
                when: |seen| {
                    seen.out().is_some() && seen.torch_refuses("start out of range") && seen.we_give_nothing()
                },
                directed: Some(Directed {
                    operator: "aten::diff.out",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[0, 3], &[]).into()),
                            ("n", Scalar::Int(1).into()),
                            ("dim", Scalar::Int(0).into()),
                            ("out", Operand::rows(1, DType::F32, &[0, 3], &[]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64, i64); 8] = [
            (&[2, 3], 1, -1),
            (&[2, 3], 2, 1),
            (&[2, 3], 5, 1),
            (&[2, 3], 0, 0),
            (&[0, 3], 1, 0),
            (&[2, 37], 1, 1),
            (&[2, 3, 2, 2], 1, 1),
            (&[1], 1, 0),
        ];
        let plain = cases.map(|(sizes, n, dim)| given(generate::numbers(dtype, sizes, 1)).and(n).and(dim));
        let ends = given(generate::numbers(dtype, &[2, 3], 1))
            .and(2)
            .named("prepend", generate::numbers(dtype, &[2, 1], 2))
            .named("append", generate::numbers(dtype, &[2, 2], 3));
        plain.into_iter().chain([ends]).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, n, dim): (_, i64, i64) = (it.tensor("self")?, it.value("n")?, it.value("dim")?);
        let parts: Vec<&Plain> =
            ["prepend", "self", "append"].iter().filter_map(|name| it.tensor(name).ok()).collect();
        if n == 0 {
            return Ok(x.clone().into());
        }
        let at = naive::dimension(dim, x.sizes().len());
        let mut sizes = x.sizes().to_vec();
        sizes[at] = parts.iter().map(|part| part.sizes()[at]).sum();
        let whole = Plain::from_fn(x.dtype(), &sizes, |position| {
            let mut place = position.to_vec();
            for part in &parts {
                if place[at] < part.sizes()[at] {
                    return part.at(&place);
                }
                place[at] -= part.sizes()[at];
            }
            Scalar::Int(0)
        });
        let line = |x: &[Vec<Scalar>]| {
            let mut line = x[0].clone();
            for _ in 0..n {
                line = line
                    .windows(2)
                    .map(|pair| match x[0].first() {
                        Some(Scalar::Bool(_)) => Scalar::Bool(pair[0].to_bool() != pair[1].to_bool()),
                        _ => naive::convert(number::minus(pair[1], pair[0]), whole.dtype()),
                    })
                    .collect();
            }
            line
        };
        let dtype = whole.dtype();
        Ok(Plain::of_lines_by(&[&whole], dim, dtype, &|length| (length - n).max(0), &line).into())
    }
}
