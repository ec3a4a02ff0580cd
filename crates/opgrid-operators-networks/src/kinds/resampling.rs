//! What operators share that compute images of other sizes: sizes, scales, and where places lie.

use opgrid_core::{DType, MemoryFormat, Result};

use opgrid_array::error::argument;
use opgrid_kernels::arithmetic::Arithmetic;
use opgrid_kernels::resampling::{Line, resample_bytes};
use opgrid_kernels::sampling::{Coordinate, cubic_weights};
use opgrid_kinds::derivatives;
use opgrid_kinds::images::{check_float, in_format_of};
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::{Contiguous, IndexAdd, ToCopy};
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::{Dims, Tensor, TensorSpec};

/// The dtypes of images that are resampled by weights.
pub(crate) const BYTES_AND_FLOATS: &[DType] = &[DType::U8, DType::F16, DType::BF16, DType::F32, DType::F64];

/// # Errors
///
/// A dtype other than [`BYTES_AND_FLOATS`].
pub(crate) fn check_image(dtype: DType) -> Result<()> {
    if BYTES_AND_FLOATS.contains(&dtype) {
        Ok(())
    } else {
        Err(unsupported(dtype, "uint8 or a floating-point dtype"))
    }
}

/// Images of bytes by lines of weights.
///
/// # Errors
///
/// Those of the loop.
pub(crate) fn of_bytes(
    out: &Tensor,
    input: &Tensor,
    resized: &[Resized],
    line: impl Fn(&Resized) -> Line<f64>,
) -> Result<()> {
    resample_bytes(out.array()?, input.array()?, &lines(resized.iter().map(line).collect()))
}

/// The spec of a batch of images with other sizes.
///
/// # Errors
///
/// No batch of images of so many dimensions; sizes below 1 apart from that of the batch.
pub(crate) fn shape(input: &TensorSpec, output: &[i64], dims: usize) -> Result<TensorSpec> {
    let expected = "dimensions, of which only the first may have size 0";
    let sizes = sizes("argument `self` has shape", input.sizes(), output, dims, expected)?;
    in_format_of(input, &sizes, true)
}

/// The sizes of a batch of images of the sizes `input` whose images get the sizes `output`.
fn sizes(found: &str, input: &[i64], output: &[i64], dims: usize, expected: &str) -> Result<Dims> {
    if output.len() != dims || output.iter().any(|size| *size < 1) {
        let message = format!("argument `output_size` is {output:?}, expected {dims} sizes, each at least 1");
        return Err(argument(message));
    }
    if input.len() != dims + 2 || input[0] < 0 || input[1..].iter().any(|size| *size < 1) {
        return Err(argument(format!("{found} {input:?}, expected {} {expected}", dims + 2)));
    }
    Ok(input[..2].iter().chain(output).copied().collect())
}

/// The sizes that are given, or that follow from scales.
///
/// # Errors
///
/// Both or neither is given; lists of another length; a size beyond 64 bits.
pub(crate) fn output_sizes(
    input: &[i64],
    output: Option<&[i64]>,
    scales: Option<&[f64]>,
    dims: usize,
) -> Result<Vec<i64>> {
    let first = input.len().saturating_sub(dims);
    match (output, scales) {
        (Some(output), None) => Ok(output.to_vec()),
        (None, Some(scales)) if scales.len() == dims && input.len() == dims + 2 => {
            let sized = |(size, scale): (&i64, &f64)| {
                let size = *size as f64 * scale;
                // The ends of the range are powers of two, which floats have exactly.
                if size > -(2f64.powi(63)) && size < 2f64.powi(63) {
                    Ok(size as i64)
                } else {
                    Err(argument(format!("a size of {size} by `scale_factors` {scales:?} overflows 64 bits")))
                }
            };
            input[first..].iter().zip(scales).map(sized).collect()
        }
        (None, Some(scales)) => Err(argument(format!(
            "argument `scale_factors` is {scales:?}, expected {dims} numbers for images of shape {input:?}"
        ))),
        _ => Err(argument("expected exactly one of `output_size` and `scale_factors`")),
    }
}

/// A scale of a list that may be missing.
pub(crate) fn scale_at(scales: Option<&[f64]>, dim: usize) -> Option<f64> {
    scales.and_then(|scales| scales.get(dim)).copied()
}

/// One dimension that is resampled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resized {
    pub from: usize,
    pub to: usize,
    /// How much larger the result is, where it is not what the sizes say.
    pub scale: Option<f64>,
    /// Whether the outermost elements stay where they are, by their middles.
    pub align_corners: bool,
}

