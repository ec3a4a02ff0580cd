//! `aten::_fft_c2c`, `_fft_r2c`, `_fft_c2r`: Fourier transforms along dimensions, of complex and of real numbers.
//!
//! `out[k] = scale * Σ self[j] * e^(∓2πi * j * k / n)` along each dimension: `-` forward, `+` backward
//!
//! - Shapes: that of `self`; of real numbers only the first `n / 2 + 1` results in the last dimension of `dim` if `onesided`, for
//!   the others are conjugates of them. `_fft_c2r` takes such halves and gives `last_dim_size` real numbers; imaginary parts
//!   that these cannot have are left out.
//! - Scale: by `normalization` 1, 1 / √n and 1 / n for 0, 1 and 2, where `n` is the number of elements that are transformed.
//! - Dtypes: float32 and float64, and complex numbers of them.
//! - Strides: the dimensions that are transformed lie innermost, as in torch with MKL.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`.
//! - Errors: other dtypes; a dimension out of range or named twice, none for real numbers; a size below 1; fewer elements than
//!   half of `last_dim_size`.
//! - Source: torch.fft, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::fourier::{Direction, complex, of_real, to_real};
use opgrid_kinds::fourier::{self, dimensions, no_dimension};
use opgrid_tensor::ops::{ConstantPadNd, Real, ToCopy};
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::complex_of;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::fourier::fft_c2c::*;

/// The transform of complex numbers.
pub const FFT_C2C: Family<FftC2c> = Family::new(FftC2c, &kind::FOURIER, |input, dim, normalization, _| {
    let spec = input.spec()?;
    if !matches!(spec.dtype(), DType::Complex64 | DType::Complex128) {
        return Err(unsupported(spec.dtype(), "a complex dtype"));
    }
    let dims = checked(spec, dim, normalization)?;
    let geometry = fourier::geometry(spec.sizes(), spec.geometry(), &dims, dims.len())?;
    Ok(spec.with_geometry(geometry))
});

/// The transform of real numbers to half of their spectrum.
pub const FFT_R2C: Family<FftR2c> =
    Family::new(FftR2c, &kind::FOURIER, |input, dim, normalization, onesided| {
        let spec = input.spec()?;
        if !matches!(spec.dtype(), DType::F32 | DType::F64) {
            return Err(unsupported(spec.dtype(), "float32 or float64"));
        }
        let dims = checked(spec, dim, normalization)?;
        let Some(&last) = dims.last() else { return Err(no_dimension()) };
        let mut sizes = spec.sizes().to_vec();
        if sizes[last] == 0 {
            return Err(argument(format!(
                "argument `self` has shape {sizes:?}, of size 0 in dimension {last}, expected at least 1"
            )));
        }
        if onesided {
            sizes[last] = sizes[last] / 2 + 1;
        }
        let geometry = fourier::geometry(&sizes, spec.geometry(), &dims, dims.len() - 1)?;
        Ok(TensorSpec::new(geometry, complex_of(spec.dtype()), spec.device()))
    });

/// The transform of half a spectrum to real numbers.
pub const FFT_C2R: Family<FftC2r> = Family::new(FftC2r, &kind::FOURIER, |input, dim, normalization, size| {
    let spec = input.spec()?;
    let dtype = match spec.dtype() {
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        other => return Err(unsupported(other, "a complex dtype")),
    };
    let dims = checked(spec, dim, normalization)?;
    let Some((&last, others)) = dims.split_last() else { return Err(no_dimension()) };
    if size < 1 || spec.sizes()[last] < size / 2 + 1 {
        let message = format!(
            "argument `last_dim_size` is {size}, expected at least 1, and an input with at least half \
             as many elements; found {} elements",
            spec.sizes()[last]
        );
        return Err(argument(message));
    }
    let mut sizes = spec.sizes().to_vec();
    // The other dimensions are transformed before the last one.
    let before = fourier::geometry(&sizes, spec.geometry(), others, others.len())?;
    let before = if others.is_empty() { spec.geometry().clone() } else { before };
    sizes[last] = size;
    let geometry = fourier::geometry(&sizes, &before, &[last], 0)?;
    Ok(TensorSpec::new(geometry, dtype, spec.device()))
});

