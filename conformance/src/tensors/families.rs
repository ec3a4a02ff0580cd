//! Families of operators: what their arguments have in common and what the others are.

use opgrid_core::DType;
use opgrid_core::schema::Argument;

use super::build::Builder;
use super::case::{Arg, Call, family};
use super::elements::{DTYPES, Style};
use super::layouts::{self, Kind};
use crate::random::Random;

/// Operators whose arguments are made in one way.
pub struct Family {
    /// The families of operators, without overloads.
    pub operators: &'static [&'static str],
    /// Chooses what the arguments have in common.
    pub prepare: fn(&mut Builder<'_>),
    /// An argument, unless it is made as usual.
    pub argument: fn(&mut Builder<'_>, &Argument) -> Option<Arg>,
}

/// The family of operators that are listed nowhere. One that both sides refuse nearly always fails the run: it belongs
/// elsewhere.
pub const ELEMENTWISE: Family = Family { operators: &[], prepare: common_shape, argument: pointwise };

/// All other families.
pub const FAMILIES: &[Family] = &[
    Family {
        operators: &["all", "amax", "amin", "any", "argmax", "mean", "sum"],
        prepare: tame_shape,
        argument: reduced,
    },
    Family {
        operators: &[
            "arange",
            "empty",
            "empty_strided",
            "eye",
            "full",
            "linspace",
            "ones",
            "rand",
            "randn",
            "scalar_tensor",
            "zeros",
        ],
        prepare: common_shape,
        argument: made,
    },
    Family {
        operators: &["_to_copy", "clone", "contiguous", "empty_like", "_local_scalar_dense", "item"],
        prepare: common_shape,
        argument: copied,
    },
    Family {
        operators: &[
            "as_strided",
            "expand",
            "flatten",
            "permute",
            "reshape",
            "select",
            "slice",
            "squeeze",
            "t",
            "transpose",
            "unsqueeze",
            "view",
        ],
        prepare: common_shape,
        argument: viewed,
    },
    Family { operators: &["cat", "stack"], prepare: common_shape, argument: joined },
    Family {
        operators: &["gather", "index", "index_put", "index_select"],
        prepare: some_dimensions,
        argument: indexed,
    },
    Family { operators: &["addmm", "bmm", "matmul", "mm"], prepare: matrices, argument: multiplied },
];

/// The family of an overload.
pub fn of(operator: &str) -> &'static Family {
    FAMILIES.iter().find(|known| known.operators.contains(&family(operator))).unwrap_or(&ELEMENTWISE)
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
    let shape = b.shape.clone();
    if argument.is_write() {
        let kind = Kind::of_output(&mut b.random);
        let dtype = b.dtype;
        return Some(b.tensor(&shape, dtype, b.style, kind));
    }
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
        _ if takes_numbers(b) && b.random.chance(if is_first { 2 } else { 8 }) => return Some(b.scalar()),
        _ if b.random.chance(8) => sizes = Vec::new(),
        _ => {}
    }
    if is_first && b.random.chance(70) {
        sizes = shape;
    }
    if matches!(family(&b.operator), "isclose" | "allclose" | "equal") {
        let dtype = if b.random.chance(90) { b.dtype } else { dtype };
        return Some(alike(b, &sizes, dtype));
    }
    Some(b.input(&sizes, dtype))
}

