//! `aten::histogram`, `histogramdd`: how many points lie in each bin of a grid, or the sum of their weights.
//!
//! `hist[i, j, …]` is the sum of the weights of points whose coordinates lie from `bin_edges[0][i]` to before `bin_edges[0][i + 1]`, and so on
//!
//! - Shapes: points stand along the last dimension of `self`; `histogram` takes each element for one. `hist` has a dimension for each coordinate, with
//!   one bin less than there are edges. `weight` has a number for each point.
//! - Dtypes: float32 and float64, one for all arguments and results.
//! - Values: the last bin has its end, too. Points beyond the edges and those with NaN do not count. Without `range` edges reach from the least to the largest
//!   coordinate, and one half further at both ends where these are equal; from 0 to 1 where there are no points. With `density` sums are divided by that of all and by the size of the bin.
//! - Dispatch: composites of `searchsorted`, `linspace` and `index_add`, so that edges and sums have derivatives by points and weights.
//! - Aliasing: the overloads `out` write `out`, or `hist` and `bin_edges`.
//! - Errors: other dtypes; no bins; edges that do not fit; a range that is not finite or whose end is below its start; a `weight` of another shape or dtype.
//! - Source: torch.histogram, torch.histogramdd, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    Arange, CloneTensor, IndexAdd, Linspace, LogicalAnd, Reshape, SearchsortedTensor, WhereScalar,
    WhereScalarOther, WhereSelf,
};

pub use opgrid_tensor::ops::sorting::histogram::*;

pub(super) fn register(library: &mut Library) {
    let kind = &kind::SORTING;
    library.define_with_forms(HistogramBinsTensor, kind).implicit(histogram_by_edges);
    library.implement(HistogramBinsTensorOut).implicit(|input, bins, weight, density, hist, edges| {
        let (counts, found) = histogram_by_edges(input, bins, weight, density)?;
        result::converted(&[(hist, &counts), (edges, &found)])
    });
    library.define_with_forms(HistogramBinCt, kind).implicit(histogram_by_count);
    library.implement(HistogramBinCtOut).implicit(|input, bins, range, weight, density, hist, edges| {
        let (counts, found) = histogram_by_count(input, bins, range, weight, density)?;
        result::converted(&[(hist, &counts), (edges, &found)])
    });
    library.define(Histogramdd).kind(kind).implicit(|input, bins, range, weight, density| {
        let edges = HistogramddBinEdges.call(input, bins, range, weight, density)?;
        Ok((HistogramddFromBinCts.call(input, bins, range, weight, density)?, edges))
    });
    library.define(HistogramddIntBins).kind(kind).implicit(|input, bins, range, weight, density| {
        let bins = vec![bins; check_points(input)?.sizes()[1] as usize];
        Histogramdd.call(input, &bins, range, weight, density)
    });
    library.define(HistogramddTensorListBins).kind(kind).implicit(|input, bins, _range, weight, density| {
        let counts = HistogramddFromBinTensors.call(input, bins, weight, density)?;
        Ok((counts, bins.to_vec()))
    });
    library.define_with_forms(HistogramddBinEdges, kind).implicit(|input, bins, range, weight, _density| {
        let points = check_points(input)?;
        check_weight(input, &input.sizes()[..input.dim() - 1], weight)?;
        edges(&points, bins, range)
    });
    library.implement(HistogramddBinEdgesOut).implicit(|input, bins, range, weight, density, out| {
        let found = HistogramddBinEdges.call(input, bins, range, weight, density)?;
        if out.len() != found.len() {
            let message = format!("argument `out` has {} tensors, expected {}", out.len(), found.len());
            return Err(argument(message));
        }
        result::converted(&out.iter().zip(&found).collect::<Vec<_>>())
    });
    library.define_with_forms(HistogramddFromBinCts, kind).implicit(|input, bins, range, weight, density| {
        let points = check_points(input)?;
        let weight = check_weight(input, &input.sizes()[..input.dim() - 1], weight)?;
        counted(&points, &edges(&points, bins, range)?, weight.as_ref(), density)
    });
    library.implement(HistogramddFromBinCtsOut).implicit(|input, bins, range, weight, density, out| {
        result::converted(&[(out, &HistogramddFromBinCts.call(input, bins, range, weight, density)?)])
    });
    library.define_with_forms(HistogramddFromBinTensors, kind).implicit(|input, bins, weight, density| {
        let points = check_points(input)?;
        let weight = check_weight(input, &input.sizes()[..input.dim() - 1], weight)?;
        check_edges(&points, bins)?;
        counted(&points, bins, weight.as_ref(), density)
    });
    library.implement(HistogramddFromBinTensorsOut).implicit(|input, bins, weight, density, out| {
        result::converted(&[(out, &HistogramddFromBinTensors.call(input, bins, weight, density)?)])
    });
}