impl Resized {
    /// All dimensions of images.
    pub(crate) fn all(from: &[i64], to: &[i64], align_corners: bool, scales: &[Option<f64>]) -> Vec<Self> {
        let sizes = from.iter().zip(to).zip(scales);
        sizes
            .map(|((&from, &to), &scale)| Self { from: from as usize, to: to as usize, scale, align_corners })
            .collect()
    }

    /// From a place to the next, in elements.
    fn step<M: Coordinate>(&self) -> M {
        let ratio = |from: usize, to: usize| M::from_f64(from as f64 / to as f64);
        match (self.align_corners, self.scale) {
            (true, _) if self.to > 1 => ratio(self.from - 1, self.to - 1),
            (true, _) => M::ZERO,
            (false, Some(scale)) if scale > 0.0 => M::from_f64(1.0 / scale),
            (false, _) => ratio(self.from, self.to),
        }
    }

    /// Where a place lies, in elements from the middle of the first one.
    fn place<M: Coordinate>(&self, place: usize) -> M {
        let (step, place) = (self.step::<M>(), M::from_f64(place as f64));
        if self.align_corners {
            step.times(place)
        } else {
            let half = M::from_f64(0.5);
            step.times(place.plus(half)).minus(half)
        }
    }

    /// The nearest elements: those in whose share of the image a place's beginning lies, or its middle if `exact` says so.
    pub(crate) fn nearest<M: Coordinate>(&self, exact: bool) -> Vec<usize> {
        let (step, offset) = (self.step::<M>(), M::from_f64(if exact { 0.5 } else { 0.0 }));
        let element = |place: usize| {
            let at: f64 = step.times(M::from_f64(place as f64).plus(offset)).into();
            // As in torch, single precision decides where it rounds up to the next element.
            (f64::from(at as f32).floor().max(0.0) as usize).min(self.from - 1)
        };
        (0..self.to).map(element).collect()
    }

    /// The nearest elements as a line, in the precision that images of a dtype have.
    pub(crate) fn nearest_line<M: Coordinate>(&self, exact: bool) -> Line<f64> {
        let mut line = Line::new(self.from);
        self.nearest::<M>(exact).into_iter().for_each(|element| line.push([(element, 1.0)]));
        line
    }

    /// The neighbours of each place, the nearer the more.
    pub(crate) fn linear<M: Coordinate>(&self) -> Line<M> {
        if self.from == self.to {
            return Line::same(self.from);
        }
        let mut line = Line::new(self.from);
        for place in 0..self.to {
            let at: f64 = self.place::<M>(place).into();
            let at = at.max(0.0);
            let low = (at as usize).min(self.from - 1);
            let upper = (at - low as f64).clamp(0.0, 1.0);
            line.push([(low, M::from_f64(1.0 - upper)), ((low + 1).min(self.from - 1), M::from_f64(upper))]);
        }
        line
    }

    /// Four neighbours of each place, by cubic polynomials.
    pub(crate) fn cubic<M: Coordinate>(&self) -> Line<M> {
        // As torch, which looks at a scale here, and not where neighbours are averaged.
        let is_scaled = !self.align_corners && self.scale.is_some_and(|scale| scale > 0.0 && scale != 1.0);
        if self.from == self.to && !is_scaled {
            return Line::same(self.from);
        }
        let mut line = Line::new(self.from);
        let last = self.from as f64 - 1.0;
        for place in 0..self.to {
            let at: f64 = self.place::<M>(place).into();
            let low = at.floor();
            let weights = cubic_weights((at - low).clamp(0.0, 1.0), -0.75);
            let tap =
                |k: usize| ((low + k as f64 - 1.0).min(last).max(0.0) as usize, M::from_f64(weights[k]));
            line.push((0..4).map(tap));
        }
        line
    }

    /// All elements under a filter of so many elements, which is wider where the image becomes smaller.
    pub(crate) fn antialiased<M: Coordinate>(&self, width: f64, filter: fn(f64) -> f64) -> Line<M> {
        let step: f64 = self.step::<M>().into();
        let wide = step.max(1.0);
        let support = width / 2.0 * wide;
        let mut line = Line::new(self.from);
        for place in 0..self.to {
            let middle = step * (place as f64 + 0.5);
            let first = ((middle - support + 0.5) as i64).clamp(0, self.from as i64 - 1);
            let end = ((middle + support + 0.5) as i64).clamp(first + 1, self.from as i64);
            let weight = |element: i64| filter((element as f64 - middle + 0.5) / wide);
            let all: f64 = (first..end).map(weight).sum();
            let all = if all == 0.0 { 1.0 } else { all };
            line.push((first..end).map(|element| (element as usize, M::from_f64(weight(element) / all))));
        }
        line
    }
}

