//! `aten::_embedding_bag`, `aten::_embedding_bag_forward_only`, `aten::embedding_bag`: sums, averages or largest elements of rows
//! of a table, in bags of indices.
//!
//! `out[b, j] = Σ weight[indices[i], j] * per_sample_weights[i]` over the indices of bag `b`, with `mode` 0; the average of
//! the rows with `mode` 1, the largest elements with `mode` 2
//!
//! - Shapes: `indices` and `offsets` are vectors. Bag `b` has the indices from `offsets[b]` up to the next bag; with
//!   `include_last_offset` the last offset only ends a bag. The results are `[bags, d]`, then the bag of each index,
//!   the number of indices of each bag, and the rows of the largest elements.
//! - Dtypes: that of `weight`, a floating-point one; `indices` and `offsets` are int32 or int64.
//! - Values: `padding_idx` does not count; empty bags are zero. As in torch, of `mode` 0 the numbers of indices are zero, and
//!   the bag of each index is left out unless a `padding_idx`, double precision or strides need it there.
//!   Where no gradient will be asked for, sums have as many of these zeros as there are offsets.
//! - Dispatch: `embedding_bag` is a composite of `_embedding_bag_forward_only`. `scale_grad_by_freq` and `sparse` are for
//!   gradients.
//! - Aliasing: the `out` forms write four outputs, which must not overlap the inputs.
//! - Errors: other shapes or dtypes, a `mode` that there is not, weights with another `mode` than 0; offsets that do not begin
//!   with 0, descend or lead too far; an index out of range.
//! - Source: torch.nn.functional.embedding_bag, PyTorch 2.15.

use opgrid_core::DeviceType;
use opgrid_core::operator::ArgsOf;

use super::embedding_bag_backward::{bags_by_offsets, by_largest, by_rows, by_samples};
use crate::prelude::*;
use opgrid_array::error::out_of_range;
use opgrid_kernels::embedding::{self, Bags};
use opgrid_kernels::{indexing, normalise};
use opgrid_kinds::indexing::check_index_dtype;
use opgrid_tensor::families::result::compute_all_into;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::tensor::promote_types;

pub use opgrid_tensor::ops::embeddings::embedding_bag::*;

/// Result, bag of each index, indices of each bag, rows of the largest elements.
type Results = (Tensor, Tensor, Tensor, Tensor);

/// What bags are made of.
struct Arguments<'a> {
    weight: &'a Tensor,
    indices: &'a Tensor,
    offsets: &'a Tensor,
    mode: i64,
    per_sample_weights: Option<&'a Tensor>,
    include_last_offset: bool,
    padding_idx: i64,
    /// Whether no gradient will be asked for.
    forward_only: bool,
}

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(EmbeddingBagTraining, &kind::INDEXING)
        .on_cpu_and_meta(made::<false>)
        .derivative(derivative);
    library
        .define_with_forms(EmbeddingBagForwardOnly, &kind::INDEXING)
        .on_cpu_and_meta(made::<true>)
        .derivative(derivative);
    library.implement(EmbeddingBagTrainingOut).on_cpu_and_meta(written::<false>);
    library.implement(EmbeddingBagForwardOnlyOut).on_cpu_and_meta(written::<true>);
    library.define(EmbeddingBag).kind(&kind::INDEXING).implicit(
        |weight, indices, offsets, scale, mode, sparse, samples, last| {
            EmbeddingBagForwardOnly.call(weight, indices, offsets, scale, mode, sparse, samples, last, -1)
        },
    );
    library.define(EmbeddingBagPaddingIdx).kind(&kind::INDEXING).implicit(
        |weight, indices, offsets, scale, mode, sparse, samples, last, padding| {
            let padding = padding_row(weight, padding)?;
            EmbeddingBagForwardOnly
                .call(weight, indices, offsets, scale, mode, sparse, samples, last, padding)
        },
    );
}

