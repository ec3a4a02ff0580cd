//! `aten::gradient`: the slopes of a function that is known at points of a grid, along dimensions.
//!
//! `out[k][i] = (self[i + 1] - self[i - 1]) / (2 * spacing)` with indices of dimension `dim[k]`, and for points at unequal distances the slope of
//! the parabola through three of them
//!
//! - Shapes: that of `self`, for each of `dim`, which is all dimensions unless given.
//! - Dtypes: numbers but uint8; integers give the default dtype.
//! - Values: at both ends, with `edge_order` 1 the slope of the line through two points, with 2 that of the parabola through three. `spacing` is a number for all
//!   dimensions, one for each, or the coordinates along each.
//! - Dispatch: composites of views, arithmetic and `cat`.
//! - Errors: bools and unsigned integers; another `edge_order`; a dimension with `edge_order` elements or fewer, out of range or given twice; as many of
//!   `spacing` as there are no dimensions; coordinates of several dimensions or another length.
//! - Source: torch.gradient, PyTorch 2.15. B. Fornberg, Generation of Finite Difference Formulas on Arbitrarily Spaced Grids (1988).

use crate::prelude::*;
use opgrid_tensor::ops::{Cat, Reshape};
use opgrid_tensor::tensor::promote_types;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::scans::gradient::*;

/// How far points lie apart along a dimension.
#[derive(Clone)]
enum Spacing {
    Equal(Scalar),
    Coordinates(Tensor),
}

pub(super) fn register(library: &mut Library) {
    let kind = &kind::ALONG_DIMENSION;
    library.define(GradientScalarint).kind(kind).implicit(|input, spacing, dim, edge_order| {
        let dims = dim.map_or_else(|| all_dims(input), |dim| vec![dim]);
        gradient(
            input,
            vec![Spacing::Equal(spacing.unwrap_or(Scalar::Int(1))); dims.len()],
            &dims,
            edge_order,
        )
    });
    library.define(GradientScalararray).kind(kind).implicit(|input, spacing, dim, edge_order| {
        gradient(input, vec![Spacing::Equal(spacing); dim.len()], dim, edge_order)
    });
    library.define(GradientArray).kind(kind).implicit(|input, dim, edge_order| {
        gradient(input, vec![Spacing::Equal(Scalar::Int(1)); dim.len()], dim, edge_order)
    });
    library.define(GradientScalarrayint).kind(kind).implicit(|input, spacing, dim, edge_order| {
        let dims = dim.map_or_else(|| all_dims(input), |dim| vec![dim]);
        gradient(input, spacing.iter().copied().map(Spacing::Equal).collect(), &dims, edge_order)
    });
    library.define(GradientScalarrayarray).kind(kind).implicit(|input, spacing, dim, edge_order| {
        gradient(input, spacing.iter().copied().map(Spacing::Equal).collect(), dim, edge_order)
    });
    library.define(GradientTensorarrayint).kind(kind).implicit(|input, spacing, dim, edge_order| {
        let dims = dim.map_or_else(|| all_dims(input), |dim| vec![dim]);
        gradient(input, spacing.iter().cloned().map(Spacing::Coordinates).collect(), &dims, edge_order)
    });
    library.define(GradientTensorarray).kind(kind).implicit(|input, spacing, dim, edge_order| {
        gradient(input, spacing.iter().cloned().map(Spacing::Coordinates).collect(), dim, edge_order)
    });
}

fn all_dims(input: &Tensor) -> Vec<i64> {
    (0..input.dim() as i64).collect()
}

