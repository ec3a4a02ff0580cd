//! How the arguments of an operator are made: by its kind, which the registry knows, and by their names and types.

use opgrid_core::schema::Argument;
use opgrid_core::{DType, OperatorHandle};
use opgrid_tensor::families::kind;

use super::build::Builder;
use super::case::{Arg, Call};
use super::elements::{DTYPES, Style};
use super::images;
use super::layouts::{self, Kind};
use crate::random::Random;

/// How arguments are made for operators of a kind, and of the kinds under it that have no row of their own.
pub struct Maker {
    /// The kind.
    kind: &'static opgrid_core::Kind,
    /// Chooses what the arguments have in common.
    pub prepare: fn(&mut Builder<'_>),
    /// An argument, unless it is made as usual.
    pub argument: fn(&mut Builder<'_>, &Argument) -> Option<Arg>,
}

/// All of them. An operator that both sides refuse nearly always, in the variations of its samples, too, fails the run: its
/// arguments need rules of their own, or its kind is not the right one.
const MAKERS: &[Maker] = &[
    Maker { kind: &kind::POINTWISE, prepare: common_shape, argument: pointwise },
    Maker { kind: &kind::REDUCTION, prepare: tame_shape, argument: reduced },
    Maker { kind: &kind::ALONG_DIMENSION, prepare: tame_shape, argument: reduced },
    Maker { kind: &kind::SORTING, prepare: tame_shape, argument: reduced },
    Maker { kind: &kind::PRODUCT, prepare: matrices, argument: multiplied },
    Maker { kind: &kind::PRODUCT_OF_STACKS, prepare: matrices, argument: stacked },
    Maker { kind: &kind::VIEW, prepare: common_shape, argument: viewed },
    Maker { kind: &kind::FACTORY, prepare: common_shape, argument: made },
    Maker { kind: &kind::RANDOM, prepare: common_shape, argument: drawn },
    Maker { kind: &kind::COPY, prepare: common_shape, argument: copied },
    Maker { kind: &kind::INDEXING, prepare: some_dimensions, argument: indexed },
    Maker { kind: &kind::JOINING, prepare: common_shape, argument: joined },
    Maker { kind: &kind::QUESTION, prepare: common_shape, argument: asked },
    Maker { kind: &kind::CONVOLUTION, prepare: images::prepare, argument: images::argument },
    Maker { kind: &kind::POOLING, prepare: images::prepare, argument: images::argument },
    Maker { kind: &kind::RESAMPLING, prepare: images::prepare, argument: images::argument },
    Maker { kind: &kind::DISTANCE, prepare: images::prepare_points, argument: images::points },
    Maker { kind: &kind::FOURIER, prepare: images::prepare_transform, argument: images::transformed },
];

/// Kinds whose arguments have to fit each other in ways of their own: random ones would nearly always be refused by both sides.
/// Their samples are varied, as those of all operators are; `cargo xtask conformance operators` compares them with torch's
/// samples, and those of optimizers `cargo xtask conformance training`.
const COMPARED_BY_SAMPLES: &[&opgrid_core::Kind] = &[
    &kind::FACTORIZATION,
    &kind::SHORT_TIME_TRANSFORM,
    &kind::PADDING,
    &kind::NORMALISATION,
    &kind::ATTENTION,
    &kind::RECURRENT,
    &kind::GATE,
    &kind::LOSS,
    &kind::OPTIMIZER,
];

/// The maker for an operator; none where torch's samples are compared instead.
///
/// # Errors
///
/// The operator has no kind, or one that nobody has decided on.
pub fn for_operator(operator: &OperatorHandle) -> Result<Option<&'static Maker>, String> {
    let name = operator.name();
    let own = operator.column::<opgrid_core::Kind>().map_err(|error| error.to_string())?;
    let own =
        own.ok_or_else(|| format!("{name} has no kind, by which its arguments are made; give it one"))?;
    let mut kind = Some(&*own);
    while let Some(known) = kind {
        if let Some(maker) = MAKERS.iter().find(|maker| maker.kind == known) {
            return Ok(Some(maker));
        }
        if COMPARED_BY_SAMPLES.contains(&known) {
            return Ok(None);
        }
        kind = known.parent();
    }
    Err(format!(
        "{name} is of the kind `{own}`, for which no arguments can be made; add a row for it to `MAKERS`, or to \
         `COMPARED_BY_SAMPLES`, in conformance/src/tensors/families.rs"
    ))
}

fn common_shape(b: &mut Builder<'_>) {
    if b.current.is_none() {
        b.shape = layouts::shape(&mut b.random);
    }
}

/// With numbers whose sums stay far from the ends of the range; seldom others.
fn tame_shape(b: &mut Builder<'_>) {
    common_shape(b);
    if b.random.chance(85) {
        b.style = Style::tame(&mut b.random);
    }
}

fn some_dimensions(b: &mut Builder<'_>) {
    common_shape(b);
    if b.shape.is_empty() && b.random.chance(80) {
        b.shape = vec![b.random.below(4) as i64 + 1];
    }
}

fn is_tensor(argument: &Argument) -> bool {
    matches!(argument.real_type.to_string().as_str(), "Tensor")
}

/// Tensors that broadcast with each other, numbers in their place, overlaps.
fn pointwise(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if !is_tensor(argument) {
        return numbers_of_pointwise(b, argument);
    }
    let is_first = b.case.tensors.is_empty();
    if argument.is_write() {
        return None;
    }
    let shape = b.shape.clone();
    let mut sizes = layouts::narrowed(&mut b.random, &shape);
    if b.random.chance(3) {
        sizes = layouts::spoilt(&mut b.random, &sizes);
    }
    let dtype = match argument.name.as_str() {
        "condition" | "mask" if b.random.chance(90) => DType::Bool,
        _ => b.any_dtype(),
    };
    match argument.name.as_str() {
        "value" if b.random.chance(90) => sizes = Vec::new(),
        "condition" | "mask" => {}
        _ if !is_first && b.random.chance(5) => return b.overlapping(),
        _ if b.takes_numbers() && b.random.chance(if is_first { 2 } else { 8 }) => return Some(b.scalar()),
        _ if b.random.chance(8) => sizes = Vec::new(),
        _ => {}
    }
    if is_first && b.random.chance(70) {
        sizes = shape;
    }
    if b.has_argument("rtol") {
        let dtype = if b.random.chance(90) { b.dtype } else { dtype };
        return Some(alike(b, &sizes, dtype));
    }
    Some(b.input(&sizes, dtype))
}

/// A tensor with the numbers of the one before it, so that some are equal or close.
fn alike(b: &mut Builder<'_>, sizes: &[i64], dtype: DType) -> Arg {
    let arg = b.input(sizes, dtype);
    if let [.., before, last] = b.case.blocks.as_mut_slice()
        && before.dtype == last.dtype
        && b.random.chance(60)
    {
        let common = before.bytes.len().min(last.bytes.len());
        last.bytes[..common].copy_from_slice(&before.bytes[..common]);
        if common > 0 && b.random.chance(50) && last.dtype != DType::Bool {
            last.bytes[0] ^= 1;
        }
    }
    arg
}

fn numbers_of_pointwise(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    match argument.name.as_str() {
        "rtol" | "atol" => Some(Arg::Float(*b.random.pick(&[0.0, 1e-5, 1e-3, 0.1, 1.0, -1.0]))),
        "alpha" if b.random.chance(60) => Some(Arg::Int(b.random.below(5) as i64 - 1)),
        _ => None,
    }
}

fn reduced(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let kind = argument.real_type.to_string();
    let dims = b.shape.len();
    match argument.name.as_str() {
        "dim" if kind.starts_with("int[]") && b.random.chance(80) => Some(Arg::Ints(b.any_dims(dims))),
        "dtype" if b.random.chance(60) => Some(Arg::None),
        _ => None,
    }
}

fn made(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let shape = b.shape.clone();
    Some(match argument.name.as_str() {
        "size" => {
            let mut sizes = shape;
            if b.random.chance(3) {
                sizes.push(-1);
            }
            Arg::Ints(sizes)
        }
        "stride" => {
            let dims = if b.random.chance(4) { shape.len() + 1 } else { shape.len() };
            let strided = layouts::strided(&mut b.random, &vec![2; dims], Kind::Stretched);
            let exact = layouts::strided(&mut b.random, &shape, Kind::Apart);
            let is_exact = dims == shape.len() && b.random.chance(70);
            Arg::Ints(if is_exact { exact.strides } else { strided.strides })
        }
        "n" | "m" => Arg::Int(b.random.below(7) as i64 - i64::from(b.random.chance(10))),
        "steps" => Arg::Int(b.random.below(40) as i64 - i64::from(b.random.chance(5))),
        "step" => match b.random.below(10) {
            0 => Arg::Int(0),
            1..6 => Arg::Int(*b.random.pick(&[1, 1, 1, 2, 2, 3, -1])),
            _ => Arg::Float(*b.random.pick(&[0.5, 0.25, 1.5, -0.5, 0.1])),
        },
        "start" => bound(b, 0),
        "end" => bound(b, if b.has_argument("steps") { 0 } else { 6 }),
        _ => return None,
    })
}

/// As for other new tensors, with the numbers of a distribution.
fn drawn(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let quarter = b.random.below(20) as f64 / 4.0;
    match argument.name.as_str() {
        "from" => Some(Arg::Float(quarter - 3.0)),
        "to" => Some(Arg::Float(quarter)),
        "mean" | "std" => Some(Arg::Float(quarter - 0.25)),
        _ => made(b, argument),
    }
}

/// A small number for the bounds of a sequence, beside `middle`.
fn bound(b: &mut Builder<'_>, middle: i64) -> Arg {
    match b.random.below(20) {
        0 => Arg::Bool(b.random.chance(50)),
        1 => Arg::Complex(opgrid_core::Complex64::new(1.5, 2.0)),
        2..12 => Arg::Int(b.random.below(21) as i64 - 6 + middle),
        _ => Arg::Float(b.random.below(60) as f64 / 4.0 - 4.0 + middle as f64),
    }
}

/// What is copied to another tensor broadcasts with it.
fn copied(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if is_tensor(argument) && argument.name != "self" { pointwise(b, argument) } else { None }
}

/// Tensors that are compared, or one of which the only element is asked for.
fn asked(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if !is_tensor(argument) {
        return numbers_of_pointwise(b, argument);
    }
    if b.has_argument("other") {
        let mut sizes = layouts::narrowed(&mut b.random, &b.shape);
        if b.random.chance(70) {
            sizes.clone_from(&b.shape);
        }
        let dtype = if b.random.chance(90) { b.dtype } else { b.any_dtype() };
        return Some(alike(b, &sizes, dtype));
    }
    let sizes = *b.random.pick::<&[i64]>(&[&[], &[1], &[1, 1], &[2], &[0]]);
    let dtype = b.dtype;
    Some(b.input(sizes, dtype))
}

fn viewed(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if let Some(arg) = part_of_dimension(b, argument) {
        return Some(arg);
    }
    if argument.name == "self" && b.current.is_none() && b.operator().ends_with("view_as_complex") {
        // Pairs of floats.
        b.shape.push(2);
        b.dtype = *b.random.pick(&[DType::F32, DType::F64]);
    }
    if argument.name == "self" && b.count_arguments() == 1 && b.current.is_none() && b.random.chance(50) {
        // A matrix, which the only view that is asked for nothing more may be of.
        b.shape.truncate(2);
    }
    let (shape, dims) = (b.shape.clone(), b.shape.len());
    let (is_strided, is_stretched) = (b.has_argument("stride"), b.has_argument("implicit"));
    let is_only = b.count_arguments() == 2;
    let random = &mut b.random;
    Some(match argument.name.as_str() {
        "size" if is_strided => {
            b.length = random.below(4);
            Arg::Ints((0..b.length).map(|_| random.below(4) as i64).collect())
        }
        "stride" => {
            let length = if random.chance(95) { b.length } else { dims };
            Arg::Ints((0..length).map(|_| random.below(4) as i64 - i64::from(random.chance(1))).collect())
        }
        "storage_offset" if random.chance(60) => Arg::Int(random.below(4) as i64),
        "size" if is_stretched => Arg::Ints(expanded(random, &shape)),
        "size" | "shape" => Arg::Ints(reshaped(random, &shape)),
        "dims" => Arg::Ints(permuted(random, dims)),
        "index" => Arg::Int(random.below(9) as i64 - 4),
        "start" | "end" if random.chance(80) => match random.below(10) {
            0 => Arg::Int(i64::MAX),
            1 => Arg::Int(i64::MIN + 1),
            _ => Arg::Int(random.below(13) as i64 - 6),
        },
        "start" | "end" => Arg::None,
        "step" => match random.below(20) {
            0 => Arg::Int(0),
            1 => Arg::Int(-1),
            2 if b.current.is_none() => Arg::Int(i64::MAX),
            _ => Arg::Int(random.below(3) as i64 + 1),
        },
        // Nothing else is asked for: a new dimension may stand behind all others.
        "dim" if is_only && argument.real_type.to_string() == "int" => Arg::Int(b.any_dim(dims + 1)),
        _ => return None,
    })
}

/// Arguments that say which part of a dimension is wanted, or into which parts it is cut.
fn part_of_dimension(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let (name, is_list) = (argument.name.as_str(), argument.real_type.to_string().contains("[]"));
    let is_part = b.has_argument("length") || b.has_argument("dimension");
    // The dimension of `hsplit`, `vsplit` and `dsplit`, which have no argument for it.
    let is_fixed = !b.has_argument("dim");
    match name {
        "dim" | "dimension" if is_part => {
            b.dim = b.any_dim(b.shape.len());
            return Some(Arg::Int(b.dim));
        }
        "dim" if b.has_sections() && b.random.chance(90) => return Some(Arg::Int(b.dim)),
        "sections" | "chunks" | "split_size" | "split_sizes" | "tensor_indices_or_sections" if !is_fixed => {
            b.dim = if b.random.chance(50) { 0 } else { b.any_dim(b.shape.len()) };
        }
        "sections" if b.shape.len() > 1 => b.dim = i64::from(!b.operator().contains("vsplit")),
        "sections" => b.dim = 0,
        _ => {}
    }
    if name == "sections" && b.operator().contains("dsplit") {
        b.dim = 2;
    }
    let size = size_at(&b.shape, b.dim);
    let below = |random: &mut Random, end: i64| random.below(end.max(1) as usize) as i64;
    Some(match name {
        "start" if is_part && is_tensor(argument) => {
            let kind = Kind::of_input(&mut b.random);
            let style = Style::Index(size);
            let dtype = if b.random.chance(90) { DType::I64 } else { *b.random.pick(&DTYPES) };
            let sizes: &[i64] = if b.random.chance(95) { &[] } else { &[1] };
            b.tensor(sizes, dtype, style, kind)
        }
        "start" if is_part => {
            b.length = below(&mut b.random, size + 1) as usize;
            Arg::Int(if b.random.chance(20) { b.length as i64 - size } else { b.length as i64 })
        }
        "length" => {
            Arg::Int(below(&mut b.random, size - b.length as i64 + 1) + i64::from(b.random.chance(4)))
        }
        "size" if is_part => Arg::Int(below(&mut b.random, size + 1) + i64::from(b.random.chance(4))),
        "step" if is_part => Arg::Int(below(&mut b.random, 3) + i64::from(b.random.chance(95))),
        "sections" if is_fixed => {
            let divisors: Vec<i64> = (1..=size.max(1)).filter(|count| size % count == 0).collect();
            Arg::Int(*b.random.pick(&divisors) + i64::from(b.random.chance(5)))
        }
        "split_size" | "split_sizes" if is_list => Arg::Ints(cut(&mut b.random, size)),
        "sections" | "chunks" | "split_size" => {
            Arg::Int(below(&mut b.random, 5) + i64::from(b.random.chance(95)))
        }
        "tensor_indices_or_sections" => {
            let kind = Kind::of_input(&mut b.random);
            let dtype = if b.random.chance(95) { DType::I64 } else { *b.random.pick(&DTYPES) };
            let count = b.random.below(4) as i64;
            if b.random.chance(50) {
                b.tensor(&[], dtype, Style::Below(5), kind)
            } else {
                b.tensor(&[count], dtype, Style::Index(size + 1), kind)
            }
        }
        _ => return None,
    })
}

/// Sizes of parts that make a whole; seldom of more or less.
fn cut(random: &mut Random, whole: i64) -> Vec<i64> {
    let (mut parts, mut rest) = (Vec::new(), whole);
    while rest > 0 || parts.is_empty() {
        let part = random.below(rest as usize + 1) as i64;
        parts.push(part);
        rest -= part;
    }
    if random.chance(5) {
        parts.push(random.below(3) as i64 - 1);
    }
    parts
}

/// Other sizes for the same number of elements; now and then one of them unknown, or wrong ones.
fn reshaped(random: &mut Random, shape: &[i64]) -> Vec<i64> {
    let mut sizes = shape.to_vec();
    for _ in 0..random.below(4) {
        let dims = sizes.len();
        match random.below(3) {
            0 if dims >= 2 => {
                let at = random.below(dims - 1);
                sizes[at] *= sizes.remove(at + 1);
            }
            1 if dims >= 1 => {
                let at = random.below(dims);
                let factor = *random.pick(&[2, 3, 4]);
                if sizes[at] % factor == 0 && sizes[at] > 0 {
                    sizes[at] /= factor;
                    sizes.insert(at + 1, factor);
                }
            }
            _ => sizes.insert(random.below(dims + 1), 1),
        }
    }
    if random.chance(20) {
        sizes = vec![sizes.iter().product()];
    }
    if !sizes.is_empty() && random.chance(30) {
        let at = random.below(sizes.len());
        sizes[at] = -1;
    }
    if random.chance(6) {
        sizes = layouts::spoilt(random, &sizes);
    }
    sizes
}

fn expanded(random: &mut Random, shape: &[i64]) -> Vec<i64> {
    let mut sizes: Vec<i64> = shape
        .iter()
        .map(|size| match (size, random.below(10)) {
            (1, 0..6) => random.below(4) as i64,
            (_, 6 | 7) => -1,
            (size, _) => *size,
        })
        .collect();
    for _ in 0..if random.chance(40) { random.below(3) } else { 0 } {
        sizes.insert(0, random.below(4) as i64);
    }
    if random.chance(6) { layouts::spoilt(random, &sizes) } else { sizes }
}

fn permuted(random: &mut Random, dims: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..dims as i64).collect();
    for at in (1..dims).rev() {
        order.swap(at, random.below(at + 1));
    }
    for dim in &mut order {
        if random.chance(20) {
            *dim -= dims as i64;
        }
    }
    if dims > 0 && random.chance(5) {
        order[0] = *random.pick(&[0, 1, dims as i64]);
    }
    if random.chance(3) {
        order.pop();
    }
    order
}