/// The row that does not count; -1 for none.
fn padding_row(weight: &Tensor, padding_idx: Option<i64>) -> Result<i64> {
    let Some(index) = padding_idx else { return Ok(-1) };
    let rows = weight.spec()?.sizes().first().copied().unwrap_or(0);
    match index {
        index if (0..rows).contains(&index) => Ok(index),
        index if (-rows..0).contains(&index) => Ok(index + rows),
        index => Err(out_of_range(format!(
            "argument `padding_idx` is {index}, out of range for the {rows} rows of `weight`"
        ))),
    }
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn made<const FORWARD_ONLY: bool>(
    weight: &Tensor,
    indices: &Tensor,
    offsets: &Tensor,
    _scale_grad_by_freq: bool,
    mode: i64,
    _sparse: bool,
    per_sample_weights: Option<&Tensor>,
    include_last_offset: bool,
    padding_idx: i64,
) -> Result<Results> {
    let args = Arguments {
        weight,
        indices,
        offsets,
        mode,
        per_sample_weights,
        include_last_offset,
        padding_idx,
        forward_only: FORWARD_ONLY,
    };
    let [out, bag_of, counts, rows] = args.shapes()?.map(Tensor::allocate);
    let results = (out?, bag_of?, counts?, rows?);
    if weight.device().kind() != DeviceType::Meta {
        let outputs = [&results.0, &results.1, &results.2, &results.3];
        args.write(outputs)?;
        outputs.into_iter().for_each(Tensor::restart_version);
    }
    Ok(results)
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn written<const FORWARD_ONLY: bool>(
    weight: &Tensor,
    indices: &Tensor,
    offsets: &Tensor,
    _scale_grad_by_freq: bool,
    mode: i64,
    _sparse: bool,
    per_sample_weights: Option<&Tensor>,
    include_last_offset: bool,
    padding_idx: i64,
    out0: &Tensor,
    out1: &Tensor,
    out2: &Tensor,
    out3: &Tensor,
) -> Result<()> {
    let args = Arguments {
        weight,
        indices,
        offsets,
        mode,
        per_sample_weights,
        include_last_offset,
        padding_idx,
        forward_only: FORWARD_ONLY,
    };
    let specs = args.shapes()?;
    let outs: Vec<_> = [out0, out1, out2, out3].into_iter().zip(&specs).collect();
    compute_all_into(&outs, |outs| args.write([&outs[0], &outs[1], &outs[2], &outs[3]]))
}

impl Arguments<'_> {
    fn shapes(&self) -> Result<[TensorSpec; 4]> {
        let (spec, indices, offsets) = (self.weight.spec()?, self.indices.spec()?, self.offsets.spec()?);
        let &[_, columns] = spec.sizes() else {
            return Err(argument(format!(
                "argument `weight` has shape {:?}, expected a matrix",
                spec.sizes()
            )));
        };
        for (name, list) in [("indices", indices), ("offsets", offsets)] {
            check_index_dtype(name, list)?;
            if list.sizes().len() != 1 {
                return Err(argument(format!(
                    "argument `{name}` has shape {:?}, expected a vector",
                    list.sizes()
                )));
            }
        }
        pointwise::same_device([
            ("weight", self.weight),
            ("indices", self.indices),
            ("offsets", self.offsets),
        ])?;
        with_dtype!(spec.dtype(), T: Float => Ok(size_of::<T>()))?;
        if !(0..=2).contains(&self.mode) {
            let message = format!("argument `mode` is {}, expected 0 (sum), 1 (mean) or 2 (max)", self.mode);
            return Err(argument(message));
        }
        if let Some(weights) = self.per_sample_weights {
            if self.mode != 0 {
                let mode = self.mode;
                return Err(argument(format!(
                    "argument `per_sample_weights` is only supported for `mode` 0 (sum), found {mode}"
                )));
            }
            normalisations::check_sizes([("per_sample_weights", Some(weights))], indices.sizes())?;
            products::check_factors(&[("weight", spec), ("per_sample_weights", weights.spec()?)])?;
        }
        if self.include_last_offset && offsets.numel() == 0 {
            return Err(argument("argument `offsets` is empty, expected at least the end of the last bag"));
        }
        let bags = offsets.numel() - i64::from(self.include_last_offset);
        let of = |sizes: &[i64], dtype| TensorSpec::contiguous(sizes, dtype, spec.device());
        let whole = promote_types(indices.dtype(), offsets.dtype())?;
        let is_short = self.mode == 0 && self.padding_idx < 0 && spec.dtype() != DType::F64;
        let is_row = |weights: &Tensor| weights.strides()[0] == 1;
        let is_short =
            is_short && self.weight.strides()[1] == 1 && self.per_sample_weights.is_none_or(is_row);
        let listed = if self.mode == 0 && self.forward_only { offsets.numel() } else { bags };
        let rows: &[i64] = if self.mode == 2 { &[bags, columns] } else { &[listed] };
        Ok([
            of(&[bags, columns], spec.dtype())?,
            of(&[if is_short { 0 } else { indices.numel() }], whole)?,
            of(&[listed], whole)?,
            of(rows, whole)?,
        ])
    }

    /// The bags, as their data says.
    fn bags(&self) -> Result<Bags> {
        let indices: Vec<i64> = normalise::numbers(self.indices.array()?)?;
        let offsets: Vec<i64> = normalise::numbers(self.offsets.array()?)?;
        let (rows, count) = (self.weight.sizes()[0], indices.len() as i64);
        if let Some(first) = offsets.first().filter(|first| **first != 0) {
            return Err(argument(format!(
                "argument `offsets` begins with {first}, expected it to begin with 0"
            )));
        }
        if offsets.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(argument("argument `offsets` is not in ascending order"));
        }
        if let Some(last) = offsets.last().filter(|last| **last > count) {
            return Err(argument(format!(
                "argument `offsets` ends with {last}, expected at most {count}, the number of indices"
            )));
        }
        if let Some(index) = indices.iter().find(|index| !(0..rows).contains(*index)) {
            return Err(out_of_range(format!(
                "index {index} is out of range for the {rows} rows of `weight`"
            )));
        }
        let bags = offsets.len() - usize::from(self.include_last_offset);
        let end = |bag: usize| offsets.get(bag + 1).copied().unwrap_or(count) as usize;
        let ranges = (0..bags).map(|bag| (offsets[bag] as usize, end(bag))).collect();
        Ok(Bags { indices, ranges, skipped: self.padding_idx })
    }

    fn write(&self, [out, bag_of, counts, rows]: [&Tensor; 4]) -> Result<()> {
        let bags = self.bags()?;
        let table = self.weight.array()?;
        for out in [out, bag_of, counts, rows] {
            for input in [self.weight, self.indices, self.offsets] {
                indexing::check_apart(out.array()?, input.array()?)?;
            }
        }
        with_dtype!(table.dtype(), T: Float => match self.mode {
            2 if rows.dtype() == DType::I64 => {
                embedding::largest_of_bags::<T>((out.array()?, rows.array()?), table, &bags)
            }
            2 => {
                let spec = TensorSpec::contiguous(rows.sizes(), DType::I64, rows.device())?;
                let wide = opgrid_tensor::tensor::Array::empty(spec)?;
                embedding::largest_of_bags::<T>((out.array()?, &wide), table, &bags)?;
                elementwise::copy(rows, &wide)
            }
            mode => {
                let weights = normalisations::array(self.per_sample_weights)?;
                embedding::sum_bags::<T>(out.array()?, table, &bags, weights, mode == 1)
            }
        })?;
        let write = |out: &Tensor, numbers: Vec<i64>| {
            elementwise::copy(out, &opgrid_tensor::tensor::Array::from_slice(&numbers, out.sizes())?)
        };
        if bag_of.numel() > 0 {
            let mut of_index = vec![0; bags.indices.len()];
            for (bag, (start, _)) in bags.ranges.iter().enumerate() {
                of_index[*start..].fill(bag as i64);
            }
            write(bag_of, of_index)?;
        }
        let all: Vec<i64> = match self.mode {
            0 => vec![0; counts.numel() as usize],
            _ => (0..bags.ranges.len()).map(|bag| bags.count(bag) as i64).collect(),
        };
        write(counts, all.clone())?;
        if self.mode == 2 { Ok(()) } else { write(rows, all) }
    }
}

