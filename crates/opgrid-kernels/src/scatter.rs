//! Writes elements to the places of one dimension that indices name, and combines those that meet.
//!
//! `out[i, index[i, j, k], k] = f(out[i, index[i, j, k], k], values[i, j, k])` for dimension 1. A vector of indices for
//! a whole dimension is the same with the vector repeated in all others, which takes strides of 0 and no memory.

use opgrid_core::{DType, Result, Scalar};

use crate::choice::Bounded;
use crate::indexing::{Indexed, check_apart, elements, row_major, with_size_of};
use crate::sequence;
use opgrid_array::array::positions;
use opgrid_array::error::argument;
use opgrid_array::loops::access::check_written;
use opgrid_array::loops::arithmetic::{Arithmetic, Ordered};
use opgrid_array::loops::copy;
use opgrid_array::loops::simd::vectorised;
use opgrid_array::with_dtype;
use opgrid_array::{Array, Dims, Element, Geometry, TensorSpec};

/// How an element is combined with a value that comes to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The value takes the place of the element.
    Replace,
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The larger one.
    Largest,
    /// The smaller one.
    Smallest,
}

/// Where values go: indices for a dimension.
pub struct Places {
    dim: usize,
    /// Row-major int64, each within the dimension.
    list: Array,
    /// How the list is seen: the sizes of the values.
    geometry: Geometry,
}

impl Places {
    /// Computes positions from one index per value, for a `self` of these sizes; tensors without dimensions count as
    /// vectors.
    ///
    /// # Errors
    ///
    /// An index out of range, no data, no memory.
    pub fn each(sizes: &[i64], dim: usize, index: &Array, from_end: bool) -> Result<Self> {
        let list = checked(sizes, dim, index, from_end)?;
        let geometry = as_vector(list.geometry())?;
        Ok(Self { dim, list, geometry })
    }

    /// Computes positions from a vector of indices along a whole dimension of values of these sizes.
    ///
    /// # Errors
    ///
    /// As [`each`](Self::each).
    pub fn whole(sizes: &[i64], dim: usize, index: &Array, from_end: bool) -> Result<Self> {
        let list = checked(sizes, dim, index, from_end)?;
        let mut wanted = if sizes.is_empty() { vec![1] } else { sizes.to_vec() };
        wanted[dim] = list.spec().numel();
        let mut strides = vec![0; wanted.len()];
        strides[dim] = 1;
        let geometry = Geometry::strided(&wanted, &strides, list.geometry().offset())?;
        Ok(Self { dim, list, geometry })
    }

    /// The sizes of the values.
    pub(crate) fn sizes(&self) -> &[i64] {
        self.geometry.sizes()
    }
}

/// The indices as row-major int64, negative ones counted from the end.
fn checked(sizes: &[i64], dim: usize, index: &Array, from_end: bool) -> Result<Array> {
    let size = sizes.get(dim).copied().unwrap_or(1);
    let list = row_major(index)?;
    let reader = list.storage().read()?;
    let indices = elements::<i64>(&list, &reader)?;
    Indexed { dim, size, stride: 1, from_end }.check(indices)?;
    let is_negative = vectorised(|| indices.iter().fold(false, |found, index| found | (*index < 0)));
    if !is_negative {
        drop(reader);
        return Ok(list);
    }
    let counted = Array::empty(TensorSpec::contiguous(list.sizes(), DType::I64, list.device())?)?;
    sequence::numbered(&counted, |i| {
        let index = indices[i as usize];
        if index < 0 { index + size } else { index }
    })?;
    Ok(counted)
}

/// Returns the geometry, with a dimension of size 1 if it has none.
fn as_vector(geometry: &Geometry) -> Result<Geometry> {
    if geometry.dims() == 0 { geometry.unsqueeze(0) } else { Ok(geometry.clone()) }
}

