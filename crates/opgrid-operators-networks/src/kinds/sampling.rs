//! Gradients of images that are read at the places of a grid.

use opgrid_core::{DType, Result};

use crate::kinds::loss;
use opgrid_array::error::argument;
use opgrid_kernels::sampling::{Beyond, Interpolation, Sampling};
use opgrid_kinds::derivatives;
use opgrid_tensor::ops::{ScatterAdd, SelectInt, Stack, WhereSelf};
use opgrid_tensor::tensor::Tensor;

/// Images, and the grid that names where they are read.
pub(crate) struct Sampled<'a> {
    pub input: &'a Tensor,
    pub grid: &'a Tensor,
    pub sampling: Sampling,
}

/// One of the elements of a dimension that places are made of.
struct Tap {
    element: Tensor,
    weight: Tensor,
    /// How the weight changes with the grid.
    slope: Tensor,
}

impl Sampled<'_> {
    /// The gradients of the images and of the grid, as far as they are needed.
    ///
    /// # Errors
    ///
    /// Those of the operators that they are made of.
    pub(crate) fn gradients(&self, grad: &Tensor, needs: [bool; 2]) -> Result<[Option<Tensor>; 2]> {
        let (sizes, dims) = (self.input.sizes(), self.input.dim() - 2);
        let (&[n, c], image) = (&[sizes[0], sizes[1]], &sizes[2..]);
        let places = grad.sizes()[2..].iter().product();
        if grad.numel() == 0 {
            let zeros = |like: &Tensor| derivatives::zeros_of(like.sizes(), like).map(Some);
            return Ok([zeros(self.input)?, zeros(self.grid)?]);
        }
        let grid = loss::wide(self.grid)?.reshape(&[n, places, dims as i64])?;
        let along = |dim: usize| self.taps(&SelectInt.call(&grid, 2, (dims - 1 - dim) as i64)?, image[dim]);
        let along = (0..dims).map(along).collect::<Result<Vec<_>>>()?;
        let grad = loss::wide(grad)?.reshape(&[n, c, places])?;
        let flat = loss::wide(self.input)?.reshape(&[n, c, image.iter().product()])?;
        let mut by_input = derivatives::zeros_of(flat.sizes(), &flat)?;
        let mut by_numbers: Vec<Option<Tensor>> = vec![None; dims];
        let count = along[0].len();
        for chosen in 0..count.pow(dims as u32) {
            let taps: Vec<&Tap> =
                (0..dims).map(|dim| &along[dim][chosen / count.pow(dim as u32) % count]).collect();
            let mut element = taps[0].element.clone();
            for (tap, size) in taps.iter().zip(image).skip(1) {
                element = element.mul(*size)?.add(&tap.element)?;
            }
            let element = element.unsqueeze(1)?.expand(&[n, c, places])?;
            if needs[0] {
                let share = grad.mul(&product(taps.iter().map(|tap| tap.weight.clone()))?.unsqueeze(1)?)?;
                by_input = ScatterAdd.call(&by_input, 2, &element, &share)?;
            }
            if needs[1] {
                let value = grad.mul(&flat.gather(2, &element)?)?.sum_dim(&[1], false)?;
                for (dim, by_number) in by_numbers.iter_mut().enumerate() {
                    let factor = |(at, tap): (usize, &&Tap)| {
                        if at == dim { tap.slope.clone() } else { tap.weight.clone() }
                    };
                    let slope = product(taps.iter().enumerate().map(factor))?;
                    *by_number = derivatives::sum_gradients([by_number.take(), Some(value.mul(&slope)?)])?;
                }
            }
        }
        let by_input = needs[0].then(|| by_input.reshape(sizes)).transpose()?;
        let by_numbers: Vec<Tensor> = by_numbers.into_iter().flatten().rev().collect();
        let by_grid =
            if needs[1] { Some(Stack.call(&by_numbers, -1)?.reshape(self.grid.sizes())?) } else { None };
        Ok([by_input, by_grid])
    }

    /// The taps of a dimension by the numbers that the grid has for it.
    fn taps(&self, numbers: &Tensor, size: i64) -> Result<Vec<Tap>> {
        let last = size as f64 - 1.0;
        let (at, step) = if self.sampling.align_corners {
            (numbers.add(1)?.mul(last / 2.0)?, last / 2.0)
        } else {
            let at = numbers.add(1)?.mul(size)?.sub(1)?.mul(0.5)?;
            (at, size as f64 / 2.0)
        };
        match self.sampling.interpolation {
            Interpolation::Nearest => {
                let element = self.within(&at, size)?.0.round()?;
                let zeros = derivatives::zeros(&element)?;
                Ok(vec![tap(&element, &zeros.add(1)?, &zeros, last)?])
            }
            Interpolation::Linear => {
                let (at, slope) = self.within(&at, size)?;
                let slope = slope.mul(step)?;
                let low = at.floor()?;
                let upper = at.sub(&low)?;
                let lower = upper.neg()?.add(1)?;
                Ok(vec![tap(&low, &lower, &slope.neg()?, last)?, tap(&low.add(1)?, &upper, &slope, last)?])
            }
            Interpolation::Cubic => {
                let low = at.floor()?;
                let between = at.sub(&low)?;
                let one = |k: i64| {
                    let (weight, slope) = cubic(&between.sub(k)?, k)?;
                    let element = self.within(&low.add(k)?, size)?.0.floor()?;
                    tap(&element, &weight, &slope.mul(step)?, last)
                };
                (-1..=2).map(one).collect()
            }
        }
    }

    /// Places within the edges, as far as what lies beyond them says so, and how they change with what is given: 1, -1 where
    /// it is mirrored, 0 where it is cut off.
    fn within(&self, at: &Tensor, size: i64) -> Result<(Tensor, Tensor)> {
        let last = size as f64 - 1.0;
        let ones = derivatives::zeros(at)?.add(1)?;
        let (at, slope) = match self.sampling.beyond {
            Beyond::Zeros => return Ok((at.clone(), ones)),
            Beyond::Border => (at.clone(), ones),
            Beyond::Reflection => {
                let (low, span) = if self.sampling.align_corners { (0.0, last) } else { (-0.5, size as f64) };
                if span == 0.0 {
                    return Ok((derivatives::zeros(at)?, derivatives::zeros(at)?));
                }
                let apart = at.sub(low)?;
                let from = apart.abs()?;
                let flips = from.mul(1.0 / span)?.floor()?;
                let extra = from.sub(&flips.mul(span)?)?;
                let is_mirrored = flips.remainder(2)?.eq(1)?;
                let mirrored = extra.neg()?.add(span)?;
                let side = apart.sign()?;
                let at = WhereSelf.call(&is_mirrored, &mirrored, &extra)?.add(low)?;
                (at, WhereSelf.call(&is_mirrored, &side.neg()?, &side)?)
            }
        };
        let is_cut = at.le(0)?.logical_or(&at.ge(last)?)?;
        Ok((at.clamp(Some(0.into()), Some(last.into()))?, slope.masked_fill(&is_cut, 0)?))
    }
}