pub(super) fn register(library: &mut Library) {
    library
        .family(&FFT_C2C)
        .cpu(|input, dim, normalization, forward, out| {
            let dims = dimensions(dim, input.dim())?;
            let scale = fourier::scale(normalization, dims.iter().map(|dim| input.sizes()[*dim]))?;
            let direction = if forward { Direction::Forward } else { Direction::Backward };
            match input.dtype() {
                DType::Complex64 => complex::<f32>(out.array()?, input.array()?, &dims, direction, scale),
                _ => complex::<f64>(out.array()?, input.array()?, &dims, direction, scale),
            }
        })
        .derivative(|d, (input, dim, normalization, forward)| {
            let dim = dim.to_vec();
            d.by(input, [], move |grad, []| FftC2c.call(grad, &dim, normalization, !forward))
        });
    library
        .family(&FFT_R2C)
        .cpu(|input, dim, normalization, onesided, out| {
            let dims = dimensions(dim, input.dim())?;
            let scale = fourier::scale(normalization, dims.iter().map(|dim| input.sizes()[*dim]))?;
            let (out, input) = (out.array()?, input.array()?);
            match (onesided, input.dtype()) {
                (true, DType::F32) => of_real::<f32>(out, input, &dims, scale),
                (true, _) => of_real::<f64>(out, input, &dims, scale),
                (false, DType::F32) => complex::<f32>(out, input, &dims, Direction::Forward, scale),
                (false, _) => complex::<f64>(out, input, &dims, Direction::Forward, scale),
            }
        })
        .derivative(|d, (input, dim, normalization, onesided)| {
            let (dim, sizes) = (dim.to_vec(), input.sizes().to_vec());
            d.by(input, [], move |grad, []| {
                let grad = if onesided { completed(grad, &dim, &sizes)? } else { grad.clone() };
                Real.call(&FftC2c.call(&grad, &dim, normalization, false)?)
            })
        });
    library
        .family(&FFT_C2R)
        .cpu(|input, dim, normalization, size, out| {
            let dims = dimensions(dim, input.dim())?;
            let last = dims[dims.len() - 1];
            let sizes = dims.iter().map(|dim| if *dim == last { size } else { input.sizes()[*dim] });
            let scale = fourier::scale(normalization, sizes)?;
            match input.dtype() {
                DType::Complex64 => to_real::<f32>(out.array()?, input.array()?, &dims, scale),
                _ => to_real::<f64>(out.array()?, input.array()?, &dims, scale),
            }
        })
        .derivative(|d, (input, dim, normalization, _)| {
            let (dim, sizes) = (dim.to_vec(), input.sizes().to_vec());
            d.by(input, [], move |grad, []| doubled(grad, &dim, &sizes, normalization))
        });
}

/// The dimensions, each once.
///
/// # Errors
///
/// As [`dimensions`]; a number that means no normalisation.
fn checked(spec: &TensorSpec, dim: &[i64], normalization: i64) -> Result<Vec<usize>> {
    fourier::scale(normalization, std::iter::empty())?;
    dimensions(dim, spec.sizes().len())
}

/// Zeros instead of the half that was left out, of a transform of real numbers of these sizes.
fn completed(half: &Tensor, dim: &[i64], sizes: &[i64]) -> Result<Tensor> {
    let Some(last) = dim.last() else { return Err(no_dimension()) };
    let last = normalise_dim(*last, sizes.len())?;
    let mut pad = vec![0; 2 * (sizes.len() - last)];
    if let Some(after) = pad.last_mut() {
        *after = sizes[last] - half.sizes()[last];
    }
    ConstantPadNd.call(half, &pad, 0.into())
}