fn histogram_by_edges(
    input: &Tensor,
    bins: &Tensor,
    weight: Option<&Tensor>,
    density: bool,
) -> Result<(Tensor, Tensor)> {
    let points = as_points(input)?;
    let weight = check_weight(input, input.sizes(), weight)?;
    check_edges(&points, std::slice::from_ref(bins))?;
    let counts = counted(&points, std::slice::from_ref(bins), weight.as_ref(), density)?;
    Ok((counts, CloneTensor.call(bins, Some(MemoryFormat::Contiguous))?))
}

fn histogram_by_count(
    input: &Tensor,
    bins: i64,
    range: Option<&[f64]>,
    weight: Option<&Tensor>,
    density: bool,
) -> Result<(Tensor, Tensor)> {
    let points = as_points(input)?;
    let weight = check_weight(input, input.sizes(), weight)?;
    let edges = edges(&points, &[bins], range)?;
    Ok((counted(&points, &edges, weight.as_ref(), density)?, edges[0].clone()))
}

/// Elements as points of one coordinate.
fn as_points(input: &Tensor) -> Result<Tensor> {
    check_dtype(input)?;
    Reshape.call(input, &[input.numel(), 1])
}

/// Points in rows.
///
/// # Errors
///
/// Another dtype, fewer than two dimensions.
fn check_points(input: &Tensor) -> Result<Tensor> {
    check_dtype(input)?;
    let sizes = input.sizes();
    let [points @ .., coordinates] = sizes else {
        return Err(argument("argument `self` has no dimensions, expected at least two"));
    };
    if points.is_empty() {
        return Err(argument(format!(
            "argument `self` has shape {sizes:?}, expected at least two dimensions"
        )));
    }
    Reshape.call(input, &[points.iter().product(), *coordinates])
}

fn check_dtype(input: &Tensor) -> Result<()> {
    let dtype = input.spec()?.dtype();
    if !matches!(dtype, DType::F32 | DType::F64) {
        return Err(argument(format!("argument `self` is {dtype}, expected float32 or float64; convert it")));
    }
    Ok(())
}

/// A weight for each point.
///
/// # Errors
///
/// Another dtype than that of the points, another shape.
fn check_weight(input: &Tensor, sizes: &[i64], weight: Option<&Tensor>) -> Result<Option<Tensor>> {
    let Some(weight) = weight else { return Ok(None) };
    let spec = weight.spec()?;
    if spec.dtype() != input.dtype() {
        let message = format!(
            "argument `weight` is {}, expected {} as `self`; convert it",
            spec.dtype(),
            input.dtype()
        );
        return Err(argument(message));
    }
    if spec.sizes() != sizes {
        let message = format!(
            "argument `weight` has shape {:?}, expected {sizes:?}, a number for each point",
            spec.sizes()
        );
        return Err(argument(message));
    }
    Reshape.call(weight, &[-1]).map(Some)
}

/// # Errors
///
/// As many as there are no coordinates, of another dtype than the points, of several dimensions, fewer than two.
fn check_edges(points: &Tensor, edges: &[Tensor]) -> Result<()> {
    check_count(points, edges.len())?;
    for edges in edges {
        let spec = edges.spec()?;
        if spec.dtype() != points.dtype() {
            let message = format!(
                "argument `bins` has a tensor of {}, expected {} as `self`; convert it",
                spec.dtype(),
                points.dtype()
            );
            return Err(argument(message));
        }
        if !matches!(spec.sizes(), [count] if *count >= 2) {
            let message = format!(
                "argument `bins` has edges of shape {:?}, expected one dimension of at least two edges",
                spec.sizes()
            );
            return Err(argument(message));
        }
    }
    Ok(())
}

fn check_count(points: &Tensor, found: usize) -> Result<()> {
    let coordinates = points.sizes()[1];
    if found as i64 != coordinates {
        let message = format!(
            "argument `bins` has {found} elements, expected {coordinates}, one for each coordinate of a point"
        );
        return Err(argument(message));
    }
    Ok(())
}

