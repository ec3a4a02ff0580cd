//! Arguments of operators on images, of distances and of Fourier transforms.

use opgrid_core::DType;
use opgrid_core::schema::Argument;

use super::build::Builder;
use super::case::Arg;
use super::elements::{DTYPES, Style};
use super::layouts::{self, Kind};

/// What the arguments of a call on images have in common.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// The sizes of the window, one for each dimension of images.
    window: Vec<i64>,
    /// Groups of channels.
    groups: i64,
    /// Filters of a group, or channels of a group's results.
    filters: i64,
    /// Whether places add windows instead of windows being summed at places.
    transposed: bool,
    /// From a place to the next.
    stride: i64,
}

/// Images and a window for them; most often of floats, whose sums stay far from the ends of the range.
pub fn prepare(b: &mut Builder<'_>) {
    let name = b.operator().to_owned();
    let dims = match &name {
        name if name.contains("1d") => 1,
        name if name.contains("3d") => 3,
        name if ["convolution", "sampler", "affine", "channel_shuffle"]
            .iter()
            .any(|word| name.contains(word)) =>
        {
            let least = if name.contains("convolution") || name.contains("channel") { 1 } else { 2 };
            least + b.random.below(4 - least)
        }
        _ => 2,
    };
    let dims = if name.contains("sampler_2d") { 2 } else { dims };
    let groups = if b.random.chance(25) { 2 } else { 1 };
    let images = Images {
        window: (0..dims).map(|_| b.random.below(3) as i64 + 1).collect(),
        groups,
        filters: b.random.below(3) as i64 + 1,
        transposed: name.contains("transpose") || (name.contains("convolution") && b.random.chance(40)),
        stride: b.random.below(2) as i64 + 1,
    };
    let channels = match &name {
        name if name.contains("pixel_shuffle") => 4 * (b.random.below(2) as i64 + 1),
        name if name.contains("channel_shuffle") => 6,
        _ => groups * (b.random.below(2) as i64 + 1),
    };
    let batch = if b.random.chance(5) { 0 } else { b.random.below(2) as i64 + 1 };
    let size = |b: &mut Builder<'_>, window: i64| {
        if name.contains("pixel_unshuffle") {
            2 * (b.random.below(3) as i64 + 1)
        } else {
            window + b.random.below(5) as i64
        }
    };
    let sizes: Vec<i64> = images.window.iter().map(|window| size(b, *window)).collect();
    b.shape = [&[batch, channels], &sizes[..]].concat();
    b.images = images;
    b.style = Style::tame(&mut b.random);
    if b.random.chance(80) {
        b.dtype = *b.random.pick(&[DType::F32, DType::F32, DType::F64, DType::BF16]);
    }
}

/// An argument of an operator on images.
pub fn argument(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let (shape, images, dims) = (b.shape.clone(), b.images.clone(), b.images.window.len());
    let (name, is_list) = (argument.name.as_str(), argument.real_type.to_string().contains("[]"));
    let outer = |channels: i64, sizes: &[i64]| [&[shape[0], channels], sizes].concat();
    let is_columns = b.operator().contains("col2im");
    Some(match name {
        "self" if is_columns => {
            let places: i64 =
                shape[2..].iter().zip(&images.window).map(|(size, window)| size - window + 1).product();
            let rows = shape[1] * images.window.iter().product::<i64>();
            tensor(b, &[shape[0], rows, places])
        }
        "self" | "input" if is_list => return None,
        "self" | "input" => {
            let is_one = !b.has_argument("grad_output") && !b.has_argument("grid") && b.random.chance(10);
            tensor(b, if is_one { &shape[1..] } else { &shape })
        }
        "weight" => {
            let sizes = if images.transposed {
                [&[shape[1], images.filters], &images.window[..]].concat()
            } else {
                [&[images.groups * images.filters, shape[1] / images.groups], &images.window[..]].concat()
            };
            tensor(b, &sizes)
        }
        "bias" if b.random.chance(50) => Arg::None,
        "bias" => tensor(b, &[images.groups * images.filters]),
        "grad_output" => {
            let sizes: Vec<i64> =
                shape[2..].iter().zip(&images.window).map(|(size, window)| size / window).collect();
            tensor(b, &outer(shape[1], &sizes))
        }
        "indices" => {
            let sizes: Vec<i64> =
                shape[2..].iter().zip(&images.window).map(|(size, window)| size / window).collect();
            let plane = shape[2..].iter().product();
            let kind = Kind::of_input(&mut b.random);
            b.tensor(&outer(shape[1], &sizes), DType::I64, Style::Below(plane), kind)
        }
        "grid" => {
            let sizes = [&[shape[0]], &images.window[..], &[dims as i64]].concat();
            let kind = Kind::of_input(&mut b.random);
            b.tensor(&sizes, b.dtype, Style::Small, kind)
        }
        "theta" => tensor(b, &[shape[0], dims as i64, dims as i64 + 1]),
        "size" => Arg::Ints(shape),
        "kernel_size" => Arg::Ints(images.window),
        "stride" if b.has_argument("grad_output") || b.has_argument("output_size") => {
            Arg::Ints(if is_columns { vec![1; dims] } else { images.window })
        }
        "stride" => Arg::Ints(vec![images.stride; dims]),
        "padding" if !is_list => Arg::Str((if b.random.chance(50) { "same" } else { "valid" }).into()),
        "padding" if b.has_argument("grad_output") || is_columns => Arg::Ints(vec![0; dims]),
        "padding" => {
            let half = images.window.iter().min().map_or(0, |least| least / 2);
            Arg::Ints(vec![b.random.below(half as usize + 1) as i64; dims])
        }
        "dilation" => Arg::Ints(vec![1; dims]),
        "output_padding" => Arg::Ints(vec![0; dims]),
        "transposed" => Arg::Bool(images.transposed),
        "groups" => Arg::Int(if b.has_argument("weight") { images.groups } else { 3 }),
        "upscale_factor" | "downscale_factor" => Arg::Int(2),
        "divisor_override" if b.random.chance(60) => Arg::None,
        "divisor_override" => Arg::Int(b.random.below(4) as i64),
        "output_size" if is_columns => Arg::Ints(shape[2..].to_vec()),
        "output_size" => Arg::Ints((0..dims).map(|_| b.random.below(6) as i64 + 1).collect()),
        "interpolation_mode" => Arg::Int(b.random.below(if dims == 2 { 3 } else { 2 }) as i64),
        "padding_mode" => Arg::Int(b.random.below(3) as i64),
        "scale_factors" | "scales" | "scales_d" | "scales_h" | "scales_w" | "bias_sizes" => Arg::None,
        _ => return None,
    })
}