/// The gradient of halves of these sizes: those that stand for two numbers get it twice.
fn doubled(grad: &Tensor, dim: &[i64], sizes: &[i64], normalization: i64) -> Result<Tensor> {
    let half = FftR2c.call(grad, dim, normalization, true)?;
    let Some(last) = dim.last() else { return Err(no_dimension()) };
    let last = normalise_dim(*last, sizes.len())?;
    let (whole, own) = (grad.sizes()[last], half.sizes()[last]);
    let mut along = vec![1; sizes.len()];
    along[last] = own;
    let weights: Vec<f64> =
        (0..own).map(|at| if (1..=whole - own).contains(&at) { 2.0 } else { 1.0 }).collect();
    let weights = Tensor::from_slice(&weights, &along)?;
    let weights = ToCopy.call(&weights, Some(grad.dtype()), None, Some(grad.device()), None, false, None)?;
    completed(&half.mul(&weights)?, dim, sizes)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::complex as complex_parts;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, c) =
            (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::Complex64, &[2, 3], 0));
        let none = Vec::<i64>::new();
        samples
            .operator(
                FftC2c,
                COMPLEX,
                |dtype| inputs(dtype, &[true.into(), false.into()], true),
                |it| {
                    let (x, dims): (_, Vec<i64>) = (it.tensor("self")?, it.value("dim")?);
                    let direction =
                        if it.value("forward")? { Direction::Forward } else { Direction::Backward };
                    Ok(transformed(x, &dims, direction, it.value("normalization")?).to(x.dtype()).into())
                },
            )
            .tolerance(256.0)
            .refuses("a complex dtype", given(x.clone()).and(vec![0]).and(0).and(true))
            .refuses("argument `normalization`", given(c.clone()).and(vec![0]).and(3).and(true))
            .refuses("twice", given(c.clone()).and(vec![1, -1]).and(0).and(true))
            .refuses("range", given(c.clone()).and(vec![2]).and(0).and(true));
        samples
            .operator(
                FftR2c,
                FLOATS,
                |dtype| inputs(dtype, &[true.into(), false.into()], false),
                |it| {
                    let (x, dims): (_, Vec<i64>) = (it.tensor("self")?, it.value("dim")?);
                    let all = transformed(x, &dims, Direction::Forward, it.value("normalization")?);
                    let last = naive::dimension(dims[dims.len() - 1], x.sizes().len());
                    let half = fourier::samples::first(&all, last, x.sizes()[last] / 2 + 1);
                    Ok(if it.value("onesided")? { half } else { all }.to(complex_of(x.dtype())).into())
                },
            )
            .tolerance(256.0)
            .refuses("float32 or float64", given(c.clone()).and(vec![0]).and(0).and(true))
            .refuses("at least one dimension", given(x.clone()).and(none.clone()).and(0).and(true))
            .refuses(
                "size 0",
                given(generate::numbers(DType::F32, &[2, 0], 0)).and(vec![1]).and(0).and(true),
            );
        samples
            .operator(FftC2r, COMPLEX, half_inputs, |it| {
                let (x, dims, n): (_, Vec<i64>, i64) =
                    (it.tensor("self")?, it.value("dim")?, it.value("last_dim_size")?);
                let axes: Vec<usize> =
                    dims.iter().map(|dim| naive::dimension(*dim, x.sizes().len())).collect();
                let (last, others) = (axes[axes.len() - 1], &dims[..axes.len() - 1]);
                // The other dimensions first; what follows from halves are conjugates along the last one alone.
                let before = transformed(x, others, Direction::Backward, fourier::NOT);
                let all = fourier::samples::mirrored(&before, &[last], n);
                let sizes = axes.iter().map(|dim| if *dim == last { n } else { x.sizes()[*dim] });
                let scale = fourier::scale(it.value("normalization")?, sizes)?;
                let dtype = if x.dtype() == DType::Complex64 { DType::F32 } else { DType::F64 };
                Ok(fourier::samples::real(&fourier::samples::naive(
                    &all,
                    last,
                    n,
                    Direction::Backward,
                    scale,
                ))
                .to(dtype)
                .into())
            })
            .tolerance(256.0)
            .refuses("a complex dtype", given(x).and(vec![0]).and(0).and(2))
            .refuses("at least half as many elements", given(c.clone()).and(vec![0]).and(0).and(4))
            .refuses("`last_dim_size` is 0", given(c.clone()).and(vec![0]).and(0).and(0))
            .refuses("at least one dimension", given(c).and(none).and(0).and(2));
        samples.differs(
            FftR2c,
            Difference {
                when: |seen| seen.torch.contains("complex32") && seen.we_refuse("expected float32"),
                ..complex_parts::samples::SIXTEEN_BITS
            },
        );
        samples.rounds(FftC2c, Roundings::all(Rounding::Sum(16)));
        samples.rounds(FftR2c, Roundings::all(Rounding::Sum(16)));
        samples.rounds(FftC2r, Roundings::all(Rounding::Sum(16)));
    }

    const COMPLEX: &[DType] = &[DType::Complex64, DType::Complex128];

    const FLOATS: &[DType] = &[DType::F32, DType::F64];

    /// Tensors and dimensions, with each normalisation and flag.
    fn inputs(dtype: DType, flags: &[Given], without_dimensions: bool) -> Vec<Sample> {
        let shapes: [(&[i64], &[i64]); 9] = [
            (&[8], &[0]),
            (&[2, 7], &[1]),
            (&[3, 4], &[0]),
            (&[2, 3, 4], &[0, 2]),
            (&[2, 3, 5], &[2, 1]),
            (&[2, 3, 2, 2], &[-3, -1]),
            (&[0, 3], &[1]),
            (&[1], &[0]),
            (&[2, 3], &[]),
        ];
        let cases = shapes.into_iter().filter(|(_, dims)| without_dimensions || !dims.is_empty());
        let one = |(sizes, dims): (&[i64], &[i64])| -> Vec<Sample> {
            let first = given(generate::numbers(dtype, sizes, 1)).and(dims.to_vec());
            let all = flags.iter().zip([0, 1, 2].into_iter().cycle());
            all.chain(flags.iter().zip([2, 0]))
                .map(|(flag, norm)| first.clone().and(norm).and(flag.clone()))
                .collect()
        };
        cases.flat_map(one).collect()
    }

    fn half_inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [(&[i64], &[i64], i64); 8] = [
            (&[5], &[0], 8),
            (&[5], &[0], 9),
            (&[2, 5], &[1], 6),
            (&[3, 4], &[0], 4),
            (&[2, 3, 4], &[0, 2], 7),
            (&[4, 3, 2], &[2, 1], 4),
            (&[0, 3], &[1], 4),
            (&[1], &[0], 1),
        ];
        let one = |(sizes, dims, n): (&[i64], &[i64], i64)| {
            let first = given(generate::numbers(dtype, sizes, 1)).and(dims.to_vec());
            [0, 1, 2].map(|norm| first.clone().and(norm).and(n))
        };
        shapes.into_iter().flat_map(one).collect()
    }

    /// One dimension after the other.
    fn transformed(x: &Plain, dims: &[i64], direction: Direction, normalization: i64) -> Plain {
        let axes = dims.iter().map(|dim| naive::dimension(*dim, x.sizes().len()));
        axes.fold(x.to(DType::Complex128), |x, dim| {
            let n = x.sizes()[dim];
            let scale = match normalization {
                1 => 1.0 / (n as f64).sqrt(),
                2 => 1.0 / n as f64,
                _ => 1.0,
            };
            fourier::samples::naive(&x, dim, n, direction, scale)
        })
    }
}