/// Edges at equal distances for each coordinate.
///
/// # Errors
///
/// No bins; a range that has other than two numbers for each coordinate, is not finite or ends below its start.
fn edges(points: &Tensor, bins: &[i64], range: Option<&[f64]>) -> Result<Vec<Tensor>> {
    check_count(points, bins.len())?;
    if let Some(range) = range
        && range.len() != 2 * bins.len()
    {
        let message = format!(
            "argument `range` has {} numbers, expected {}, two for each coordinate",
            range.len(),
            2 * bins.len()
        );
        return Err(argument(message));
    }
    let of_coordinate = |(k, bins): (usize, &i64)| {
        if *bins < 1 {
            return Err(argument(format!("argument `bins` has {bins}, expected one or more")));
        }
        match range {
            Some(range) => between((range[2 * k], range[2 * k + 1]), *bins, points),
            None if points.sizes()[0] == 0 => between((0.0, 1.0), *bins, points),
            None => around(&points.select(1, k as i64)?, *bins),
        }
    };
    bins.iter().enumerate().map(of_coordinate).collect()
}

/// Edges between two numbers, which have to be finite and in order.
fn between((least, most): (f64, f64), bins: i64, like: &Tensor) -> Result<Tensor> {
    check_finite(least, most)?;
    if least > most {
        let message = format!("argument `range` ends at {most}, which is below its start, {least}");
        return Err(argument(message));
    }
    let further = if least == most { 0.5 } else { 0.0 };
    let ends = [least - further, most + further].map(Scalar::Float);
    // More edges than memory has are refused there.
    let count = bins.saturating_add(1);
    Linspace.call(ends[0], ends[1], count, Some(like.dtype()), None, Some(like.device()), None)
}

/// Edges from the least to the largest element, which may be those of a batch.
fn around(x: &Tensor, bins: i64) -> Result<Tensor> {
    let (least, most) = (x.amin([0], false)?, x.amax([0], false)?);
    if !x.device().is_meta() && x.array().is_ok() {
        check_finite(number(&least)?, number(&most)?)?;
    }
    let further = WhereScalar.call(&least.eq(&most)?, Scalar::Float(0.5), Scalar::Float(0.0))?;
    let further = further.to_dtype(x.dtype())?;
    let (least, most) = (least.sub(&further)?, most.add(&further)?);
    // As `linspace` does: each half from its end.
    let places =
        Arange.call(Scalar::Int(bins.saturating_add(1)), Some(x.dtype()), None, Some(x.device()), None)?;
    let step = most.sub(&least)?.div(bins)?;
    let from_least = least.add(&step.mul(&places)?)?;
    let from_most = most.sub(&step.mul(&places.neg()?.add(bins)?)?)?;
    WhereSelf.call(&places.lt((bins + 1) / 2)?, &from_least, &from_most)
}

fn number(x: &Tensor) -> Result<f64> {
    Ok(x.detach()?.to_dtype(DType::F64)?.to_vec::<f64>()?[0])
}

fn check_finite(least: f64, most: f64) -> Result<()> {
    if least.is_finite() && most.is_finite() {
        return Ok(());
    }
    let message = format!(
        "the range is [{least}, {most}], expected finite numbers; give `range`, or leave out NaN and infinite points"
    );
    Err(argument(message))
}