fn gradient(input: &Tensor, spacings: Vec<Spacing>, dims: &[i64], edge_order: i64) -> Result<Vec<Tensor>> {
    let dtype = input.spec()?.dtype();
    if !dtype.is_signed() {
        let message = format!("argument `self` is {dtype}, whose differences have no sign; convert it");
        return Err(argument(message));
    }
    if !matches!(edge_order, 1 | 2) {
        return Err(argument(format!("argument `edge_order` is {edge_order}, expected 1 or 2")));
    }
    if spacings.len() != dims.len() {
        let message = format!(
            "argument `spacing` has {} elements, expected one for each of {} dimensions",
            spacings.len(),
            dims.len()
        );
        return Err(argument(message));
    }
    if input.dim() == 0 && !dims.is_empty() {
        return Err(argument("argument `self` has no dimensions, expected at least one"));
    }
    let mut seen = vec![false; input.dim()];
    let mut slopes = Vec::with_capacity(dims.len());
    for (spacing, dim) in spacings.iter().zip(dims) {
        let at = normalise_dim(*dim, input.dim())?;
        if std::mem::replace(&mut seen[at], true) {
            return Err(argument(format!("argument `dim` has {at} twice, expected each dimension once")));
        }
        let length = input.sizes()[at];
        if length <= edge_order {
            let message = format!(
                "argument `self` has {length} elements along dimension {at}, expected at least {} for an `edge_order` of {edge_order}",
                edge_order + 1
            );
            return Err(argument(message));
        }
        let line = Line { points: input, at, length };
        slopes.push(match spacing {
            Spacing::Equal(step) => line.by_steps(*step, edge_order)?,
            Spacing::Coordinates(x) => line.by_coordinates(x, edge_order)?,
        });
    }
    Ok(slopes)
}

/// The points along a dimension.
struct Line<'a> {
    points: &'a Tensor,
    at: usize,
    length: i64,
}