/// The derivative: each index passes the gradient of its bag on to its row, or the largest elements do.
fn derivative(d: &Recorder<'_>, args: ArgsOf<'_, EmbeddingBagTraining>) -> Result<()> {
    let (weight, indices, offsets, scale_grad_by_freq, mode, _, per_sample_weights, _, padding_idx) = args;
    let sizes = weight.sizes().to_vec();
    if mode == 2 {
        let keep = [d.result(2), d.result(3)];
        return d.by(weight, keep, move |grad, [counts, rows]| by_largest(grad, counts, rows, &sizes));
    }
    let keep = [Some(weight), Some(indices), Some(offsets), Some(d.result(2)), per_sample_weights];
    d.together([Some(weight), per_sample_weights], keep, move |grads, kept, needs| {
        let (Some(grad), [Some(weight), Some(indices), Some(offsets), Some(counts), samples]) =
            (grads.for_result(0), kept)
        else {
            return Ok([None, None]);
        };
        let bags = bags_by_offsets(indices, offsets)?;
        let numbers = (sizes[0], scale_grad_by_freq, mode, padding_idx);
        let of_weight = by_rows(grad, indices, &bags, counts, numbers, samples)?;
        let of_samples =
            if needs[1] { Some(by_samples(grad, weight, indices, &bags, padding_idx)?) } else { None };
        Ok([Some(of_weight), of_samples])
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::differences::DIED;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[3, 2], 0);
        let list = |elements: &[i64]| Plain::from_elements(DType::I64, &[elements.len() as i64], elements);
        let of = |indices: Plain, offsets: Plain| given(x.clone()).and(indices).and(offsets);
        samples
            .operator(EmbeddingBagTraining, normalisations::samples::FLOATS, inputs, |it| {
                reference(it, false, false)
            })
            .needs_contiguous()
            .tolerance(8.0)
            .refuses("expected a vector", of(list(&[1, 2]).with_sizes(&[1, 2]), list(&[0])))
            .refuses("`mode` is 3", of(list(&[1]), list(&[0])).named("mode", 3))
            .refuses("only supported for `mode` 0", {
                of(list(&[1]), list(&[0]))
                    .named("mode", 1)
                    .named("per_sample_weights", generate::numbers(DType::F32, &[1], 0))
            })
            .refuses("expected int32 or int64", of(list(&[1]).to(DType::F32), list(&[0])))
            .refuses_data("begin with 0", of(list(&[1, 2]), list(&[1])))
            .refuses_data("ascend", of(list(&[1, 2]), list(&[0, 2, 1])))
            .refuses_data("at most 2", of(list(&[1, 2]), list(&[0, 3])))
            .refuses_data("out of range", of(list(&[1, 3]), list(&[0])));
        samples
            .operator(EmbeddingBagForwardOnly, normalisations::samples::FLOATS, inputs, |it| {
                reference(it, false, true)
            })
            .needs_contiguous()
            .tolerance(8.0);
        let without_padding = |dtype| {
            let without = |mut sample: Sample| {
                sample.keyword.retain(|(name, _)| name != "padding_idx");
                sample
            };
            inputs(dtype).into_iter().map(without).collect()
        };
        samples
            .operator(EmbeddingBag, normalisations::samples::FLOATS, without_padding, |it| {
                reference(it, false, true)
            })
            .needs_contiguous()
            .tolerance(8.0);
        samples
            .operator(EmbeddingBagPaddingIdx, normalisations::samples::FLOATS, with_padding, |it| {
                reference(it, true, true)
            })
            .needs_contiguous()
            .tolerance(8.0)
            .refuses("out of range", {
                let sample = of(list(&[1]), list(&[0])).and(false).and(0).and(false);
                sample.and(Value::None).and(false).and(3)
            });
        samples.differs_as(EmbeddingBagTraining, DIFFERENCES);
        samples.differs_as(EmbeddingBagForwardOnly, DIFFERENCES);
        samples.differs_as(EmbeddingBag, DIFFERENCES);
        samples.rounds(EmbeddingBagTraining, Roundings::all(Rounding::Sum(4)));
        samples.rounds(EmbeddingBagForwardOnly, Roundings::all(Rounding::Sum(4)));
        samples.rounds(EmbeddingBag, Roundings::all(Rounding::Sum(4)));
    }

    /// Differences of every kind of bag.
    const DIFFERENCES: &[Difference] = &[
        Difference {
            id: "bags-are-checked",
            what: "torch does not check that offsets start with 0, ascend and stay within the indices, \
                 or that indices are a vector of int32 or int64, and reads out of bounds; here these \
                 are errors",
            why: "out-of-bounds reads are never allowed",
            test: ("opgrid-operators/tests/all/differences/refused.rs", "bags_that_do_not_fit"),
            when: |seen| {
                let words = ["argument `offsets` ", "argument `indices` has ", "is out of range for the"];
                words.iter().any(|words| seen.we_refuse(words))
            },
            directed: None,
        },
        Difference {
            id: "bags-of-any-strides",
            what: "torch reads indices, offsets and weights as if they were contiguous; here they may \
                 have any strides",
            why: "results must not depend on strides",
            test: ("opgrid-operators/tests/all/differences/layouts.rs", "bags_of_any_strides"),
            when: |seen| {
                let is_apart =
                    |name: &&str| seen.tensor(name).is_some_and(|list| !list.geometry.is_contiguous());
                let is_misread = seen.part == Part::Values
                    || seen.part == Part::Written
                    || seen.torch_refuses("Expected idx >= 0")
                    || seen.torch_refuses("which is not in the valid range")
                    || seen.torch_refuses("Expected i < index_size")
                    || seen.torch_refuses("can not be greater than input's length")
                    || seen.torch_refuses(DIED);
                is_misread && ["indices", "offsets", "per_sample_weights"].iter().any(is_apart)
            },
            directed: None,
        },
        Difference {
            id: "no-bags",
            what: "torch crashes, or assigns the indices to bags that do not exist, if there are no \
                 bags; here each index belongs to bag 0, and the results have no rows",
            why: "whether a call is valid must not depend on sizes or elements",
            test: ("opgrid-operators/tests/all/differences/layouts.rs", "bags_of_any_strides"),
            when: |seen| {
                let is_answer = seen.torch_refuses(DIED) || !seen.elements.is_empty();
                let is_last_an_end = matches!(seen.number("include_last_offset"), Some(Scalar::Bool(true)));
                let is_none = |offsets: &Operand| offsets.elements.len() <= usize::from(is_last_an_end);
                is_answer && seen.tensor("offsets").is_some_and(is_none)
            },
            directed: None,
        },
        Difference {
            id: "the-last-offset-ends-a-bag",
            what: "torch counts indices after the last offset into the last bag in some modes, although \
                 `include_last_offset` ends it there; here they are never counted",
            why: "all modes behave alike",
            test: ("opgrid-operators/tests/all/differences/numbers.rs", "the_last_offset_ends_a_bag"),
            when: |seen| {
                let Some(Argument::Number(Scalar::Bool(true))) = seen.argument("include_last_offset") else {
                    return false;
                };
                let (Some(offsets), Some(indices)) = (seen.tensor("offsets"), seen.tensor("indices")) else {
                    return false;
                };
                let is_behind =
                    offsets.elements.last().is_some_and(|end| end.re < indices.elements.len() as f64);
                is_behind && !seen.elements.is_empty()
            },
            directed: None,
        },
    ];

    /// Offsets, whether the last only ends a bag, mode, padding, and whether there are weights.
    const CASES: [(&[i64], bool, i64, i64, bool); 9] = [
        (&[0, 2, 2, 5], false, 0, -1, false),
        (&[0, 2, 2, 5], false, 0, -1, true),
        (&[0, 2, 2, 5], false, 0, 4, false),
        (&[0, 2, 2, 6], true, 0, -1, false),
        (&[0, 2, 2, 5], false, 1, -1, false),
        (&[0, 2, 2, 6], true, 1, 4, false),
        (&[0, 2, 2, 5], false, 2, -1, false),
        (&[0, 2, 2, 5], false, 2, 2, false),
        (&[], false, 0, -1, false),
    ];

    fn table(dtype: DType, offsets: &[i64]) -> Sample {
        let indices = Plain::from_elements(DType::I64, &[6], &[0, 2, 1, 4, 4, 3]);
        let offsets = Plain::from_elements(DType::I64, &[offsets.len() as i64], offsets);
        given(generate::numbers(dtype, &[5, 3], 1)).and(indices).and(offsets)
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(offsets, last, mode, padding, weighted): (&[i64], bool, i64, i64, bool)| {
            let sample = table(dtype, offsets).named("mode", mode).named("include_last_offset", last);
            let sample = if padding < 0 { sample } else { sample.named("padding_idx", padding) };
            if weighted {
                sample.named("per_sample_weights", generate::numbers(dtype, &[6], 2))
            } else {
                sample
            }
        };
        CASES.into_iter().map(one).collect()
    }

    fn with_padding(dtype: DType) -> Vec<Sample> {
        let one = |(offsets, last, mode, padding, weighted): (&[i64], bool, i64, i64, bool)| {
            let sample = table(dtype, offsets).and(false).and(mode).and(false);
            let sample = if weighted {
                sample.and(generate::numbers(dtype, &[6], 2))
            } else {
                sample.and(Value::None)
            };
            let sample = sample.and(last);
            if padding < 0 { sample.and(Value::None) } else { sample.and(padding - 5) }
        };
        CASES.into_iter().map(one).collect()
    }

    /// `counts_from_end` says that -1 means the last row, `forward_only` that no gradient is asked for.
    fn reference(it: &Inputs, counts_from_end: bool, forward_only: bool) -> Result<Expected> {
        let (weight, indices, offsets) = (it.tensor("weight")?, it.tensor("indices")?, it.tensor("offsets")?);
        let (mode, last): (i64, bool) = (it.value("mode")?, it.value("include_last_offset")?);
        let padding = match it.option::<i64>("padding_idx")? {
            Some(padding) if counts_from_end && padding < 0 => padding + weight.sizes()[0],
            padding => padding.unwrap_or(-1),
        };
        let weights = it.tensor("per_sample_weights").ok();
        let whole =
            |list: &Plain| -> Vec<i64> { list.elements().iter().map(|x| number::whole(*x)).collect() };
        let (rows, starts) = (whole(indices), whole(offsets));
        let bags = if last { starts.len() - 1 } else { starts.len() };
        let bag = |bag: usize| {
            let end = starts.get(bag + 1).copied().unwrap_or(rows.len() as i64);
            (starts[bag]..end).filter(|at| rows[*at as usize] != padding).collect::<Vec<i64>>()
        };
        let columns = weight.sizes()[1];
        let largest = |b: usize, column: i64| {
            let found = bag(b).into_iter().map(|at| rows[at as usize]);
            found.reduce(|most, row| {
                let element = |row: i64| weight.at(&[row, column]);
                if number::order(element(most), element(row)).is_some_and(|order| order.is_lt()) {
                    row
                } else {
                    most
                }
            })
        };
        let out = Plain::from_fn(weight.dtype(), &[bags as i64, columns], |position| {
            let (b, column) = (position[0] as usize, position[1]);
            if mode == 2 {
                return largest(b, column).map_or(Scalar::Int(0), |row| weight.at(&[row, column]));
            }
            let places = bag(b);
            let term = |at: &i64| {
                let element = weight.at(&[rows[*at as usize], column]);
                weights.map_or(element, |weights| number::times(element, weights.at(&[*at])))
            };
            let sum = places.iter().map(term).reduce(number::plus).unwrap_or(Scalar::Float(0.0));
            if mode == 1 { number::over(sum, Scalar::Float(places.len().max(1) as f64)) } else { sum }
        });
        let is_short = mode == 0 && padding < 0 && weight.dtype() != DType::F64;
        let of_index =
            |at: i64| starts[..bags].iter().filter(|start| **start <= at).count().saturating_sub(1) as i64;
        let bag_of: Vec<i64> =
            if is_short { Vec::new() } else { (0..rows.len() as i64).map(of_index).collect() };
        let list = |list: &[i64]| Plain::from_elements(DType::I64, &[list.len() as i64], list);
        let counts: Vec<i64> = match mode {
            0 => vec![0; if forward_only { starts.len() } else { bags }],
            _ => (0..bags).map(|b| bag(b).len() as i64).collect(),
        };
        let rows_of = match mode {
            2 => Plain::from_fn(DType::I64, &[bags as i64, columns], |position| {
                Scalar::Int(largest(position[0] as usize, position[1]).unwrap_or(0))
            }),
            _ => list(&counts),
        };
        Ok([out, list(&bag_of), list(&counts), rows_of].into())
    }
}