/// The sums of weights for each bin.
fn counted(points: &Tensor, edges: &[Tensor], weight: Option<&Tensor>, density: bool) -> Result<Tensor> {
    let (count, dtype) = (points.sizes()[0], points.dtype());
    let filled = |number: i64, dtype: DType| {
        opgrid_tensor::ops::Full.call(
            &[count],
            Scalar::Int(number),
            Some(dtype),
            None,
            Some(points.device()),
            None,
        )
    };
    let bins: Vec<i64> = edges.iter().map(|edges| edges.sizes()[0] - 1).collect();
    let mut bin = filled(0, DType::I64)?;
    let mut is_inside = filled(1, DType::Bool)?;
    for (k, edges) in edges.iter().enumerate() {
        let x = points.select(1, k as i64)?.contiguous()?;
        let last = edges.select(0, bins[k])?;
        let place = SearchsortedTensor.call(&edges.contiguous()?, &x, false, true, None, None)?.sub(1)?;
        let place = place.clamp(0, bins[k] - 1)?;
        is_inside = LogicalAnd.call(&is_inside, &x.ge(&edges.select(0, 0)?)?.logical_and(&x.le(&last)?)?)?;
        bin = bin.mul(bins[k])?.add(&place)?;
    }
    let weight = weight.map_or_else(|| filled(1, dtype), |weight| Ok(weight.clone()))?;
    let nothing = derivatives::zeros_of(&[count], &weight)?;
    let weight = WhereSelf.call(&is_inside, &weight, &nothing)?;
    let bin = WhereScalarOther.call(&is_inside, &bin, Scalar::Int(0))?;
    let sums = Reshape.call(&derivatives::zeros_of(&bins, &weight)?, &[-1])?;
    let mut hist = Reshape.call(&IndexAdd.call(&sums, 0, &bin, &weight, Scalar::Int(1))?, &bins)?;
    if density {
        hist = hist.div(&hist.sum()?)?;
        for (k, edges) in edges.iter().enumerate() {
            let lengths = edges.slice(0, 1, bins[k] + 1, 1)?.sub(&edges.slice(0, 0, bins[k], 1)?)?;
            let mut sizes = vec![1; bins.len()];
            sizes[k] = bins[k];
            hist = hist.div(&Reshape.call(&lengths, &sizes)?)?;
        }
    }
    Ok(hist)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    const DTYPES: &[DType] = &[DType::F32, DType::F64];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[4], 0);
        samples
            .operator(HistogramBinCt, DTYPES, by_count, |it| {
                let (x, bins): (_, i64) = (it.tensor("self")?, it.value("bins")?);
                let points: Vec<Vec<f64>> = numbers(x).into_iter().map(|x| vec![x]).collect();
                let edges = equal_edges(&points, &[bins], it.option::<Vec<f64>>("range")?.as_deref());
                let counts = histogram(it, &points, &edges, x.dtype())?;
                Ok(vec![counts, plain(x.dtype(), &edges[0])].into())
            })
            .tolerance(16.0)
            .refuses("one or more", given(x()).and(0))
            .refuses("two for each", given(x()).and(2).named("range", vec![1.0]))
            .refuses("below its start", given(x()).and(2).named("range", vec![3.0, 1.0]))
            .refuses("finite", given(x()).and(2).named("range", vec![0.0, f64::INFINITY]))
            .refuses(
                "a number for each point",
                given(x()).and(2).named("weight", generate::numbers(DType::F32, &[3], 0)),
            );
        samples
            .operator(
                HistogramBinsTensor,
                DTYPES,
                |dtype| {
                    let x = Plain::from_elements(
                        dtype,
                        &[2, 4],
                        &[3.0, 4.0, f64::NAN, 0.0, 0.5, -3.0, 9.0, 0.25],
                    );
                    let weight = Plain::from_elements(dtype, &[2, 4], &[1.0, 0.5, 2.0, -1.0, 0.25]);
                    let plain = given(x).and(own_edges(dtype));
                    vec![
                        plain.clone(),
                        plain.clone().named("weight", weight),
                        plain.named("density", true),
                        given(Plain::from_elements(dtype, &[0], &[0])).and(own_edges(dtype)),
                    ]
                },
                |it| {
                    let (x, bins) = (it.tensor("self")?, it.tensor("bins")?);
                    let points: Vec<Vec<f64>> = numbers(x).into_iter().map(|x| vec![x]).collect();
                    Ok(vec![histogram(it, &points, &[numbers(bins)], x.dtype())?, bins.clone()].into())
                },
            )
            .tolerance(16.0)
            .refuses("at least two edges", given(x()).and(generate::numbers(DType::F32, &[1], 0)))
            .refuses("convert it", given(x()).and(own_edges(DType::F64)));
        samples
            .operator(HistogramddFromBinCts, DTYPES, of_points, |it| {
                let (x, bins): (_, Vec<i64>) = (it.tensor("self")?, it.value("bins")?);
                let points = rows(x, bins.len());
                let edges = equal_edges(&points, &bins, it.option::<Vec<f64>>("range")?.as_deref());
                Ok(histogram(it, &points, &edges, x.dtype())?.into())
            })
            .tolerance(16.0)
            .refuses("at least two dimensions", given(x()).and(vec![2]))
            .refuses("each coordinate", given(generate::numbers(DType::F32, &[4, 2], 0)).and(vec![2]));
        samples
            .operator(Histogramdd, DTYPES, of_points, |it| {
                let (x, bins): (_, Vec<i64>) = (it.tensor("self")?, it.value("bins")?);
                all_of(it, x, &bins)
            })
            .tolerance(16.0);
        samples
            .operator(
                HistogramddIntBins,
                DTYPES,
                |dtype| vec![given(generate::numbers(dtype, &[6, 2], 1)).and(2)],
                |it| all_of(it, it.tensor("self")?, &[it.value("bins")?; 2]),
            )
            .tolerance(16.0);
        samples
            .operator(HistogramddBinEdges, DTYPES, of_points, |it| {
                let (x, bins): (_, Vec<i64>) = (it.tensor("self")?, it.value("bins")?);
                let edges =
                    equal_edges(&rows(x, bins.len()), &bins, it.option::<Vec<f64>>("range")?.as_deref());
                Ok(edges.iter().map(|edges| plain(x.dtype(), edges)).collect::<Vec<_>>().into())
            })
            .tolerance(16.0);
        let with_edges = |dtype| {
            let edges = vec![own_edges(dtype), Plain::from_elements(dtype, &[3], &[-1.0, 0.25, 2.0])];
            let x = given(generate::numbers(dtype, &[6, 2], 1)).and(edges);
            vec![x.clone(), x.named("density", true)]
        };
        let by_edges = |it: &Inputs| {
            let (x, bins) = (it.tensor("self")?, it.tensors("bins")?);
            let edges: Vec<Vec<f64>> = bins.iter().map(numbers).collect();
            histogram(it, &rows(x, edges.len()), &edges, x.dtype())
        };
        samples
            .operator_with(HistogramddFromBinTensors, DTYPES, with_edges, move |it| Ok(by_edges(it)?.into()))
            .tolerance(16.0);
        samples
            .operator_with(HistogramddTensorListBins, DTYPES, with_edges, move |it| {
                let edges = it.tensors("bins")?.to_vec();
                Ok([vec![by_edges(it)?], edges].concat().into())
            })
            .tolerance(16.0);
        differ(samples, HistogramBinCt);
        differ(samples, Histogramdd);
        differ(samples, HistogramddBinEdges);
        differ(samples, HistogramddFromBinCts);
    }

    fn differ<O: opgrid_core::Operator>(samples: &mut Samples, operator: O) {
        samples.rounds(operator, Roundings::all(Rounding::Near(256)));
        samples.differs_as(operator, &[OF_FLOATS, WITHOUT_COORDINATES]);
    }

    const OF_FLOATS: Difference = Difference {
        id: "histograms-are-of-floats",
        what: "torch does not check the dtype of points if there are none, or if it only computes edges of a \
             given range; here points are float32 or float64",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "histograms_are_of_floats"),
        when: |seen| {
            let is_unread = seen.tensor("self").is_some_and(Operand::is_empty)
                || matches!(seen.argument("range"), Some(Argument::Floats(_)));
            is_unread && seen.we_refuse("expected float32 or float64")
        },
        directed: None,
    };

    const WITHOUT_COORDINATES: Difference = Difference {
        id: "points-without-coordinates-count",
        what: "torch counts no points that have no coordinates; here they are all in the one bin that there is",
        why: "the empty product",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "histograms_are_of_floats"),
        when: |seen| {
            let lack = |points: &Operand| points.geometry.sizes().last() == Some(&0);
            seen.tensor("self").is_some_and(lack) && seen.each(|(_, _, torch)| torch.re == 0.0)
        },
        directed: None,
    };

    /// The sums and the edges.
    fn all_of(it: &Inputs, x: &Plain, bins: &[i64]) -> Result<Expected> {
        let points = rows(x, bins.len());
        let edges = equal_edges(&points, bins, it.option::<Vec<f64>>("range")?.as_deref());
        let counts = histogram(it, &points, &edges, x.dtype())?;
        let edges = edges.iter().map(|edges| plain(x.dtype(), edges));
        Ok([counts].into_iter().chain(edges).collect::<Vec<_>>().into())
    }

    fn own_edges(dtype: DType) -> Plain {
        Plain::from_elements(dtype, &[4], &[-2.0, 0.0, 0.5, 4.0])
    }

    fn by_count(dtype: DType) -> Vec<Sample> {
        let x = Plain::from_elements(dtype, &[2, 4], &[3.0, 1.0, 2.0, 0.0, 5.0, 4.0, 4.0, -1.5]);
        let weight = Plain::from_elements(dtype, &[2, 4], &[1.0, 0.5, 2.0, -1.0, 0.25]);
        let x = given(x);
        vec![
            x.clone().and(4),
            x.clone().and(4).named("range", vec![0.0, 3.0]).named("density", true),
            x.clone().and(3).named("weight", weight),
            x.and(3).named("range", vec![2.0, 2.0]),
            given(Plain::from_elements(dtype, &[2], &[2])).and(3),
            given(Plain::from_elements(dtype, &[], &[2])).and(1),
            given(Plain::from_elements(dtype, &[0], &[2])).and(3),
        ]
    }

    fn of_points(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        let weight = Plain::from_elements(dtype, &[3, 2], &[1.0, 0.5, 2.0, -1.0, 0.25]);
        vec![
            x(&[6, 2]).and(vec![2, 3]),
            x(&[3, 2, 2]).and(vec![2, 2]).named("weight", weight),
            x(&[6, 1]).and(vec![3]).named("range", vec![0.0, 2.0]).named("density", true),
            x(&[4, 0]).and(Vec::<i64>::new()),
        ]
    }

    fn numbers(x: &Plain) -> Vec<f64> {
        x.elements().iter().map(|x| x.to_complex().re).collect()
    }

    fn rows(x: &Plain, coordinates: usize) -> Vec<Vec<f64>> {
        if coordinates == 0 {
            return vec![Vec::new(); x.sizes()[0] as usize];
        }
        numbers(x).chunks(coordinates).map(<[f64]>::to_vec).collect()
    }

    fn plain(dtype: DType, numbers: &[f64]) -> Plain {
        Plain::from_elements(dtype, &[numbers.len() as i64], numbers)
    }

    fn equal_edges(points: &[Vec<f64>], bins: &[i64], range: Option<&[f64]>) -> Vec<Vec<f64>> {
        let one = |(k, bins): (usize, &i64)| {
            let along = || points.iter().map(|point| point[k]);
            let (mut least, mut most) = match range {
                Some(range) => (range[2 * k], range[2 * k + 1]),
                None if points.is_empty() => (0.0, 1.0),
                None => (along().fold(f64::INFINITY, f64::min), along().fold(f64::NEG_INFINITY, f64::max)),
            };
            if least == most {
                (least, most) = (least - 0.5, most + 0.5);
            }
            (0..=*bins).map(|i| least + (most - least) * i as f64 / *bins as f64).collect()
        };
        bins.iter().enumerate().map(one).collect()
    }

    /// Counts points one by one.
    fn histogram(it: &Inputs, points: &[Vec<f64>], edges: &[Vec<f64>], dtype: DType) -> Result<Plain> {
        let weights = it.tensor("weight").ok().map(numbers);
        let sizes: Vec<i64> = edges.iter().map(|edges| edges.len() as i64 - 1).collect();
        let volume = |place: &[i64]| -> f64 {
            let length = |(i, edges): (&i64, &Vec<f64>)| edges[*i as usize + 1] - edges[*i as usize];
            place.iter().zip(edges).map(length).product()
        };
        let is_in = |x: f64, edges: &[f64], i: i64| {
            let (i, last) = (i as usize, edges.len() - 2);
            x >= edges[i] && (x < edges[i + 1] || (i == last && x == edges[i + 1]))
        };
        let sum = |place: &[i64]| -> f64 {
            let is_there = |point: &[f64]| {
                place.iter().zip(edges).zip(point).all(|((i, edges), x)| is_in(*x, edges, *i))
            };
            let weight = |k: usize| weights.as_ref().map_or(1.0, |weights| weights[k]);
            points.iter().enumerate().filter(|(_, point)| is_there(point)).map(|(k, _)| weight(k)).sum()
        };
        let counts = Plain::from_fn(dtype, &sizes, |place| Scalar::Float(sum(place)));
        if !it.value::<bool>("density")? {
            return Ok(counts);
        }
        let all: f64 = numbers(&counts).iter().sum();
        Ok(Plain::from_fn(dtype, &sizes, |place| Scalar::Float(sum(place) / all / volume(place))))
    }
}
