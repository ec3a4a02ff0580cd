//! What operators share that write values to the places that indices name: shape rules, loops, and references.

use opgrid_core::{DType, Result, Scalar};

use opgrid_array::error::argument;
use opgrid_kernels::copy::apart_from;
use opgrid_kernels::indexing::check_apart;
use opgrid_kernels::scatter::{self, Combine, Places};
use opgrid_kernels::{access, elementwise};
use opgrid_kinds::derivatives;
use opgrid_kinds::indexing as check;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::{
    ConstantPadNd, DivInplaceTensorMode, EqTensor, Gather, IndexAdd, IndexFillIntScalar, IndexReduce,
    IndexSelect, ScatterAdd, ScatterReduceTwo, ScatterValue, WhereSelf,
};
use opgrid_tensor::tensor::{Array, Tensor, TensorSpec};

/// What is written: a tensor of values, or one for all.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Tensor(&'a Tensor),
    Number(Scalar),
}

/// The result of scattering: like `self`, row-major.
///
/// # Errors
///
/// Other dtypes; an `index` of another number of dimensions than `self`, or larger than it outside of `dim`, or larger
/// than the values.
pub(crate) fn shape(input: &Tensor, dim: i64, index: &Tensor, source: Source<'_>) -> Result<TensorSpec> {
    let (spec, places) = (input.spec()?, index.spec()?);
    let result = TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())?;
    if let Source::Tensor(values) = source {
        check_values(spec, values.spec()?, "src")?;
    }
    if places.numel() == 0 {
        check::dimension(spec, dim, places)?;
        return Ok(result);
    }
    let dim = check::along(spec, dim, places)?;
    let as_vector = |sizes: &[i64]| if sizes.is_empty() { vec![1] } else { sizes.to_vec() };
    let (own, wanted) = (as_vector(spec.sizes()), as_vector(places.sizes()));
    let mut pairs = wanted.iter().zip(&own).enumerate();
    if wanted.len() != own.len() || pairs.any(|(at, (wanted, size))| at != dim && wanted > size) {
        let message = format!(
            "argument `index` has shape {:?}, expected as many dimensions as `self` of shape {:?} has, \
             and no larger sizes except in dimension {dim}",
            places.sizes(),
            spec.sizes()
        );
        return Err(argument(message));
    }
    if let Source::Tensor(values) = source {
        let given = as_vector(values.sizes());
        if given.len() != wanted.len() || wanted.iter().zip(&given).any(|(wanted, given)| wanted > given) {
            let message = format!(
                "argument `index` has shape {:?}, expected no larger sizes than those of `src` of \
                 shape {:?}",
                places.sizes(),
                values.sizes()
            );
            return Err(argument(message));
        }
    }
    Ok(result)
}

/// # Errors
///
/// Values of another dtype or on another device than `self`.
pub(crate) fn check_values(spec: &TensorSpec, values: &TensorSpec, name: &str) -> Result<()> {
    if values.dtype() != spec.dtype() {
        let message = format!(
            "argument `{name}` has dtype {}, expected {} as `self`; convert it first",
            values.dtype(),
            spec.dtype()
        );
        return Err(argument(message));
    }
    if values.device() != spec.device() {
        let message = format!(
            "argument `{name}` is on device {}, expected {} as `self`",
            values.device(),
            spec.device()
        );
        return Err(argument(message));
    }
    Ok(())
}