/// Combines the elements of `out` with `values`, of which the first ones of each dimension are taken, as many as there
/// are places.
///
/// # Errors
///
/// Overlap, other dtypes, tensors without data or used by others; values that are fewer than the places.
pub fn scatter(out: &Array, places: &Places, values: &Array, combine: Combine) -> Result<()> {
    let values = seen(out, places, values)?;
    if combine == Combine::Replace {
        return with_size_of!(out.dtype(), T => apply::<T>(out, places, &values, |_, value| value));
    }
    match combine {
        Combine::Largest => {
            with_dtype!(out.dtype(), T: Ordered by itself => apply::<T>(out, places, &values, |a, b| {
                T::narrow(a.widen().larger(b.widen()))
            }))
        }
        Combine::Smallest => {
            with_dtype!(out.dtype(), T: Ordered by itself => apply::<T>(out, places, &values, |a, b| {
                T::narrow(a.widen().smaller(b.widen()))
            }))
        }
        Combine::Product => {
            with_dtype!(out.dtype(), T: Any by bits => apply::<T>(out, places, &values, |a, b| {
                T::narrow(a.widen().times(b.widen()))
            }))
        }
        _ => with_dtype!(out.dtype(), T: Any by bits => apply::<T>(out, places, &values, |a, b| {
            T::narrow(a.widen().plus(b.widen()))
        })),
    }
}

/// The first ones of `values` in each dimension, as many as there are places.
///
/// # Errors
///
/// Overlap with `out`; values that are fewer than the places.
fn seen(out: &Array, places: &Places, values: &Array) -> Result<Array> {
    check_apart(out, values)?;
    let whole = as_vector(values.geometry())?;
    let mut pairs = places.sizes().iter().zip(whole.sizes());
    if places.sizes().len() != whole.dims() || pairs.any(|(places, values)| places > values) {
        let message = format!(
            "found values of shape {:?} for indices of shape {:?}, expected at least as many",
            whole.sizes(),
            places.sizes()
        );
        return Err(argument(message));
    }
    let part = values.view(Geometry::strided(places.sizes(), whole.strides(), whole.offset())?)?;
    copy::apart_from(out, &part)
}

/// Adds `values`, each `alpha` times.
///
/// # Errors
///
/// As [`scatter`]; a factor beyond the range of the dtype.
pub fn add_scaled(out: &Array, places: &Places, values: &Array, alpha: Scalar) -> Result<()> {
    if alpha == Scalar::Int(1) {
        return scatter(out, places, values, Combine::Sum);
    }
    let values = seen(out, places, values)?;
    with_dtype!(out.dtype(), T: Any by bits => {
        let alpha = opgrid_array::loops::arithmetic::element_for::<<T as Element>::Math>(alpha, out.dtype())?;
        apply::<T>(out, places, &values, move |a, b| T::narrow(a.widen().plus(alpha.times(b.widen()))))
    })
}

/// Sets every element that is named to one value.
///
/// # Errors
///
/// As [`scatter`]; a number beyond the range of the dtype.
pub fn fill(out: &Array, places: &Places, value: Scalar, combine: Combine) -> Result<()> {
    let one = Array::empty(TensorSpec::contiguous(&[], out.dtype(), out.device())?)?;
    with_dtype!(out.dtype(), T: Stored => opgrid_array::loops::arithmetic::element::<T>(value).map(drop))?;
    opgrid_array::loops::elementwise::fill(&one, value)?;
    let strides = Dims::from_elem(0, places.sizes().len());
    scatter(out, places, &one.view(Geometry::strided(places.sizes(), &strides, 0)?)?, combine)
}

/// Sets every element that is named to what a combination begins with.
///
/// # Errors
///
/// As [`scatter`].
pub fn initialize(out: &Array, places: &Places, combine: Combine) -> Result<()> {
    let first = match combine {
        Combine::Product => Scalar::Int(1),
        Combine::Largest => {
            with_dtype!(out.dtype(), T: Ordered by itself => Ok(scalar(<T as Element>::Math::LOWEST)))?
        }
        Combine::Smallest => {
            with_dtype!(out.dtype(), T: Ordered by itself => Ok(scalar(<T as Element>::Math::HIGHEST)))?
        }
        Combine::Sum | Combine::Replace => Scalar::Int(0),
    };
    fill(out, places, first, Combine::Replace)
}

fn scalar<T: Element>(value: T) -> Scalar {
    match value.number() {
        opgrid_array::Number::F32(value) => Scalar::Float(value.into()),
        opgrid_array::Number::F64(value) => Scalar::Float(value),
        opgrid_array::Number::U64(value) => value.into(),
        opgrid_array::Number::Bool(value) => Scalar::Bool(value),
        // No type that has ends has others.
        other => Scalar::Int(i64::from_number(other)),
    }
}