/// A triangle of two elements.
pub(crate) fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// A cubic filter of four elements.
pub(crate) fn cubic_filter(x: f64) -> f64 {
    const SLOPE: f64 = -0.5;
    let x = x.abs();
    match x {
        _ if x < 1.0 => ((SLOPE + 2.0) * x - (SLOPE + 3.0)) * x * x + 1.0,
        _ if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * SLOPE,
        _ => 0.0,
    }
}

/// The dimensions of images with those that are missing in front, which stay what they are.
pub(crate) fn lines<M: Arithmetic>(lines: Vec<Line<M>>) -> [Line<M>; 3] {
    let missing = 3usize.saturating_sub(lines.len());
    let mut all = (0..missing).map(|_| Line::same(1)).chain(lines);
    std::array::from_fn(|_| all.next().unwrap_or_else(|| Line::same(1)))
}

/// How the gradient of images of other sizes goes back to the elements that they were computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// The line of a dimension.
    pub line: fn(&Resized) -> Line<f64>,
    /// Whether the gradient of the elements has the memory format of the incoming one, or is contiguous.
    pub keeps_format: bool,
}

/// The derivative of an operator that computes images of other sizes.
///
/// # Errors
///
/// Those of the recorder.
pub(crate) fn derivative(
    d: &Recorder<'_>,
    input: &Tensor,
    (output, align_corners): (&[i64], bool),
    scales: &[Option<f64>],
    spread: Spread,
) -> Result<()> {
    let sizes = input.sizes().to_vec();
    let resized = Resized::all(&sizes[2..], output, align_corners, scales);
    d.by(input, [], move |grad, []| spread.gradient(grad, &sizes, &resized))
}

impl Spread {
    /// The gradient of images of these sizes.
    fn gradient(self, grad: &Tensor, sizes: &[i64], resized: &[Resized]) -> Result<Tensor> {
        // Sizes beside one of 0 may be of any size.
        if grad.numel() == 0 {
            return derivatives::zeros_of(sizes, grad);
        }
        let format = match grad.geometry().suggested_format() {
            format if self.keeps_format => format,
            _ => MemoryFormat::Contiguous,
        };
        let gradient = resized.iter().enumerate().try_fold(grad.clone(), |grad, (dim, resized)| {
            spread(&grad, dim as i64 + 2, &(self.line)(resized))
        })?;
        Contiguous.call(&gradient, format)
    }
}

/// The gradient of an operator that computes images of other sizes, by its arguments: the sizes of the result's images and of the
/// input, whether corners are aligned, and a scale for each dimension.
///
/// # Errors
///
/// Other dtypes than floating-point ones; sizes of another count or below 1 apart from the batch's; a gradient of another shape.
pub(crate) fn backward(
    grad: &Tensor,
    [output, input]: [&[i64]; 2],
    align_corners: bool,
    scales: &[Option<f64>],
    spread: Spread,
) -> Result<Tensor> {
    check_float(grad.spec()?.dtype())?;
    let expected = "sizes, of which only the first may be 0";
    let expected = sizes("argument `input_size` is", input, output, scales.len(), expected)?;
    if grad.sizes() != expected.as_slice() {
        let message = format!(
            "argument `grad_output` has shape {:?}, expected {expected:?} as the result",
            grad.sizes()
        );
        return Err(argument(message));
    }
    let resized = Resized::all(&input[2..], output, align_corners, scales);
    derivatives::owned(spread.gradient(grad, input, &resized)?, grad)
}