/// The result of writing slices of `source` to the indices of a dimension: like `self`, row-major.
///
/// # Errors
///
/// Other dtypes; an `index` that is no vector, or has another number of elements than `source` has slices; slices of
/// another shape than those of `self`.
pub(crate) fn shape_of_slices(
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
) -> Result<TensorSpec> {
    let (spec, places, values) = (input.spec()?, index.spec()?, source.spec()?);
    let dim = check_vector(spec, dim, places)?;
    check_values(spec, values, "source")?;
    let slices = match values.sizes() {
        [] => 1,
        sizes => sizes.get(dim).copied().unwrap_or(1),
    };
    let rest = |sizes: &[i64]| -> Vec<i64> {
        sizes.iter().enumerate().filter(|(at, _)| *at != dim).map(|(_, size)| *size).collect()
    };
    let same_rank = values.sizes().len().max(1) == spec.sizes().len().max(1);
    if slices != places.numel() || !same_rank || rest(values.sizes()) != rest(spec.sizes()) {
        let message = format!(
            "argument `source` has shape {:?}, expected that of `self`, {:?}, with {} slices in \
             dimension {dim}, one for each index",
            values.sizes(),
            spec.sizes(),
            places.numel()
        );
        return Err(argument(message));
    }
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

/// The spec of writing slices that are combined with those of `self`: numbers do not stand for vectors of one
/// element.
///
/// # Errors
///
/// As [`shape_of_slices`]; another number of dimensions.
pub(crate) fn shape_of_joined_slices(
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
) -> Result<TensorSpec> {
    let spec = shape_of_slices(input, dim, index, source)?;
    if source.sizes().len() == input.sizes().len() {
        Ok(spec)
    } else {
        Err(argument(format!(
            "argument `source` has shape {:?}, expected as many dimensions as `self` of shape {:?}",
            source.sizes(),
            input.sizes()
        )))
    }
}

/// The dimension that a vector of indices is for.
///
/// # Errors
///
/// One out of range; an `index` with several dimensions, of another dtype, or on another device.
pub(crate) fn check_vector(spec: &TensorSpec, dim: i64, index: &TensorSpec) -> Result<usize> {
    let dim = check::along(spec, dim, index)?;
    if index.sizes().len() > 1 {
        return Err(argument(format!("argument `index` has shape {:?}, expected a vector", index.sizes())));
    }
    Ok(dim)
}

/// # Errors
///
/// Indices of another dtype than int64, which some operators do not take.
pub(crate) fn check_long(index: &Tensor) -> Result<()> {
    match index.spec()?.dtype() {
        DType::I64 => Ok(()),
        other => Err(argument(format!("argument `index` has dtype {other}, expected int64"))),
    }
}

/// Writes a copy of `input` to `out`, where it is not `input` itself, for values that then come to places.
///
/// # Errors
///
/// Elements of `index` or of the values lie where `out` has some; as [`elementwise::copy`].
pub(crate) fn copy_input(out: &Tensor, input: &Tensor, others: &[&Tensor]) -> Result<()> {
    for other in others {
        check_apart(out.array()?, other.array()?)?;
    }
    elementwise::copy(out, input)
}

/// Scatters values to the places that `index` names for each.
///
/// # Errors
///
/// An index out of range, before anything is written; overlap.
pub(crate) fn scatter(
    (input, out): (&Tensor, &Tensor),
    (dim, index): (i64, &Tensor),
    source: Source<'_>,
    reduction: Reduction,
) -> Result<()> {
    if index.numel() == 0 {
        return match source {
            Source::Tensor(values) => copy_input(out, input, &[values]),
            Source::Number(_) => copy_input(out, input, &[]),
        };
    }
    let dim = check::along(input.spec()?, dim, index.spec()?)?;
    let places = Places::each(input.sizes(), dim, &apart_from(out.array()?, index.array()?)?, false)?;
    match source {
        Source::Tensor(values) => {
            copy_input(out, input, &[index, values])?;
            reduction.apply(out.array()?, &places, values.array()?)
        }
        Source::Number(value) => {
            // A number beyond the range is refused before anything is written.
            reduction.check_number(value, out.dtype())?;
            copy_input(out, input, &[index])?;
            scatter::fill(out.array()?, &places, value, reduction.combine)
        }
    }
}

/// The places of the slices that a vector of indices names, in an output that is a copy of `input` by then.
///
/// # Errors
///
/// As [`scatter`].
pub(crate) fn places_of_slices(
    (input, out): (&Tensor, &Tensor),
    (dim, index): (i64, &Tensor),
    others: &[&Tensor],
    from_end: bool,
) -> Result<Places> {
    let dim = check::along(input.spec()?, dim, index.spec()?)?;
    let places = Places::whole(input.sizes(), dim, &apart_from(out.array()?, index.array()?)?, from_end)?;
    copy_input(out, input, &[&[index], others].concat())?;
    Ok(places)
}

/// What becomes of the values that come to one place, and whether the element that was there is one of them.
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    pub(crate) combine: Combine,
    is_mean: bool,
    include_self: bool,
}

