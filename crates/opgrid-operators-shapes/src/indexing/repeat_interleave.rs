//! `aten::repeat_interleave`: each element several times, one after the other.
//!
//! `repeats = [1, 0, 2]` gives the indices `[0, 2, 2]`, at which the elements of `self` are taken
//!
//! - Shapes: a list of indices for `repeats` alone; otherwise that of `self`, with the sum of the repeats instead of the
//!   size of `dim`. Without `dim` the elements count as one list. One number of repeats is for all.
//! - Dtypes: that of `self`, or of the indices that of `repeats`: integers.
//! - Aliasing: `repeat_interleave.Tensor_out` writes `out`, of the dtype of `repeats`.
//! - Dispatch: composites of `index_select`, `flatten` and views.
//! - Errors: negative repeats, another number of them than of indices, several dimensions of them, an `output_size` that
//!   is not their sum; a meta tensor of repeats without `output_size`.
//! - Source: torch.repeat_interleave, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::sequence;
use opgrid_tensor::layers::fake;
use opgrid_tensor::ops::{Expand, FlattenUsingInts, IndexSelect, Reshape, ToCopy, Unsqueeze};
use opgrid_tensor::tensor::Element;
use opgrid_tensor::tensor::Number;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::indexing::repeat_interleave::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(RepeatInterleaveTensor, &kind::INDEXING).on_cpu_and_meta(indices);
    library
        .implement(RepeatInterleaveTensorOut)
        .on_cpu_and_meta(|repeats, output_size, out| result::copied(out, &indices(repeats, output_size)?));
    library.define(RepeatInterleaveSelfTensor).kind(&kind::INDEXING).implicit(by_tensor);
    library.define(RepeatInterleaveSelfInt).kind(&kind::INDEXING).implicit(by_number);
}

fn indices(repeats: &Tensor, output_size: Option<i64>) -> Result<Tensor> {
    let spec = repeats.spec()?;
    if spec.sizes().len() != 1 {
        return Err(argument(format!("argument `repeats` has shape {:?}, expected a vector", spec.sizes())));
    }
    with_dtype!(spec.dtype(), _T: Integer by itself => Ok(()))?;
    let vector = |length| TensorSpec::contiguous(&[length], spec.dtype(), spec.device());
    if spec.device().is_meta() {
        let assumed = || fake::assumed_count("repeats", spec.device(), spec.numel());
        let length = output_size.map_or_else(assumed, |length| Ok(Some(length)))?;
        return Tensor::allocate(vector(length.unwrap_or_default())?);
    }
    let counts = with_dtype!(spec.dtype(), T: Integer by itself => {
        Ok(repeats.to_vec::<T>()?.into_iter().map(Element::cast::<i64>).collect::<Vec<i64>>())
    })?;
    let mut length = 0i64;
    for &count in &counts {
        if count < 0 {
            return Err(argument(format!("argument `repeats` has {count}, expected no negative number")));
        }
        length =
            length.checked_add(count).ok_or_else(|| argument("the sum of `repeats` overflows 64 bits"))?;
    }
    if let Some(given) = output_size.filter(|given| *given != length) {
        let message = format!("argument `output_size` is {given}, expected {length}, the sum of `repeats`");
        return Err(argument(message));
    }
    result::compute(vector(length)?, |out| {
        with_dtype!(out.dtype(), T: Integer by bits => sequence::produced::<T>(out.array()?, |places| {
            for (at, &count) in (0i64..).zip(&counts) {
                let place = T::from_number(Number::I64(at));
                places.extend_with(count as usize, move |_| place);
            }
            Ok(())
        }))
    })
}

/// The tensor and the dimension that is meant: one list without a dimension.
fn along(input: &Tensor, dim: Option<i64>) -> Result<(Tensor, usize)> {
    let Some(dim) = dim else { return Ok((FlattenUsingInts.call(input, 0, -1)?, 0)) };
    let dim = normalise_dim(dim, input.spec()?.sizes().len())?;
    match input.sizes() {
        [] => Ok((Reshape.call(input, &[1])?, dim)),
        _ => Ok((input.clone(), dim)),
    }
}

fn by_tensor(input: &Tensor, repeats: &Tensor, dim: Option<i64>, output_size: Option<i64>) -> Result<Tensor> {
    let (input, dim) = along(input, dim)?;
    let (size, found) = (input.sizes()[dim], repeats.spec()?);
    let all = match found.sizes() {
        [] | [1] => Expand.call(&Reshape.call(repeats, &[1])?, &[size], false)?,
        [count] if *count == size => repeats.clone(),
        other => {
            let message = format!(
                "argument `repeats` has shape {other:?}, expected a vector with one number for each \
                 index of dimension {dim} of `self`, {size}"
            );
            return Err(argument(message));
        }
    };
    let places = RepeatInterleaveTensor.call(&all, output_size)?;
    let places = match places.dtype() {
        DType::I32 | DType::I64 => places,
        _ => ToCopy.call(&places, Some(DType::I64), None, None, None, false, None)?,
    };
    IndexSelect.call(&input, dim as i64, &places)
}