/// The gradient of a dimension that a line was read along: each place gives its elements their shares.
///
/// # Errors
///
/// Those of the operators that it is made of.
pub(crate) fn spread(grad: &Tensor, dim: i64, line: &Line<f64>) -> Result<Tensor> {
    if line.is_same() {
        return Ok(grad.clone());
    }
    let mut sizes = grad.sizes().to_vec();
    sizes[dim as usize] = line.size() as i64;
    let mut along = vec![1; sizes.len()];
    along[dim as usize] = -1;
    let mut sum = derivatives::zeros_of(&sizes, grad)?;
    for tap in 0..line.each().map(<[_]>::len).max().unwrap_or(0) {
        // Places with fewer elements add zeros somewhere.
        let taps: Vec<(usize, f64)> =
            line.each().map(|taps| taps.get(tap).copied().unwrap_or((0, 0.0))).collect();
        let elements: Vec<i64> = taps.iter().map(|(element, _)| *element as i64).collect();
        let elements =
            on_device(&Tensor::from_slice(&elements, &[elements.len() as i64])?, DType::I64, grad)?;
        let weights: Vec<f64> = taps.iter().map(|(_, weight)| *weight).collect();
        let share = if weights.iter().all(|weight| *weight == 1.0) {
            grad.clone()
        } else {
            let weights = Tensor::from_slice(&weights, &[weights.len() as i64])?;
            grad.mul(&on_device(&weights, grad.dtype(), grad)?.reshape(&along)?)?
        };
        sum = IndexAdd.call(&sum, dim, &elements, &share, 1.into())?;
    }
    Ok(sum)
}