impl Reduction {
    /// Creates the reduction that combines each value with the element at its position.
    pub(crate) const fn new(combine: Combine) -> Self {
        Self { combine, is_mean: false, include_self: true }
    }

    /// Returns the reduction of a name, among those that an operator accepts.
    ///
    /// # Errors
    ///
    /// Another name.
    pub(crate) fn named(name: &str, names: &[&str], include_self: bool) -> Result<Self> {
        let known = names.contains(&name);
        let combine = match name {
            "sum" | "add" | "mean" if known => Combine::Sum,
            "prod" | "multiply" if known => Combine::Product,
            "amax" if known => Combine::Largest,
            "amin" if known => Combine::Smallest,
            _ => {
                let message =
                    format!("argument `reduce` is \"{name}\", expected one of {}", names.join(", "));
                return Err(argument(message));
            }
        };
        Ok(Self { combine, is_mean: name == "mean", include_self })
    }

    /// # Errors
    ///
    /// A dtype whose elements are not combined in that way.
    pub(crate) fn check_dtype(&self, dtype: DType) -> Result<()> {
        match self.combine {
            _ if self.is_mean => opgrid_array::with_dtype!(dtype, _T: Number by itself => Ok(())),
            Combine::Largest | Combine::Smallest => {
                opgrid_array::with_dtype!(dtype, _T: Ordered by itself => Ok(()))
            }
            Combine::Replace => Ok(()),
            _ => opgrid_array::with_dtype!(dtype, _T: Any by itself => Ok(())),
        }
    }

    fn check_number(&self, value: Scalar, dtype: DType) -> Result<()> {
        opgrid_array::with_dtype!(dtype, T: Stored => opgrid_kernels::arithmetic::element::<T>(value).map(drop))
    }

    /// Combines the elements of `out` with the values that come to them.
    ///
    /// # Errors
    ///
    /// As [`scatter::scatter`].
    pub(crate) fn apply(&self, out: &Array, places: &Places, values: &Array) -> Result<()> {
        access::check_written(out.geometry())?;
        if !self.include_self {
            scatter::initialize(out, places, self.combine)?;
        }
        scatter::scatter(out, places, values, self.combine)?;
        if self.is_mean {
            let counts = scatter::counts(out, places, self.include_self)?;
            let rounding = (!out.dtype().is_floating_point() && !out.dtype().is_complex()).then_some("floor");
            let (sum, mut counts) = (Tensor::from_array(out.clone())?, Tensor::from_array(counts)?);
            if out.dtype() == DType::U64 {
                // It has no common dtype with signed integers.
                counts = counts.to_dtype(DType::U64)?;
            }
            DivInplaceTensorMode.call(&sum, &counts, rounding)?;
        }
        Ok(())
    }
}

/// Which of some indices are there, for derivatives that keep those.
pub(crate) fn are_defined(indices: &[Option<Tensor>]) -> Vec<bool> {
    indices.iter().map(Option::is_some).collect()
}

/// The indices again.
pub(crate) fn restore_optional(places: &[bool], kept: &[Tensor]) -> Vec<Option<Tensor>> {
    let mut kept = kept.iter().cloned();
    places.iter().map(|is_there| if *is_there { kept.next() } else { None }).collect()
}

/// What an index names, for derivatives.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    /// Elements, as `gather` and `scatter`.
    Elements,
    /// Slices, as `index_select` and `index_add`.
    Slices,
}