/// Tensors that differ in one dimension.
fn joined(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if argument.name != "tensors" {
        return None;
    }
    let shape = b.shape.clone();
    let is_varied = b.random.chance(60);
    let varied = b.random.below(shape.len().max(1));
    let count = if b.random.chance(4) { 0 } else { b.random.below(4) + 1 };
    let mut list = Vec::new();
    for _ in 0..count {
        let mut sizes = shape.clone();
        if is_varied && !sizes.is_empty() && b.random.chance(70) {
            sizes[varied] = b.random.below(4) as i64;
        }
        if b.random.chance(3) {
            sizes = layouts::spoilt(&mut b.random, &sizes);
        }
        if b.random.chance(4) {
            // Tensors of one dimension without elements are passed over.
            sizes = vec![0];
        }
        let dtype = if b.random.chance(85) { b.dtype } else { *b.random.pick(&DTYPES) };
        let Arg::Tensor(at) = b.input(&sizes, dtype) else { continue };
        list.push(Some(at));
    }
    Some(Arg::Tensors(list))
}

fn indexed(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if b.has_argument("mask") {
        return pointwise(b, argument);
    }
    if b.has_argument("offsets") {
        return of_bags(b, argument);
    }
    let shape = b.shape.clone();
    Some(match argument.name.as_str() {
        "dim" => {
            let dim = b.any_dim(shape.len());
            b.dim = dim;
            Arg::Int(dim)
        }
        // An index for each element, or a list of indices.
        "index" if b.has_argument("sparse_grad") => {
            let end = size_at(&shape, b.dim);
            let dim = b.dim.rem_euclid(shape.len().max(1) as i64) as usize;
            let mut sizes: Vec<i64> =
                shape.iter().map(|size| b.random.below(*size as usize + 1) as i64).collect();
            if let Some(size) = sizes.get_mut(dim) {
                *size = b.random.below(6) as i64;
            }
            if b.random.chance(4) {
                sizes = layouts::spoilt(&mut b.random, &shape);
            }
            index_tensor(b, &sizes, Style::Below(end))
        }
        "index" => {
            let end = size_at(&shape, b.dim);
            let count = b.random.below(6) as i64;
            let sizes: &[i64] = match b.random.below(20) {
                0 => &[],
                1 => &[2, 1],
                _ => &[count],
            };
            index_tensor(b, sizes, Style::Below(end))
        }
        "indices" => indices(b),
        "values" => values(b),
        _ => return None,
    })
}