/// A tensor of the common dtype, seldom of other sizes or another dtype.
fn tensor(b: &mut Builder<'_>, sizes: &[i64]) -> Arg {
    let sizes = if b.random.chance(3) { layouts::spoilt(&mut b.random, sizes) } else { sizes.to_vec() };
    let dtype = if b.random.chance(97) { b.dtype } else { *b.random.pick(&DTYPES) };
    let kind = Kind::of_input(&mut b.random);
    b.tensor(&sizes, dtype, b.style, kind)
}

/// Rows of points.
pub fn prepare_points(b: &mut Builder<'_>) {
    b.shape = (0..3).map(|_| b.random.below(5) as i64).collect();
    b.style = Style::Small;
    b.dtype = *b.random.pick(&[DType::F32, DType::F64]);
}

/// Two lists of points, or one.
pub fn points(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let &[rows, others, columns] = b.shape.as_slice() else { return None };
    let is_stack = b.random.chance(30);
    Some(match argument.name.as_str() {
        "x1" if is_stack => tensor(b, &[2, 1, rows, columns]),
        "x1" | "self" => tensor(b, &[rows, columns]),
        "x2" if is_stack => tensor(b, &[3, others, columns]),
        "x2" => tensor(b, &[others, columns]),
        "p" => Arg::Float(*b.random.pick(&[2.0, 2.0, 1.0, 0.0, 3.0, 0.5, -1.0])),
        "compute_mode" => b.random.pick(&[Arg::None, Arg::Int(0), Arg::Int(2)]).clone(),
        _ => return None,
    })
}

/// Tensors that are transformed.
pub fn prepare_transform(b: &mut Builder<'_>) {
    b.shape = (0..1 + b.random.below(3)).map(|_| b.random.below(6) as i64 + 1).collect();
    b.style = Style::tame(&mut b.random);
    let name = b.operator();
    let real = name.contains("r2c") || name.contains("rfft") || name.contains("ihfft");
    let dtypes: &[DType] = if name.contains("_fft_c2") {
        &[DType::Complex64, DType::Complex128]
    } else if real && !name.contains("irfft") {
        &[DType::F32, DType::F64]
    } else {
        &[DType::F32, DType::F64, DType::Complex64, DType::I64]
    };
    b.dtype = *b.random.pick(dtypes);
}

/// Dimensions, lengths and norms.
pub fn transformed(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let dims = b.shape.len();
    Some(match argument.name.as_str() {
        "dim" if argument.real_type.to_string().contains("[]") => {
            let dim = b.random.below(dims);
            b.dim = dim as i64;
            Arg::Ints(vec![dim as i64])
        }
        "dim" => Arg::Int(b.random.below(dims) as i64 - dims as i64),
        "normalization" => Arg::Int(b.random.below(3) as i64),
        "last_dim_size" => {
            let half = b.shape.get(b.dim as usize).copied().unwrap_or(1);
            Arg::Int((2 * half - 2 + i64::from(b.random.chance(50))).max(1))
        }
        "n" if b.random.chance(50) => Arg::None,
        "n" => Arg::Int(b.random.below(9) as i64),
        "s" => Arg::None,
        "norm" => b.random.pick(&[Arg::None, Arg::Str("ortho".into()), Arg::Str("forward".into())]).clone(),
        _ => return None,
    })
}