impl Named {
    /// What lies at the places, for values of these sizes: zeros where they have no place.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub(crate) fn read(self, from: &Tensor, dim: i64, index: &Tensor, sizes: &[i64]) -> Result<Tensor> {
        match self {
            Self::Slices => IndexSelect.call(from, dim, index)?.reshape(sizes),
            // An index without elements may have other dimensions.
            Self::Elements if index.numel() == 0 => derivatives::zeros_of(sizes, from),
            Self::Elements => {
                let read = Gather.call(from, dim, index, false)?;
                // An index without dimensions is one of a single element.
                let read = if read.dim() == 0 && sizes.len() == 1 { read.unsqueeze(0)? } else { read };
                let missing = sizes.iter().zip(read.sizes()).rev();
                let missing: Vec<i64> = missing.flat_map(|(size, read)| [0, size - read]).collect();
                if missing.iter().all(|count| *count == 0) {
                    Ok(read)
                } else {
                    ConstantPadNd.call(&read, &missing, 0.into())
                }
            }
        }
    }

    /// A tensor with zeros at the places.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub(crate) fn cleared(self, tensor: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
        match self {
            Self::Slices => IndexFillIntScalar.call(tensor, dim, index, 0.into()),
            Self::Elements => ScatterValue.call(tensor, dim, index, 0.into()),
        }
    }

    fn added(self, into: &Tensor, dim: i64, index: &Tensor, values: &Tensor) -> Result<Tensor> {
        match self {
            Self::Slices => IndexAdd.call(into, dim, index, values, 1.into()),
            Self::Elements => ScatterAdd.call(into, dim, index, values),
        }
    }

    fn multiplied(
        self,
        [into, values]: [&Tensor; 2],
        dim: i64,
        index: &Tensor,
        with_own: bool,
    ) -> Result<Tensor> {
        match self {
            Self::Slices => IndexReduce.call(into, dim, index, values, "prod", with_own),
            Self::Elements => ScatterReduceTwo.call(into, dim, index, values, "prod", with_own),
        }
    }
}

/// The derivative of an operator that combines what places have with values.
///
/// # Errors
///
/// Those of the operators that it is made of.
pub(crate) fn reduction_derivative(
    d: &Recorder<'_>,
    named: Named,
    [input, source]: [&Tensor; 2],
    (dim, index): (i64, &Tensor),
    reduce: &str,
    with_own: bool,
) -> Result<()> {
    let (name, sizes) = (reduce.to_owned(), source.sizes().to_vec());
    if name == "sum" {
        d.by(
            input,
            [index],
            move |grad, [index]| if with_own { Ok(grad.clone()) } else { named.cleared(grad, dim, index) },
        )?;
        return d.by(source, [index], move |grad, [index]| named.read(grad, dim, index, &sizes));
    }
    let keep = [Some(input), Some(source), Some(index), Some(d.result(0))];
    d.together([Some(input), Some(source)], keep, move |grads, kept, _| {
        let (Some(grad), [Some(input), Some(source), Some(index), Some(out)]) = (grads.for_result(0), kept)
        else {
            return Ok([None, None]);
        };
        let reduced = Reduced { named, input, source, dim, index, out, with_own };
        let (own, of_source) = match name.as_str() {
            "prod" => reduced.product(grad)?,
            "mean" => reduced.mean(grad)?,
            _ => reduced.extremum(grad)?,
        };
        Ok([Some(if with_own { own } else { named.cleared(&own, dim, index)? }), Some(of_source)])
    })
}

/// What the gradients of such an operator are made of.
struct Reduced<'a> {
    named: Named,
    input: &'a Tensor,
    source: &'a Tensor,
    dim: i64,
    index: &'a Tensor,
    out: &'a Tensor,
    with_own: bool,
}