/// Rows of a table that are summed: the table, indices of rows, and where each bag begins among them.
fn of_bags(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    Some(match argument.name.as_str() {
        "weight" => {
            let rows = [b.random.below(6) as i64 + 1, b.random.below(5) as i64];
            b.shape = if b.random.chance(95) { rows.to_vec() } else { layouts::shape(&mut b.random) };
            b.first()
        }
        "indices" => {
            let (count, end) = (b.random.below(7) as i64, size_at(&b.shape, 0));
            let sizes = if b.random.chance(95) { vec![count] } else { vec![2, count] };
            index_tensor(b, &sizes, Style::Below(end))
        }
        "offsets" => {
            // Most bags begin with the first index.
            let count = b.random.below(3) as i64 + 1;
            index_tensor(b, &[count], Style::Below(1))
        }
        "mode" => Arg::Int(b.random.below(4) as i64 - i64::from(b.random.chance(5))),
        "padding_idx" => Arg::Int(b.any_dim(2)),
        "sparse" | "scale_grad_by_freq" => Arg::Bool(b.random.chance(10)),
        "per_sample_weights" if b.random.chance(80) => Arg::None,
        _ => return None,
    })
}

fn size_at(shape: &[i64], dim: i64) -> i64 {
    shape.get(dim.rem_euclid(shape.len().max(1) as i64) as usize).copied().unwrap_or(1)
}