/// A tap, without weight where its element lies beyond the edges.
fn tap(element: &Tensor, weight: &Tensor, slope: &Tensor, last: f64) -> Result<Tap> {
    let is_out = element.lt(0)?.logical_or(&element.gt(last)?)?;
    Ok(Tap {
        element: element.clamp(Some(0.into()), Some(last.into()))?.to_dtype(DType::I64)?,
        weight: weight.masked_fill(&is_out, 0)?,
        slope: slope.masked_fill(&is_out, 0)?,
    })
}

/// The weight of the neighbour `k` by the distance from it, and its derivative, as
/// [`cubic_weights`](opgrid_kernels::sampling::cubic_weights) with the slope -0.75.
fn cubic(distance: &Tensor, k: i64) -> Result<(Tensor, Tensor)> {
    // Of the distance without its sign: neighbours up to 0 lie before the place.
    let side = if k <= 0 { 1.0 } else { -1.0 };
    let x = distance.mul(side)?;
    let by = |[a, b, c, d]: [f64; 4]| x.mul(a)?.add(b)?.mul(&x)?.add(c)?.mul(&x)?.add(d);
    let (weights, slopes) = match k {
        0 | 1 => ([1.25, -2.25, 0.0, 1.0], [0.0, 3.75, -4.5, 0.0]),
        _ => ([-0.75, 3.75, -6.0, 3.0], [0.0, -2.25, 7.5, -6.0]),
    };
    Ok((by(weights)?, by(slopes)?.mul(side)?))
}

fn product(mut factors: impl Iterator<Item = Tensor>) -> Result<Tensor> {
    let first = factors.next().ok_or_else(|| argument("there are no factors"))?;
    factors.try_fold(first, |product, factor| product.mul(&factor))
}