/// How many values come to each element, and one more if the element itself counts; 1 where none comes.
///
/// # Errors
///
/// No memory.
pub fn counts(out: &Array, places: &Places, include_self: bool) -> Result<Array> {
    let counts = Array::empty(TensorSpec::contiguous(out.sizes(), DType::I64, out.device())?)?;
    opgrid_array::loops::elementwise::fill(&counts, i64::from(include_self))?;
    fill(&counts, places, Scalar::Int(1), Combine::Sum)?;
    opgrid_array::loops::elementwise::unary::<i64, i64>(&counts, &counts, |count| count.max(1))?;
    Ok(counts)
}

/// `out[place] = f(out[place], value)` for each place, in the order of the values.
fn apply<T: Element>(out: &Array, places: &Places, values: &Array, f: impl Fn(T, T) -> T) -> Result<()> {
    check_written(out.geometry())?;
    let reader = values.storage().read()?;
    let index_reader = places.list.storage().read()?;
    let mut writer = out.storage().write()?;
    let Some(rows) = Rows::new(out, places, values)? else { return Ok(()) };
    let (out, values, indices) = (writer.slice::<T>()?, reader.slice::<T>()?, index_reader.slice::<i64>()?);
    let Rows { length, along, step, value_step, index_step, .. } = rows;
    rows.for_each(&mut |to, from, which| {
        if (index_step, value_step) != (1, 1) {
            for k in 0..length {
                let place = to + k * step + indices[which + k * index_step] as usize * along;
                out[place] = f(out[place], values[from + k * value_step]);
            }
            return;
        }
        let pairs = indices[which..which + length].iter().zip(&values[from..from + length]);
        // From here on the row has so many elements.
        let out = &mut out[to..];
        if (step, along) == (0, 1) {
            for (index, value) in pairs {
                let place = &mut out[*index as usize];
                *place = f(*place, *value);
            }
            return;
        }
        for (k, (index, value)) in pairs.enumerate() {
            let place = &mut out[k * step + *index as usize * along];
            *place = f(*place, *value);
        }
    });
    Ok(())
}

/// How rows of places lie: those that differ in their last index only.
struct Rows {
    /// How many places a row has.
    length: usize,
    /// From one index to the next, of the dimension that indices are for.
    along: usize,
    /// From one place of a row to the next: in the output, apart from what the index says, in the values and in the indices.
    step: usize,
    value_step: usize,
    index_step: usize,
    /// Where rows begin: in the output, in the values and in the indices.
    starts: [Geometry; 3],
}

impl Rows {
    /// Returns `None` where there are no places.
    ///
    /// # Errors
    ///
    /// Sizes that are too large for a geometry.
    #[inline(never)]
    fn new(out: &Array, places: &Places, values: &Array) -> Result<Option<Self>> {
        let own = as_vector(out.geometry())?;
        // Where values lie apart from the dimension, in which the index says it.
        let mut steps: Dims = (0..own.dims()).map(|dim| own.step(dim) as i64).collect();
        steps[places.dim] = 0;
        let Some((&length, outer)) = places.sizes().split_last() else { return Ok(None) };
        if length == 0 {
            return Ok(None);
        }
        let last = outer.len();
        let list = |geometry: &Geometry| -> Dims {
            (0..geometry.dims()).map(|dim| geometry.step(dim) as i64).collect()
        };
        let rows = |steps: &[i64], start: usize| Geometry::strided(outer, &steps[..last], start as i64);
        let (value_steps, index_steps) = (list(values.geometry()), list(&places.geometry));
        Ok(Some(Self {
            length: length as usize,
            along: own.step(places.dim),
            step: steps[last] as usize,
            value_step: value_steps[last] as usize,
            index_step: index_steps[last] as usize,
            starts: [
                rows(&steps, own.start())?,
                rows(&value_steps, values.geometry().start())?,
                rows(&index_steps, places.geometry.start())?,
            ],
        }))
    }

    /// Calls `f` with where each row begins.
    #[inline(never)]
    fn for_each(&self, f: &mut dyn FnMut(usize, usize, usize)) {
        let [outs, froms, whiches] = &self.starts;
        for ((to, from), which) in positions(outs).zip(positions(froms)).zip(positions(whiches)) {
            f(to, from, which);
        }
    }
}