/// A tensor of indices: integers of 64 or 32 bits, seldom others or one that leads out.
fn index_tensor(b: &mut Builder<'_>, sizes: &[i64], style: Style) -> Arg {
    let dtype = match b.random.below(100) {
        0..82 => DType::I64,
        82..95 => DType::I32,
        _ => *b.random.pick(&DTYPES),
    };
    let style = match style {
        Style::Below(end) if b.random.chance(4) => Style::Below(end + 1),
        Style::Index(end) if b.random.chance(4) => Style::Index(end + 1),
        style => style,
    };
    let kind = Kind::of_input(&mut b.random);
    b.tensor(sizes, dtype, style, kind)
}

/// Indices and masks for some of the dimensions.
fn indices(b: &mut Builder<'_>) -> Arg {
    let shape = b.shape.clone();
    let common = if b.random.chance(80) {
        (0..b.random.below(3)).map(|_| b.random.below(4) as i64 + 1).collect()
    } else {
        layouts::shape(&mut b.random)
    };
    let (mut list, mut dim) = (Vec::new(), 0);
    while dim < shape.len() && !b.random.chance(15) {
        let arg = match b.random.below(10) {
            0..3 => {
                list.push(None);
                dim += 1;
                continue;
            }
            3 => {
                let dims = (1 + b.random.below(2)).min(shape.len() - dim);
                let mut sizes = shape[dim..dim + dims].to_vec();
                if b.random.chance(5) {
                    sizes = layouts::spoilt(&mut b.random, &sizes);
                }
                dim += dims;
                let dtype = if b.random.chance(85) { DType::Bool } else { DType::U8 };
                let kind = Kind::of_input(&mut b.random);
                b.tensor(&sizes, dtype, Style::Flags, kind)
            }
            _ => {
                let sizes = layouts::narrowed(&mut b.random, &common);
                dim += 1;
                index_tensor(b, &sizes, Style::Index(shape[dim - 1]))
            }
        };
        if let Arg::Tensor(at) = arg {
            list.push(Some(at));
        }
    }
    if b.random.chance(3) {
        list.push(None);
    }
    b.indices = list.clone();
    Arg::Tensors(list)
}