impl Reduced<'_> {
    fn read(&self, from: &Tensor) -> Result<Tensor> {
        self.named.read(from, self.dim, self.index, self.source.sizes())
    }

    fn added(&self, into: &Tensor, values: &Tensor) -> Result<Tensor> {
        self.named.added(into, self.dim, self.index, values)
    }

    /// Each factor's gradient is the product of the others, also where one of them is zero.
    fn product(&self, grad: &Tensor) -> Result<(Tensor, Tensor)> {
        let (dim, index, with_own) = (self.dim, self.index, self.with_own);
        let product =
            |own: &Tensor, source: &Tensor| self.named.multiplied([own, source], dim, index, with_own);
        let own = self.input.masked_fill(&self.input.eq(0)?, 1)?;
        let by_own = grad.mul(&product(&own, self.source)?.div(&own)?.conj()?)?;
        let is_zero = self.source.eq(0)?;
        let zeros = derivatives::zeros_of(self.input.sizes(), grad)?;
        let count = self.read(&self.added(&zeros, &is_zero.to_dtype(grad.dtype())?)?)?;
        let is_only = is_zero.logical_and(&count.eq(1)?)?;
        let others = product(self.input, &self.source.masked_fill(&is_only, 1)?)?;
        let usual = self.read(&grad.mul(&self.out.conj()?)?)?;
        let usual = usual.div(&self.source.masked_fill(&is_zero, 1)?.conj()?)?;
        Ok((by_own, WhereSelf.call(&is_only, &self.read(&grad.mul(&others.conj()?)?)?, &usual)?))
    }

    fn mean(&self, grad: &Tensor) -> Result<(Tensor, Tensor)> {
        let count = derivatives::zeros_of(self.input.sizes(), grad)?;
        let count = if self.with_own { count.add(1)? } else { count };
        let ones = derivatives::zeros_of(self.source.sizes(), grad)?.add(1)?;
        let count = self.added(&count, &ones)?;
        let grad = grad.div(&count.masked_fill(&count.eq(0)?, 1)?)?;
        let of_source = self.read(&grad)?;
        Ok((grad, of_source))
    }

    /// Shared evenly among those that are the result.
    fn extremum(&self, grad: &Tensor) -> Result<(Tensor, Tensor)> {
        let dtype = grad.dtype();
        let own = EqTensor.call(self.input, self.out)?.to_dtype(dtype)?;
        let of_source = EqTensor.call(self.source, &self.read(self.out)?)?.to_dtype(dtype)?;
        let count = self.added(&own, &of_source)?;
        let grad = grad.div(&count.masked_fill(&count.eq(0)?, 1)?)?;
        Ok((own.mul(&grad)?, of_source.mul(&self.read(&grad)?)?))
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// A tensor, a dimension and indices for each value, of shapes with what goes wrong first.
    pub(crate) fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64, &[i64]); 6] = [
            (&[3, 4], 0, &[2, 4]),
            (&[3, 4], -1, &[2, 3]),
            (&[3], 0, &[5]),
            (&[], 0, &[]),
            (&[3, 2], 0, &[0, 2]),
            (&[2, 3, 2], 1, &[2, 4, 1]),
        ];
        let one = |(sizes, dim, index): (&[i64], i64, &[i64])| {
            let places = if sizes.is_empty() { vec![0] } else { vec![1, 0, 2, 1] };
            let largest = sizes.get(naive::dimension(dim, sizes.len())).copied().unwrap_or(1);
            let places: Vec<i64> = places.into_iter().map(|place: i64| place.min(largest - 1)).collect();
            given(generate::numbers(dtype, sizes, 0)).and(dim).and(Plain::from_elements(
                DType::I64,
                index,
                &places,
            ))
        };
        cases.into_iter().map(one).collect()
    }

    /// Samples with values of the indices' shape, or larger ones.
    pub(crate) fn inputs_with_values(dtype: DType) -> Vec<Sample> {
        let with_values = |(number, sample): (usize, Sample)| {
            let sizes = sample.positional[2].tensors()[0].sizes().to_vec();
            let sizes: Vec<i64> = sizes.iter().map(|size| size + i64::from(number == 1)).collect();
            sample.and(generate::numbers(dtype, &sizes, 3))
        };
        inputs(dtype).into_iter().enumerate().map(with_values).collect()
    }

    /// A tensor, a dimension, a vector of indices and slices for them.
    pub(crate) fn inputs_with_slices(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64, &[i64]); 6] = [
            (&[3, 4], 0, &[2, 0]),
            (&[3, 4], -1, &[1, 1, 3]),
            (&[5], 0, &[4]),
            (&[], 0, &[0]),
            (&[3, 0], 0, &[1]),
            (&[2, 3, 2], 1, &[]),
        ];
        let one = |(sizes, dim, index): (&[i64], i64, &[i64])| {
            let mut slices = sizes.to_vec();
            if let Some(size) = slices.get_mut(naive::dimension(dim, sizes.len())) {
                *size = index.len() as i64;
            }
            given(generate::numbers(dtype, sizes, 0))
                .and(dim)
                .and(Plain::from_elements(DType::I64, &[index.len() as i64], index))
                .and(generate::numbers(dtype, &slices, 3))
        };
        cases.into_iter().map(one).collect()
    }

    /// What comes to each element of the first argument: the element itself, and the values of `values` at the positions for
    /// which `place` names it; and what `combine` makes of them.
    pub(crate) fn reference(
        it: &Inputs,
        values: &Plain,
        place: &dyn Fn(&[i64]) -> Vec<i64>,
        sizes: &[i64],
        combine: &dyn Fn(Scalar, &[Scalar]) -> Scalar,
    ) -> Result<Expected> {
        let x = it.tensor("self")?;
        let all: Vec<(Vec<i64>, Scalar)> =
            naive::positions(sizes).map(|position| (place(&position), values.at(&position))).collect();
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let coming: Vec<Scalar> =
                all.iter().filter(|(place, _)| place == position).map(|(_, value)| *value).collect();
            if coming.is_empty() { x.at(position) } else { combine(x.at(position), &coming) }
        })
        .into())
    }

    /// [`reference`] for indices of each value.
    pub(crate) fn reference_of_each(
        it: &Inputs,
        values: &Plain,
        combine: &dyn Fn(Scalar, &[Scalar]) -> Scalar,
    ) -> Result<Expected> {
        let (x, index) = (it.tensor("self")?, it.tensor("index")?);
        let dim = naive::dimension(it.value("dim")?, x.sizes().len());
        let place = |position: &[i64]| {
            let mut place = position.to_vec();
            place.iter_mut().skip(dim).take(1).for_each(|at| *at = number::whole(index.at(position)));
            place
        };
        reference(it, values, &place, index.sizes(), combine)
    }

    /// [`reference`] for a vector of indices, of which negative ones count from the end.
    pub(crate) fn reference_of_slices(
        it: &Inputs,
        values: &Plain,
        combine: &dyn Fn(Scalar, &[Scalar]) -> Scalar,
    ) -> Result<Expected> {
        let (x, index) = (it.tensor("self")?, it.tensor("index")?);
        let dim = naive::dimension(it.value("dim")?, x.sizes().len());
        let mut sizes = x.sizes().to_vec();
        sizes.iter_mut().skip(dim).take(1).for_each(|size| *size = index.elements().len() as i64);
        let place = |position: &[i64]| {
            let mut place = position.to_vec();
            if let Some(at) = place.get_mut(dim) {
                *at = number::whole(index.at(&[*at])).rem_euclid(x.sizes()[dim]);
            }
            place
        };
        reference(it, values, &place, &sizes, combine)
    }

    /// What a reduction by that name makes of an element and the values that come to it, in numbers of a dtype.
    pub(crate) fn reduced(
        name: &str,
        include_self: bool,
        dtype: DType,
    ) -> impl Fn(Scalar, &[Scalar]) -> Scalar + use<> {
        let name = name.to_owned();
        move |own, coming| {
            let all: Vec<Scalar> =
                include_self.then_some(own).into_iter().chain(coming.iter().copied()).collect();
            let rounded = |value| naive::convert(value, dtype);
            let over = |f: &dyn Fn(Scalar, Scalar) -> Scalar| {
                all.iter().copied().reduce(|a, b| rounded(f(a, b))).unwrap_or(Scalar::Int(0))
            };
            match name.as_str() {
                "sum" | "add" => over(&number::plus),
                "prod" | "multiply" => over(&number::times),
                "amax" => over(&|a, b| number::extremum(a, b, |order| order.is_lt())),
                "amin" => over(&|a, b| number::extremum(a, b, |order| order.is_gt())),
                _ => match over(&number::plus) {
                    Scalar::Int(sum) => Scalar::Int(sum.div_euclid(all.len() as i64)),
                    sum => number::over(sum, Scalar::Float(all.len() as f64)),
                },
            }
        }
    }
}