fn by_number(input: &Tensor, repeats: i64, dim: Option<i64>, output_size: Option<i64>) -> Result<Tensor> {
    let (input, dim) = along(input, dim)?;
    if repeats < 0 {
        return Err(argument(format!("argument `repeats` is {repeats}, expected no negative number")));
    }
    let mut sizes = input.sizes().to_vec();
    let total = sizes[dim].checked_mul(repeats);
    let total = total.ok_or_else(|| argument(format!("{} times {repeats} overflows 64 bits", sizes[dim])))?;
    if let Some(given) = output_size.filter(|given| *given != total) {
        return Err(argument(format!("argument `output_size` is {given}, expected {total}")));
    }
    sizes.insert(dim + 1, repeats);
    let repeated = Expand.call(&Unsqueeze.call(&input, dim as i64 + 1)?, &sizes, false)?;
    let rows = opgrid_tensor::ops::CloneTensor.call(&repeated, Some(MemoryFormat::Contiguous))?;
    FlattenUsingInts.call(&rows, dim as i64, dim as i64 + 1)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let lists = |dtype| {
            let of = |repeats: &[i64]| given(Plain::from_elements(dtype, &[repeats.len() as i64], repeats));
            vec![of(&[1, 0, 2]), of(&[])]
        };
        let of_known_size =
            |dtype| vec![given(Plain::from_elements(dtype, &[1], &[3])).named("output_size", 3)];
        let places_of = |it: &Inputs| {
            let repeats = it.tensor("repeats")?;
            let places = expected_places(repeats, repeats.elements().len());
            Ok(Plain::from_elements(repeats.dtype(), &[places.len() as i64], &places).into())
        };
        samples.operator(RepeatInterleaveTensor, INTEGERS, of_known_size, places_of);
        let list = Plain::from_elements(DType::I64, &[2], &[1, 2]);
        samples
            .operator(RepeatInterleaveTensor, INTEGERS, lists, places_of)
            .not_on_meta()
            .refuses("negative", given(Plain::from_elements(DType::I64, &[2], &[1, -1])))
            .refuses("a vector", given(list.with_sizes(&[1, 2])))
            .refuses("a vector", given(Plain::from_elements(DType::I64, &[], &[2])))
            .refuses("output_size", given(list.clone()).named("output_size", 4));
        let with_tensor = |dtype| {
            let cases: [(&[i64], &[i64], Option<i64>); 5] = [
                (&[2, 3], &[1, 2], Some(0)),
                (&[2, 3], &[2, 0, 1], Some(-1)),
                (&[2, 2], &[2], None),
                (&[], &[2], Some(0)),
                (&[0, 2], &[], Some(0)),
            ];
            let one = |(sizes, repeats, dim): (&[i64], &[i64], Option<i64>)| {
                let repeats = Plain::from_elements(DType::I64, &[repeats.len() as i64], repeats);
                let sample = given(generate::numbers(dtype, sizes, 0)).and(repeats);
                match dim {
                    Some(dim) => sample.and(dim),
                    None => sample,
                }
            };
            cases.map(one).to_vec()
        };
        let x = generate::numbers(DType::F32, &[3, 2], 0);
        samples
            .operator(RepeatInterleaveSelfTensor, STORED, with_tensor, |it| {
                reference(it, it.tensor("repeats")?.clone())
            })
            .not_on_meta()
            .refuses("one number for each index", given(x.clone()).and(list).and(0));
        samples.differs(
            RepeatInterleaveSelfTensor,
            Difference {
                id: "repeats-of-one-element",
                what: "torch rejects a dimension for a tensor without dimensions in \
                     `repeat_interleave`; here it is treated as a vector of one element, as in \
                     reductions and `index_select`",
                why: "tensors without dimensions behave alike everywhere",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "what_torch_refuses_by_accident_is_computed",
                ),
                when: |seen| {
                    seen.tensor("self").is_some_and(|input| input.geometry.dims() == 0)
                        && seen.torch_refuses("imension")
                },
                directed: Some(Directed {
                    operator: "aten::repeat_interleave.self_int",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[], &[1.0]).into()),
                            ("repeats", Scalar::Int(2).into()),
                            ("dim", Scalar::Int(0).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        let with_number = |dtype| {
            let cases: [(&[i64], i64, Option<i64>); 5] = [
                (&[2, 3], 2, Some(0)),
                (&[2, 3], 3, Some(-1)),
                (&[2, 2], 2, None),
                (&[], 2, Some(0)),
                (&[2, 0], 0, Some(0)),
            ];
            let one = |(sizes, repeats, dim): (&[i64], i64, Option<i64>)| {
                let sample = given(generate::numbers(dtype, sizes, 0)).and(repeats);
                match dim {
                    Some(dim) => sample.and(dim),
                    None => sample,
                }
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(RepeatInterleaveSelfInt, STORED, with_number, |it| {
                reference(it, Plain::from_elements(DType::I64, &[1], &[it.value::<i64>("repeats")?]))
            })
            .refuses("negative", given(x.clone()).and(-1).and(0))
            .refuses("output_size", given(x).and(2).and(0).named("output_size", 5));
    }

    /// The indices that come of repeats, of which one is for all.
    fn expected_places(repeats: &Plain, size: usize) -> Vec<i64> {
        let all = repeats.elements();
        let count = |at: usize| number::whole(all[if all.len() == 1 { 0 } else { at }]);
        (0..size).flat_map(|at| std::iter::repeat_n(at as i64, count(at) as usize)).collect()
    }

    fn reference(it: &Inputs, repeats: Plain) -> Result<Expected> {
        let mut x = it.tensor("self")?.clone();
        let dim: Option<i64> = it.option("dim")?;
        if dim.is_none() || x.sizes().is_empty() {
            x = x.with_sizes(&[x.elements().len() as i64]);
        }
        let dim = naive::dimension(dim.unwrap_or(0), x.sizes().len());
        let places = expected_places(&repeats, x.sizes()[dim] as usize);
        let mut sizes = x.sizes().to_vec();
        sizes[dim] = places.len() as i64;
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let mut source = position.to_vec();
            source[dim] = places[position[dim] as usize];
            x.at(&source)
        })
        .into())
    }
}