/// Values for the elements that indices name.
fn values(b: &mut Builder<'_>) -> Arg {
    let index = Call {
        operator: "aten::index.Tensor".to_owned(),
        positional: vec![Arg::Tensor(0), Arg::Tensors(b.indices.clone())],
        keyword: Vec::new(),
    };
    let sizes = b.tried(&index).and_then(|answer| Some(answer.tensors().first()?.sizes.clone()));
    let mut sizes = layouts::narrowed(&mut b.random, &sizes.unwrap_or_default());
    if b.random.chance(4) {
        sizes = layouts::spoilt(&mut b.random, &sizes);
    }
    let dtype = if b.random.chance(95) { b.dtype } else { *b.random.pick(&DTYPES) };
    b.input(&sizes, dtype)
}

/// Sizes of matrices, of which the last two dimensions count.
fn matrices(b: &mut Builder<'_>) {
    // Of `kron` each pair of elements has a product of its own in the result, of which large ones take gigabytes.
    let large = b.random.chance(6) && !b.operator().starts_with("aten::kron");
    let side = |random: &mut Random| match random.below(20) {
        0 => 0,
        1..4 => 1,
        _ if large => random.below(70) as i64 + 1,
        _ => random.below(7) as i64 + 1,
    };
    b.shape = (0..4).map(|_| side(&mut b.random)).collect();
    b.shape[3] = b.shape[3].min(4);
    b.style = if b.random.chance(92) { Style::tame(&mut b.random) } else { Style::Extreme };
}