impl Line<'_> {
    /// A part of the points.
    fn part(&self, start: i64, count: i64) -> Result<Tensor> {
        self.points.slice(self.at as i64, start, start + count, 1)
    }

    fn by_steps(&self, step: Scalar, edge_order: i64) -> Result<Tensor> {
        let twice = match step {
            Scalar::Complex(step) => Scalar::Complex(step * 2.0),
            real => Scalar::Float(2.0 * real.to_f64()?),
        };
        let last = self.length - 1;
        let middle = (self.part(2, last - 1)? - self.part(0, last - 1)?)?.div(twice)?;
        let edge = |start: i64, weights: [f64; 3]| -> Result<Tensor> {
            let [a, b, c] = [0, 1, 2].map(|i| self.part(start + i, 1));
            let sum = ((a? * weights[0])? + (b? * weights[1])?)?;
            (sum + (c? * weights[2])?)?.div(step)
        };
        let [first, end] = if edge_order == 1 {
            let line = |start: i64| (self.part(start + 1, 1)? - self.part(start, 1)?)?.div(step);
            [line(0)?, line(last - 1)?]
        } else {
            [edge(0, [-1.5, 2.0, -0.5])?, edge(last - 2, [0.5, -2.0, 1.5])?]
        };
        Cat.call(&[first, middle, end], self.at as i64)
    }

    fn by_coordinates(&self, x: &Tensor, edge_order: i64) -> Result<Tensor> {
        if x.spec()?.sizes() != [self.length] {
            let message = format!(
                "argument `spacing` has coordinates of shape {:?}, expected [{}] as dimension {}",
                x.sizes(),
                self.length,
                self.at
            );
            return Err(argument(message));
        }
        let mut sizes = vec![1; self.points.dim()];
        sizes[self.at] = self.length;
        // Their differences have as many digits as the points.
        let dtype = promote_types(self.points.dtype(), x.dtype())?;
        let x = Reshape.call(&x.to_dtype(dtype)?, &sizes)?;
        let last = self.length - 1;
        let steps = Line { points: &x, ..*self };
        let steps = (steps.part(1, last)? - steps.part(0, last)?)?;
        let steps = Line { points: &steps, at: self.at, length: last };
        let middle = self.parabola(0, last - 1, &steps, |h, k| {
            Ok([(-(k / (h * (h + k)?)?)?)?, ((k - h)? / (h * k)?)?, (h / (k * (h + k)?)?)?])
        })?;
        let [first, end] = if edge_order == 1 {
            let line =
                |start: i64| (self.part(start + 1, 1)? - self.part(start, 1)?)? / steps.part(start, 1)?;
            [line(0)?, line(last - 1)?]
        } else {
            let first = self.parabola(0, 1, &steps, |h, k| {
                let both = (h + k)?;
                Ok([(-((h + &both)? / (h * &both)?)?)?, (&both / (h * k)?)?, (-(h / (k * &both)?)?)?])
            })?;
            let end = self.parabola(last - 2, 1, &steps, |h, k| {
                let both = (h + k)?;
                Ok([(k / (h * &both)?)?, (-(&both / (h * k)?)?)?, ((k + &both)? / (k * &both)?)?])
            })?;
            [first, end]
        };
        Cat.call(&[first, middle, end], self.at as i64)
    }

    /// Slopes of the parabolas through three neighbours each, by weights that are functions of the two steps between them.
    fn parabola(
        &self,
        start: i64,
        count: i64,
        steps: &Line<'_>,
        weights: impl FnOnce(&Tensor, &Tensor) -> Result<[Tensor; 3]>,
    ) -> Result<Tensor> {
        let [a, b, c] = weights(&steps.part(start, count)?, &steps.part(start + 1, count)?)?;
        let term = |weight: Tensor, i: i64| weight * self.part(start + i, count)?;
        (term(a, 0)? + term(b, 1)?)? + term(c, 2)?
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_core::{Value, ValueType};
    use opgrid_samples::prelude::*;

    /// Numbers whose differences have signs.
    const DTYPES: &[DType] = &[
        DType::F32,
        DType::F64,
        DType::F16,
        DType::BF16,
        DType::Complex64,
        DType::Complex128,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
    ];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        samples
            .operator(GradientScalarint, DTYPES, of_number, |it| {
                let x = it.tensor("self")?;
                let step = it.option::<Scalar>("spacing")?.unwrap_or(Scalar::Int(1));
                let dims = it.option::<i64>("dim")?.map_or_else(|| every(x), |dim| vec![dim]);
                slopes(it, x, &vec![equal(step); dims.len()], &dims)
            })
            .tolerance(64.0)
            .refuses("expected 1 or 2", given(x(&[4])).named("edge_order", 3))
            .refuses("expected at least 3", given(x(&[2])).named("edge_order", 2))
            .refuses("no sign", given(generate::numbers(DType::U8, &[4], 0)));
        samples.rounds(GradientScalarint, Roundings::all(Rounding::Sum(256)));
        let dims = |dtype| {
            let x = given(generate::numbers(dtype, &[3, 4], 1));
            vec![x.clone().named("dim", vec![1, 0]), x.named("dim", vec![-1]).named("edge_order", 2)]
        };
        samples
            .operator(GradientArray, DTYPES, dims, |it| {
                let (x, dims): (_, Vec<i64>) = (it.tensor("self")?, it.value("dim")?);
                slopes(it, x, &vec![equal(Scalar::Int(1)); dims.len()], &dims)
            })
            .tolerance(64.0)
            .refuses("twice", given(x(&[3, 3])).named("dim", vec![1, -1]));
        samples
            .operator(
                GradientScalararray,
                DTYPES,
                |dtype| {
                    let x = given(generate::numbers(dtype, &[3, 4], 1));
                    vec![x.named("spacing", 0.5).named("dim", vec![1, 0])]
                },
                |it| {
                    let (x, dims): (_, Vec<i64>) = (it.tensor("self")?, it.value("dim")?);
                    slopes(it, x, &vec![equal(it.value("spacing")?); dims.len()], &dims)
                },
            )
            .tolerance(64.0);
        samples
            .operator(
                GradientScalarrayint,
                DTYPES,
                |dtype| {
                    let x = given(generate::numbers(dtype, &[3, 4], 1));
                    vec![
                        x.clone().named("spacing", scalars([0.5, 2.0])),
                        x.named("spacing", scalars([0.25])).named("dim", 1),
                    ]
                },
                by_steps,
            )
            .tolerance(64.0)
            .refuses("one for each of 2", given(x(&[3, 3])).named("spacing", scalars([1.0])));
        let along_dims = |dtype| {
            let x = given(generate::numbers(dtype, &[3, 4], 1));
            vec![x.named("spacing", scalars([0.5, 2.0])).named("dim", vec![1, 0])]
        };
        samples.operator(GradientScalarrayarray, DTYPES, along_dims, by_steps).tolerance(64.0);
        samples
            .operator(
                GradientTensorarrayint,
                DTYPES,
                |dtype| {
                    let x = given(generate::numbers(dtype, &[3, 4], 1));
                    let both = x.clone().named("spacing", vec![along(3), along(4)]);
                    let one = x.named("spacing", vec![along(4)]).named("dim", 1);
                    vec![both.clone(), both.named("edge_order", 2), one.named("edge_order", 2)]
                },
                by_coordinates,
            )
            .tolerance(256.0)
            .needs_distinct()
            .refuses("expected [3]", given(x(&[3])).named("spacing", vec![x(&[2])]))
            .refuses("one for each of 2", given(x(&[3, 3])).named("spacing", vec![x(&[3])]));
        let coordinates = |dtype| {
            let x = given(generate::numbers(dtype, &[3, 4], 1));
            vec![x.named("spacing", vec![along(4), along(3)]).named("dim", vec![-1, 0])]
        };
        samples
            .operator(GradientTensorarray, DTYPES, coordinates, by_coordinates)
            .tolerance(256.0)
            .needs_distinct();
    }

    fn scalars<const N: usize>(numbers: [f64; N]) -> Value {
        numbers.map(Scalar::Float).to_vec().into_value()
    }

    /// Coordinates of so many points.
    fn along(n: i64) -> Plain {
        Plain::from_elements(DType::F32, &[n], &[0.0, 1.0, 3.0, 3.5])
    }

    /// The dimensions that a call names: one, several or all.
    fn dims_of(it: &Inputs, x: &Plain) -> Result<Vec<i64>> {
        let one = it.option::<i64>("dim").ok().flatten();
        one.map_or_else(|| it.value("dim").or_else(|_| Ok(every(x))), |dim| Ok(vec![dim]))
    }

    fn by_steps(it: &Inputs) -> Result<Expected> {
        let (x, steps): (_, Vec<Scalar>) = (it.tensor("self")?, it.value("spacing")?);
        slopes(it, x, &steps.into_iter().map(equal).collect::<Vec<_>>(), &dims_of(it, x)?)
    }

    fn by_coordinates(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let along = |x: &Plain| x.elements().iter().map(|x| x.to_complex().re).collect();
        let spacing: Vec<Along> = it.tensors("spacing")?.iter().map(along).map(Along::At).collect();
        slopes(it, x, &spacing, &dims_of(it, x)?)
    }

    fn of_number(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        vec![
            x(&[5]),
            x(&[3, 4]),
            x(&[]),
            x(&[2, 0, 3]).named("dim", 2),
            x(&[3, 4]).named("spacing", 2).named("dim", -1),
            x(&[3, 4]).named("spacing", 0.25).named("edge_order", 2),
        ]
    }

    /// Where the points of a line stand.
    #[derive(Clone)]
    enum Along {
        By(Complex64),
        At(Vec<f64>),
    }

    fn equal(step: Scalar) -> Along {
        Along::By(step.to_complex())
    }

    fn every(x: &Plain) -> Vec<i64> {
        (0..x.sizes().len() as i64).collect()
    }

    /// Slopes of Lagrange's polynomials through the nearest points.
    fn slopes(it: &Inputs, x: &Plain, spacing: &[Along], dims: &[i64]) -> Result<Expected> {
        let order: i64 = it.value("edge_order")?;
        let dtype = match spacing.first() {
            Some(Along::At(_)) => promote_types(x.dtype(), DType::F32)?,
            _ => inexact(x.dtype()),
        };
        let one = |(along, dim): (&Along, &i64)| {
            let at = dim.rem_euclid(x.sizes().len() as i64) as usize;
            let length = x.sizes()[at];
            Plain::from_fn(dtype, x.sizes(), |place| {
                let i = place[at];
                let nodes = match i {
                    0 => 0..=order,
                    i if i == length - 1 => i - order..=i,
                    i => i - 1..=i + 1,
                };
                let value = |k: i64| {
                    let mut place = place.to_vec();
                    place[at] = k;
                    x.at(&place).to_complex()
                };
                let position = |k: i64| match along {
                    Along::By(step) => step * k as f64,
                    Along::At(points) => points[k as usize].into(),
                };
                let sum = nodes.clone().map(|k| value(k) * weight(nodes.clone(), k, i, &position)).sum();
                Scalar::Complex(sum)
            })
        };
        Ok(spacing.iter().zip(dims).map(one).collect::<Vec<_>>().into())
    }

    /// The derivative at node `i` of the polynomial that is one at node `k` and zero at the others.
    fn weight(
        nodes: std::ops::RangeInclusive<i64>,
        k: i64,
        i: i64,
        position: &dyn Fn(i64) -> Complex64,
    ) -> Complex64 {
        let others: Vec<i64> = nodes.filter(|node| *node != k).collect();
        let term = |left_out: &i64| {
            let rest = others.iter().filter(|node| *node != left_out);
            let product: Complex64 =
                rest.map(|node| (position(i) - position(*node)) / (position(k) - position(*node))).product();
            product / (position(k) - position(*left_out))
        };
        others.iter().map(term).sum()
    }
}