fn on_device(list: &Tensor, dtype: DType, like: &Tensor) -> Result<Tensor> {
    if (list.dtype(), list.device()) == (dtype, like.device()) {
        Ok(list.clone())
    } else {
        ToCopy.call(list, Some(dtype), None, Some(like.device()), None, false, None)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{Scalar, Value, ValueType};

    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::Geometry;

    /// Samples of images with the sizes of the result; those of `flags` stand behind the sizes, then scales where they are given.
    pub(crate) fn inputs(dtype: DType, dims: usize, flags: &[bool]) -> Vec<Sample> {
        /// Outer sizes, those of the image, those of the result, and a scale.
        pub type Case = (&'static [i64], [i64; 3], [i64; 3], Option<f64>);
        let cases: [Case; 6] = [
            (&[2, 3], [2, 3, 4], [4, 6, 8], None),
            (&[1, 2], [3, 5, 7], [2, 3, 4], None),
            (&[1, 1], [4, 4, 4], [7, 7, 7], Some(1.75)),
            (&[0, 2], [2, 3, 4], [4, 6, 8], None),
            (&[1, 2], [2, 3, 3], [2, 3, 3], None),
            (&[1, 1], [1, 1, 5], [3, 1, 1], None),
        ];
        let one = |(outer, sizes, output, scale): (&[i64], [i64; 3], [i64; 3], Option<f64>)| {
            let image = generate::numbers(dtype, &[outer, &sizes[3 - dims..]].concat(), 1);
            let sample = flags
                .iter()
                .fold(given(image).and(output[3 - dims..].to_vec()), |sample, flag| sample.and(*flag));
            (0..dims).fold(sample, |sample, _| match scale {
                Some(scale) => sample.and(scale),
                None => sample,
            })
        };
        cases.into_iter().map(one).collect()
    }

    /// The samples of `inputs` with and without aligned corners.
    pub(crate) fn both_alignments(
        dtype: DType,
        dims: usize,
        inputs: fn(DType, usize, &[bool]) -> Vec<Sample>,
    ) -> Vec<Sample> {
        [inputs(dtype, dims, &[false]), inputs(dtype, dims, &[true])].concat()
    }

    /// Samples for overloads that take sizes or scales.
    pub(crate) fn by_scales(dtype: DType, dims: usize, flags: &[bool]) -> Vec<Sample> {
        let image = |batch: i64| generate::numbers(dtype, &[&[batch, 2], &[3, 4, 5][3 - dims..]].concat(), 1);
        let with = |sample: Sample| flags.iter().fold(sample, |sample, flag| sample.and(*flag));
        vec![
            with(given(image(1)).and(vec![6, 5, 3][3 - dims..].to_vec())).and(Value::None),
            with(given(image(2)).and(Value::None)).and(vec![2.0, 1.5, 0.75][3 - dims..].to_vec()),
            with(given(image(0)).and(Value::None)).and(vec![2.0; dims]),
        ]
    }

    /// The samples of an operator as those of its gradient, which is given the sizes of the image instead of the image.
    pub(crate) fn gradients(samples: Vec<Sample>) -> Vec<Sample> {
        let one = |sample: Sample| {
            let image = sample.positional[0].tensors()[0];
            let output = match &sample.positional[1] {
                Given::Value(value) => Vec::<i64>::from_value(value.borrow()).unwrap_or_default(),
                _ => Vec::new(),
            };
            let grad = generate::numbers(image.dtype(), &[&image.sizes()[..2], &output].concat(), 2);
            let sizes = given(grad).and(output).and(image.sizes().to_vec());
            Sample { positional: [sizes.positional, sample.positional[2..].to_vec()].concat(), ..sample }
        };
        samples.into_iter().map(one).collect()
    }

    /// The sizes of the images of a sample and of its result, and the scale of each dimension.
    pub(crate) struct Request {
        pub sizes: Vec<i64>,
        pub output: Vec<i64>,
        pub scales: Vec<Option<f64>>,
    }

    /// What a sample resizes, and to what.
    fn request(it: &Inputs) -> Result<Request> {
        let sizes = match it.option::<Vec<i64>>("input_size")? {
            Some(sizes) => sizes,
            None => it.tensor("self").or_else(|_| it.tensor("input"))?.sizes().to_vec(),
        };
        let dims = sizes.len() - 2;
        let factors: Option<Vec<f64>> = it.option("scale_factors")?;
        let names: &[&str] =
            if dims == 1 { &["scales"] } else { &["scales_d", "scales_h", "scales_w"][3 - dims..] };
        let scale = |(dim, name): (usize, &&str)| match &factors {
            Some(factors) => Ok(Some(factors[dim])),
            None => it.option(name),
        };
        let scales: Vec<Option<f64>> = names.iter().enumerate().map(scale).collect::<Result<_>>()?;
        let output = match (it.option::<Vec<i64>>("output_size")?, &factors) {
            (Some(output), _) => output,
            (None, factors) => {
                let factor = |dim: usize| factors.as_ref().map_or(1.0, |factors| factors[dim]);
                let sized = |(dim, size): (usize, &i64)| (*size as f64 * factor(dim)) as i64;
                sizes[2..].iter().enumerate().map(sized).collect()
            }
        };
        Ok(Request { sizes, output, scales })
    }

    /// What a sample has to answer, of an operator or of its gradient: `taps` gives the elements and weights of a place in a dimension.
    ///
    /// # Errors
    ///
    /// Arguments are missing.
    pub(crate) fn expected(
        it: &Inputs,
        taps: impl Fn(&Request, usize, i64) -> Vec<(i64, f64)>,
    ) -> Result<Expected> {
        let request = request(it)?;
        let taps = |dim: usize, place: i64| taps(&request, dim, place);
        Ok(match it.tensor("grad_output") {
            Ok(grad) => naive_gradients(grad, &request.sizes, taps).into(),
            Err(_) => {
                let image = it.tensor("self").or_else(|_| it.tensor("input"))?;
                naive(image, &request.output, taps).into()
            }
        })
    }

    /// The gradients of images: those of each place go to its taps, by their weights.
    fn naive_gradients(grad: &Plain, sizes: &[i64], taps: impl Fn(usize, i64) -> Vec<(i64, f64)>) -> Plain {
        let mut sums = Plain::from_elements::<i64>(DType::F64, sizes, &[]);
        for position in naive::positions(grad.sizes()) {
            let (outer, place) = position.split_at(2);
            for (at, weight) in products(place, &taps) {
                let at = [outer, &at].concat();
                let share = Scalar::Float(grad.at(&position).to_complex().re * weight);
                sums.set(&at, number::plus(sums.at(&at), share));
            }
        }
        sums.to(grad.dtype())
    }

    /// The elements that a place of an image is made of, and their weights: the products of those of all dimensions.
    fn products(place: &[i64], taps: &impl Fn(usize, i64) -> Vec<(i64, f64)>) -> Vec<(Vec<i64>, f64)> {
        let all: Vec<_> = place.iter().enumerate().map(|(dim, place)| taps(dim, *place)).collect();
        let counts: Vec<i64> = all.iter().map(|taps| taps.len() as i64).collect();
        let product = |chosen: Vec<i64>| {
            let chosen = chosen.iter().zip(&all).map(|(k, taps)| taps[*k as usize]);
            (chosen.clone().map(|(at, _)| at).collect(), chosen.map(|(_, weight)| weight).product())
        };
        naive::positions(&counts).map(product).collect()
    }

    /// Images whose elements are sums over all dimensions' taps: `taps` gives the elements and weights of a place in a dimension. Bytes are rounded after each dimension, the last one first.
    fn naive(input: &Plain, output: &[i64], taps: impl Fn(usize, i64) -> Vec<(i64, f64)>) -> Plain {
        if FLOATS.contains(&input.dtype()) {
            return naive_floats(input, output, taps);
        }
        let first = input.sizes().len() - output.len();
        let rounded = (0..output.len()).rev().fold(input.to(DType::F64), |image, dim| {
            let mut sizes = image.sizes()[first..].to_vec();
            sizes[dim] = output[dim];
            let (weights, one) = in_16_bits((0..output[dim]).map(|place| taps(dim, place)));
            let image = naive_floats(&image, &sizes, |at, place| {
                if at == dim { weights[place as usize].clone() } else { vec![(place, 1.0)] }
            });
            let byte =
                |position: &[i64]| (image.at(position).to_complex().re / one + 0.5).floor().clamp(0.0, 255.0);
            Plain::from_fn(DType::F64, image.sizes(), |position| Scalar::Float(byte(position)))
        });
        rounded.to(input.dtype())
    }

    /// The taps of all places with weights that are whole numbers of 16 bits, and what the weight 1 became.
    fn in_16_bits(places: impl Iterator<Item = Vec<(i64, f64)>>) -> (Vec<Vec<(i64, f64)>>, f64) {
        let sum = |taps: Vec<(i64, f64)>| {
            let mut sums = std::collections::BTreeMap::new();
            taps.into_iter().for_each(|(at, weight)| *sums.entry(at).or_insert(0.0) += weight);
            sums.into_iter().collect::<Vec<_>>()
        };
        let places: Vec<_> = places.map(sum).collect();
        let largest = places.iter().flatten().map(|(_, weight)| *weight).fold(0.0, f64::max);
        let fits = |one: &f64| (largest * one).round() < 32768.0;
        let one = (0..=22).rev().map(|digits| 2f64.powi(digits)).find(fits).unwrap_or(1.0);
        let whole = |taps: Vec<(i64, f64)>| {
            taps.into_iter().map(|(at, weight)| (at, (weight * one).round())).collect()
        };
        (places.into_iter().map(whole).collect(), one)
    }

    fn naive_floats(input: &Plain, output: &[i64], taps: impl Fn(usize, i64) -> Vec<(i64, f64)>) -> Plain {
        let dims = output.len();
        let (outer, _) = input.sizes().split_at(input.sizes().len() - dims);
        Plain::from_fn(input.dtype(), &[outer, output].concat(), |position| {
            let (outer, place) = position.split_at(position.len() - dims);
            let terms = products(place, &taps)
                .into_iter()
                .map(|(at, weight)| input.at(&[outer, &at].concat()).to_complex().re * weight);
            Scalar::Float(terms.sum())
        })
    }

    /// Where a place lies in a dimension, in elements from the middle of the first one, for samples.
    pub(crate) fn naive_place(
        from: i64,
        to: i64,
        scale: Option<f64>,
        align_corners: bool,
        place: i64,
    ) -> f64 {
        if !align_corners {
            (place as f64 + 0.5) * scale.map_or(from as f64 / to as f64, |scale| 1.0 / scale) - 0.5
        } else if to > 1 {
            (from - 1) as f64 * place as f64 / (to - 1) as f64
        } else {
            0.0
        }
    }

    /// The difference from torch of smooth images of bytes.
    pub(crate) const BYTES_OF_ANY_STRIDES: Difference = Difference {
        id: "smooth-bytes-of-any-strides",
        what: "torch reads uint8 images at the wrong positions, or fails an internal assertion, if \
             dimensions of size 1 have unusual strides, or the result has one column; here every \
             element is read at its position",
        why: "results must not depend on strides",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| {
            let of_one = |input: &Operand| {
                let rows = Geometry::contiguous(input.geometry.sizes());
                let is_apart = rows.is_ok_and(|rows| rows.strides() != input.geometry.strides());
                input.dtype == DType::U8 && input.geometry.sizes().contains(&1) && is_apart
            };
            let has_channels = |input: &Operand| {
                input.dtype == DType::U8 && input.geometry.sizes().get(1).is_some_and(|count| *count > 1)
            };
            let is_column = seen.inputs().into_iter().any(has_channels)
                && matches!(seen.argument("output_size"), Some(Argument::Ints(sizes)) if sizes.last() == Some(&1));
            let is_wrong = is_column || seen.inputs().into_iter().any(of_one);
            !seen.elements.is_empty() && is_wrong || seen.torch_refuses("num_channels ==")
        },
        directed: None,
    };
}