/// The sizes of a matrix, for the factor that an argument is.
fn matrix(b: &Builder<'_>, is_left: bool) -> [i64; 2] {
    if is_left { [b.shape[0], b.shape[1]] } else { [b.shape[1], b.shape[2]] }
}

/// Matrices, and what is added to their product; where the other factor is called `other`, also vectors and stacks.
fn multiplied(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if !is_tensor(argument) {
        return None;
    }
    let is_added = argument.name == "self" && b.has_argument("beta");
    if is_added {
        let product = [b.shape[0], b.shape[2]];
        let is_whole = argument.is_write();
        let sizes = if is_whole { product.to_vec() } else { layouts::narrowed(&mut b.random, &product) };
        return Some(factor(b, argument, sizes));
    }
    let is_left = matches!(argument.name.as_str(), "self" | "mat1");
    let (matrix, inner, batch) = (matrix(b, is_left), b.shape[1], b.shape[3]);
    let choice = if b.has_argument("other") { b.random.below(8) } else { 7 };
    let sizes = match choice {
        0 | 1 => vec![inner],
        2 => [&[batch], &matrix[..]].concat(),
        3 if is_left => [&[2, 1], &matrix[..]].concat(),
        3 => [&[batch.min(3)], &matrix[..]].concat(),
        _ => matrix.to_vec(),
    };
    Some(factor(b, argument, sizes))
}