/// Whether torch's Python takes a number where the schema asks for a tensor.
fn takes_numbers(b: &Builder<'_>) -> bool {
    matches!(family(&b.operator), "add" | "sub" | "mul" | "div")
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
    let quarter = |random: &mut Random| random.below(20) as f64 / 4.0;
    Some(match (family(&b.operator), argument.name.as_str()) {
        ("uniform", "from") => Arg::Float(quarter(&mut b.random) - 3.0),
        ("uniform", "to") => Arg::Float(quarter(&mut b.random)),
        ("normal", "mean" | "std") => Arg::Float(quarter(&mut b.random) - 0.25),
        ("isclose" | "allclose", "rtol" | "atol") => {
            Arg::Float(*b.random.pick(&[0.0, 1e-5, 1e-3, 0.1, 1.0, -1.0]))
        }
        (_, "alpha") if b.random.chance(60) => Arg::Int(b.random.below(5) as i64 - 1),
        _ => return None,
    })
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
    Some(match (family(&b.operator), argument.name.as_str()) {
        (_, "size") => {
            let mut sizes = shape;
            if b.random.chance(3) {
                sizes.push(-1);
            }
            Arg::Ints(sizes)
        }
        (_, "stride") => {
            let dims = if b.random.chance(4) { shape.len() + 1 } else { shape.len() };
            let strided = layouts::strided(&mut b.random, &vec![2; dims], Kind::Stretched);
            let exact = layouts::strided(&mut b.random, &shape, Kind::Apart);
            Arg::Ints(if dims == shape.len() && b.random.chance(70) {
                exact.strides
            } else {
                strided.strides
            })
        }
        ("eye", "n" | "m") => Arg::Int(b.random.below(7) as i64 - i64::from(b.random.chance(10))),
        ("linspace", "steps") => Arg::Int(b.random.below(40) as i64 - i64::from(b.random.chance(5))),
        ("arange", "step") => match b.random.below(10) {
            0 => Arg::Int(0),
            1..6 => Arg::Int(*b.random.pick(&[1, 1, 1, 2, 2, 3, -1])),
            _ => Arg::Float(*b.random.pick(&[0.5, 0.25, 1.5, -0.5, 0.1])),
        },
        ("arange", "end") => bound(b, 6),
        ("arange" | "linspace", "start" | "end") => bound(b, 0),
        _ => return None,
    })
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

fn copied(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if argument.name == "self" && matches!(family(&b.operator), "item" | "_local_scalar_dense") {
        let sizes = *b.random.pick::<&[i64]>(&[&[], &[1], &[1, 1], &[2], &[0]]);
        let dtype = b.dtype;
        return Some(b.input(sizes, dtype));
    }
    None
}

fn viewed(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if argument.name == "self" && b.operator == "aten::t" && b.current.is_none() && b.random.chance(80) {
        b.shape.truncate(2);
    }
    let (shape, dims) = (b.shape.clone(), b.shape.len());
    let random = &mut b.random;
    Some(match (family(&b.operator), argument.name.as_str()) {
        ("view" | "reshape", "size" | "shape") => Arg::Ints(reshaped(random, &shape)),
        ("expand", "size") => Arg::Ints(expanded(random, &shape)),
        ("permute", "dims") => Arg::Ints(permuted(random, dims)),
        ("as_strided", "size") => {
            b.length = random.below(4);
            Arg::Ints((0..b.length).map(|_| random.below(4) as i64).collect())
        }
        ("as_strided", "stride") => {
            let length = if random.chance(95) { b.length } else { dims };
            Arg::Ints((0..length).map(|_| random.below(4) as i64 - i64::from(random.chance(1))).collect())
        }
        ("as_strided", "storage_offset") if random.chance(60) => Arg::Int(random.below(4) as i64),
        ("select", "index") => Arg::Int(random.below(9) as i64 - 4),
        ("slice", "start" | "end") if random.chance(80) => match random.below(10) {
            0 => Arg::Int(i64::MAX),
            1 => Arg::Int(i64::MIN + 1),
            _ => Arg::Int(random.below(13) as i64 - 6),
        },
        ("slice", "start" | "end") => Arg::None,
        ("slice", "step") => match random.below(20) {
            0 => Arg::Int(0),
            1 => Arg::Int(-1),
            2 if b.current.is_none() => Arg::Int(i64::MAX),
            _ => Arg::Int(random.below(3) as i64 + 1),
        },
        ("unsqueeze", "dim") => Arg::Int(b.any_dim(dims + 1)),
        _ => return None,
    })
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
    let is_cat = family(&b.operator) == "cat";
    let varied = b.random.below(shape.len().max(1));
    let count = if b.random.chance(4) { 0 } else { b.random.below(4) + 1 };
    let mut list = Vec::new();
    for _ in 0..count {
        let mut sizes = shape.clone();
        if is_cat && !sizes.is_empty() && b.random.chance(60) {
            sizes[varied] = b.random.below(4) as i64;
        }
        if b.random.chance(3) {
            sizes = layouts::spoilt(&mut b.random, &sizes);
        }
        if is_cat && b.random.chance(6) {
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
    let shape = b.shape.clone();
    Some(match (family(&b.operator), argument.name.as_str()) {
        ("index_put", "self") if argument.is_write() => {
            let (kind, dtype) = (Kind::of_output(&mut b.random), b.dtype);
            b.tensor(&shape, dtype, b.style, kind)
        }
        ("gather" | "index_select", "dim") => {
            let dim = b.any_dim(shape.len());
            b.dim = dim;
            Arg::Int(dim)
        }
        ("gather", "index") => {
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
        ("index_select", "index") => {
            let end = size_at(&shape, b.dim);
            let count = b.random.below(6) as i64;
            let sizes: &[i64] = match b.random.below(20) {
                0 => &[],
                1 => &[2, 1],
                _ => &[count],
            };
            index_tensor(b, sizes, Style::Below(end))
        }
        ("index" | "index_put", "indices") => indices(b),
        ("index_put", "values") => values(b),
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
    let sizes = b.tried(&index).and_then(|answer| answer.tensor().map(|tensor| tensor.sizes.clone()));
    let mut sizes = layouts::narrowed(&mut b.random, &sizes.unwrap_or_default());
    if b.random.chance(4) {
        sizes = layouts::spoilt(&mut b.random, &sizes);
    }
    let dtype = if b.random.chance(95) { b.dtype } else { *b.random.pick(&DTYPES) };
    b.input(&sizes, dtype)
}

/// Sizes of matrices, of which the last two dimensions count.
fn matrices(b: &mut Builder<'_>) {
    let large = b.random.chance(6);
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

fn multiplied(b: &mut Builder<'_>, argument: &Argument) -> Option<Arg> {
    if !is_tensor(argument) {
        return None;
    }
    let [rows, inner, columns, batch] = b.shape[..] else { return None };
    let operator = family(&b.operator);
    let left = matches!(argument.name.as_str(), "self" | "mat1")
        && (operator, argument.name.as_str()) != ("addmm", "self");
    let mut sizes = match (operator, left) {
        ("addmm", false) if argument.name == "self" && argument.is_write() => vec![rows, columns],
        ("addmm", false) if argument.name == "self" => layouts::narrowed(&mut b.random, &[rows, columns]),
        ("bmm", true) => vec![batch, rows, inner],
        ("bmm", false) => vec![batch, inner, columns],
        ("matmul", true) => match b.random.below(8) {
            0 | 1 => vec![inner],
            2 => vec![batch, rows, inner],
            3 => vec![2, 1, rows, inner],
            _ => vec![rows, inner],
        },
        ("matmul", false) => match b.random.below(8) {
            0 | 1 => vec![inner],
            2 => vec![batch, inner, columns],
            3 => vec![batch, inner, columns.min(3)],
            _ => vec![inner, columns],
        },
        (_, true) => vec![rows, inner],
        (_, false) => vec![inner, columns],
    };
    if b.random.chance(3) {
        sizes = layouts::spoilt(&mut b.random, &sizes);
    }
    let dtype = if b.random.chance(95) { b.dtype } else { *b.random.pick(&DTYPES) };
    let kind =
        if argument.is_write() { Kind::of_output(&mut b.random) } else { Kind::of_input(&mut b.random) };
    Some(b.tensor(&sizes, dtype, b.style, kind))
}