/// Stacks of as many matrices.
fn stacked(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    let sizes = [&[b.shape[3]], &matrix(b, argument.name == "self")[..]].concat();
    is_tensor(argument).then(|| factor(b, argument, sizes))
}

/// A factor of those sizes; seldom of others, or of another dtype than the rest.
fn factor(b: &mut Builder<'_>, argument: &Argument, mut sizes: Vec<i64>) -> Arg {
    if b.random.chance(3) {
        sizes = layouts::spoilt(&mut b.random, &sizes);
    }
    let dtype = if b.random.chance(95) { b.dtype } else { *b.random.pick(&DTYPES) };
    let kind =
        if argument.is_write() { Kind::of_output(&mut b.random) } else { Kind::of_input(&mut b.random) };
    b.tensor(&sizes, dtype, b.style, kind)
}

#[cfg(test)]
mod tests {
    use opgrid_core::{Dispatcher, Kind};

    use super::{for_operator, kind};

    /// The error for an operator of that kind.
    fn refusal(kind: Option<Kind>) -> String {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("test");
        let operator = library.define("f(Tensor self) -> Tensor");
        let _ = match kind {
            Some(kind) => operator.column(kind),
            None => operator,
        };
        let _registration = library.finish().unwrap();
        for_operator(&dispatcher.find("test::f").unwrap()).err().unwrap_or_default()
    }

    #[test]
    fn operators_of_kinds_without_a_maker_are_named() {
        static BELOW: Kind = Kind::under("below pointwise", &kind::POINTWISE);
        assert_eq!(refusal(Some(BELOW.clone())), "");
        let unknown = refusal(Some(Kind::new("unknown")));
        assert!(unknown.contains("test::f") && unknown.contains("`unknown`"), "{unknown}");
        assert!(unknown.contains("add a row for it to `MAKERS`"), "{unknown}");
        let none = refusal(None);
        assert!(none.contains("test::f has no kind"), "{none}");
    }
}
