//! Reads and writes the elements of arrays: everything between safe closures and memory.
//!
//! [`map1`], [`map2`] and [`map3`] borrow arrays and let a kernel run over their elements: `typed` makes the kernel of a closure, `walk`
//! hands blocks to it. [`Input`] and [`Output`] are strided operands for other loops. Pointers to elements come from
//! `span`.
#![allow(unsafe_code)]

mod cast;
pub mod fold;
pub mod lanes;
mod narrow;
pub mod parallel;
pub mod parts;
mod plan;
pub(crate) mod pool;
pub mod produce;
pub mod reduction;
mod roots;
mod span;
mod strided;
mod typed;
pub mod walk;

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use opgrid_core::{DType, Result, Scalar};

use self::walk::{Block, Operand, Overlap, Rows, Work};
use super::access::{self, Aliasing, Distinct};
use super::arithmetic::number;
use super::function::Function;
use crate::error::argument;
use crate::with_dtype;
use crate::{Array, Element, Geometry, ReadGuard, Storage, Thread};

pub use self::span::{Input, Output};
pub use self::span::{Span, Target};
pub use self::strided::transpose;

/// An input of an element-wise loop.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// An array, of any dtype: its elements are converted on the way.
    Array(&'a Array),
    /// One number for all elements. By reference, so that a source is two words, which no copy reads as one: what was just
    /// written in parts is waited for.
    Number(&'a Scalar),
}

impl<'a> From<&'a Array> for Source<'a> {
    #[inline]
    fn from(array: &'a Array) -> Self {
        Self::Array(array)
    }
}

/// The element that a number becomes.
#[repr(align(16))]
#[derive(Clone, Copy)]
struct Constant([MaybeUninit<u8>; 16]);

impl Constant {
    fn new(value: Scalar, dtype: DType) -> Result<Self> {
        let mut bytes = Self([MaybeUninit::uninit(); 16]);
        with_dtype!(dtype, T: Stored => {
            // SAFETY: no element has more than 16 bytes or is more aligned.
            unsafe { bytes.0.as_mut_ptr().cast::<T>().write(T::from_number(number(value))) };
            Ok(bytes)
        })
    }

    /// The address of the element, which is not to be written.
    fn start(&self) -> NonNull<u8> {
        NonNull::from(&self.0).cast()
    }
}

static ONE: Geometry = Geometry::ONE;

/// The inputs of a loop, and the dtype as which each is seen.
#[derive(Clone, Copy)]
struct Inputs<'a, const N: usize> {
    sources: &'a [Source<'a>; N],
    wanted: &'a [DType; N],
}

impl<'a, const N: usize> Inputs<'a, N> {
    /// Each beside its dtype.
    #[inline]
    fn iter(self) -> impl Iterator<Item = (&'a Source<'a>, DType)> {
        self.sources.iter().zip(self.wanted.iter().copied())
    }

    /// The bytes of elements of each operand.
    fn sizes(self, out: &Array) -> [usize; 4] {
        let mut sizes = [out.dtype().size_in_bytes(), 0, 0, 0];
        for (size, wanted) in sizes[1..].iter_mut().zip(self.wanted) {
            *size = wanted.size_in_bytes();
        }
        sizes
    }

    /// The guard of an input's storage, unless there is none.
    #[inline(always)]
    fn reader(self, k: usize, me: Thread) -> Result<Option<ReadGuard<'a>>> {
        match self.sources.get(k) {
            Some(Source::Array(array)) => array.storage().read_by(me).map(Some),
            _ => Ok(None),
        }
    }
}

/// Lets `work` run over `out` and the inputs.
///
/// # Safety
///
/// `Work::Call` is a kernel for these dtypes.
unsafe fn run<const N: usize>(
    (out, computed): (&Array, DType),
    inputs: Inputs<'_, N>,
    work: Work<'_>,
) -> Result<()> {
    let out = Distinct::new(out)?;
    match Way::for_operands(out.array(), computed, inputs) {
        // SAFETY: the caller's promise; the operands are as `Way::for_operands` found.
        Way::Apart => unsafe { run_apart(out, inputs, work) },
        // SAFETY: the caller's promise; that there are few elements, `Way::for_operands` found.
        Way::Few => unsafe { run_few(out, inputs, work) },
        // SAFETY: passed on.
        Way::Any => unsafe { run_any((out, computed), inputs, work) },
    }
}

/// Which loop serves operands. The first two take row-major ones, of one shape and the kernel's dtypes.
pub enum Way {
    /// All are arrays, and none lies in the output's storage.
    Apart,
    /// Some input is a number, or lies in the output's storage; there are not more than `FEW` elements.
    Few,
    /// Other operands, or more elements.
    Any,
}

/// Elements that go to a block of their own beside the general way.
const FEW: usize = 64;

/// A block for each operand of a small loop.
#[repr(align(64))]
struct FewBlocks([[MaybeUninit<u8>; 16 * FEW]; 4]);

impl Way {
    #[inline]
    fn for_operands<const N: usize>(out: &Array, computed: DType, inputs: Inputs<'_, N>) -> Self {
        let geometry = out.geometry();
        if out.dtype() != computed || !geometry.is_contiguous() {
            return Self::Any;
        }
        let mut way = Self::Apart;
        for (source, wanted) in inputs.iter() {
            match source {
                Source::Array(array) => {
                    let input = array.geometry();
                    let fits =
                        array.dtype() == wanted && input.is_contiguous() && input.has_sizes_of(geometry);
                    if !fits {
                        return Self::Any;
                    }
                    if array.storage().is_same(out.storage()) {
                        way = Self::Few;
                    }
                }
                Source::Number(_) => way = Self::Few,
            }
        }
        match way {
            Self::Few if geometry.numel() as usize > FEW => Self::Any,
            way => way,
        }
    }
}

/// Guards of the inputs' storages, apart from the output's.
type Readers<'a, const N: usize> = [Option<ReadGuard<'a>>; N];

/// # Safety
///
/// As [`run`], for operands that are [`Way::Apart`].
#[inline]
unsafe fn run_apart<const N: usize>(out: Distinct<'_>, inputs: Inputs<'_, N>, work: Work<'_>) -> Result<()> {
    let me = Storage::me();
    let writer = out.array().storage().write_by(me)?;
    let target = Target::shared(&writer, out, Overlap::Apart);
    // There are no more than three. Not in a loop: an assignment drops what was there before, and so looks at it.
    const { assert!(N <= 3) };
    let readers = [inputs.reader(0, me)?, inputs.reader(1, me)?, inputs.reader(2, me)?];
    let mut starts = [std::ptr::null_mut(); 4];
    starts[0] = target.span().first();
    for (k, source) in inputs.sources.iter().enumerate() {
        if let (Some(reader), Source::Array(array)) = (&readers[k], source) {
            starts[k + 1] = Span::read(reader, array).first();
        }
    }
    // SAFETY:
    // - the spans are those of row-major arrays, of one shape and the kernel's dtypes: `Way::for_operands` has compared. Their
    //   guards live until the end of this function.
    // - no input lies in the output's storage, as `Way::Apart` says, and the output is a `Target`.
    // - the caller's promise is the kernel's.
    unsafe {
        walk::flat(starts, work, out.array().geometry().numel() as usize, || inputs.sizes(out.array()))
    };
    // SAFETY: every element was visited.
    unsafe { target.complete() };
    Ok(())
}

/// # Safety
///
/// As [`run`], for operands that are [`Way::Few`].
#[inline(never)]
unsafe fn run_few<const N: usize>(out: Distinct<'_>, inputs: Inputs<'_, N>, work: Work<'_>) -> Result<()> {
    let array = out.array();
    let n = array.geometry().numel() as usize;
    let me = Storage::me();
    let writer = array.storage().write_by(me)?;
    let mut blocks = FewBlocks([const { [const { MaybeUninit::uninit() }; 16 * FEW] }; 4]);
    let (mut overlap, mut in_place) = (Overlap::Apart, false);
    let mut readers: Readers<'_, N> = [const { None }; N];
    let mut starts = [std::ptr::null_mut(); 4];
    let sizes = inputs.sizes(array);
    for (k, (source, wanted)) in inputs.iter().enumerate() {
        starts[k + 1] = match source {
            Source::Array(input) if input.storage().is_same(array.storage()) => {
                overlap = access::overlap(array, input, Aliasing::InPlace)?;
                in_place |= overlap != Overlap::Apart;
                Span::beside(&writer, input).first()
            }
            Source::Array(input) => {
                Span::read(readers[k].insert(input.storage().read_by(me)?), input).first()
            }
            Source::Number(value) => {
                let block = blocks.0[k + 1].as_mut_ptr().cast::<u8>();
                let constant = Constant::new(**value, wanted)?;
                // SAFETY: a block has room for `FEW` elements of any dtype, and `Way::for_operands` has counted; the constant is
                // one element of the dtype.
                unsafe { strided::gather(block, constant.start().as_ptr(), 0, n, sizes[k + 1]) };
                block
            }
        };
    }
    let target = Target::shared(&writer, out, overlap);
    let to = target.span().first();
    starts[0] = if in_place { blocks.0[0].as_mut_ptr().cast() } else { to };
    // SAFETY:
    // - the spans are those of row-major arrays, of one shape and the kernel's dtypes: `Way::for_operands` has compared. Their
    //   guards live until the end of this function; blocks hold as many elements of numbers.
    // - a block stands for an output that is read, so that what is written is apart from what is read.
    // - the caller's promise is the kernel's.
    unsafe { walk::flat(starts, work, n, || sizes) };
    if in_place {
        // SAFETY: the block has as many elements as the output, of its dtype; reading is over.
        unsafe { std::ptr::copy_nonoverlapping(starts[0], to, n * sizes[0]) };
    }
    // SAFETY: every element was visited.
    unsafe { target.complete() };
    Ok(())
}

/// Runs a loop over operands of any kind.
///
/// # Safety
///
/// As [`run`].
#[inline(never)]
unsafe fn run_any<const N: usize>(
    (out, computed): (Distinct<'_>, DType),
    inputs: Inputs<'_, N>,
    work: Work<'_>,
) -> Result<()> {
    let array = out.array();
    let mut overlap = Overlap::Apart;
    for source in inputs.sources {
        if let Source::Array(input) = source
            && input.storage().is_same(array.storage())
        {
            overlap = overlap.max(access::overlap(array, input, Aliasing::InPlace)?);
        }
    }
    let writer = array.storage().write()?;
    let mut readers: Readers<'_, N> = [const { None }; N];
    let mut constants = [Constant([MaybeUninit::uninit(); 16]); N];
    for (k, (source, wanted)) in inputs.iter().enumerate() {
        match source {
            Source::Number(value) => constants[k] = Constant::new(**value, wanted)?,
            // A storage that is read already needs no second guard.
            Source::Array(input) => {
                let known = reader_of(&readers, input).is_some() || input.storage().is_same(array.storage());
                if !known {
                    readers[k] = Some(input.storage().read()?);
                }
            }
        }
    }
    let target = Target::shared(&writer, out, overlap);
    let mut operands = [Operand { span: target.span(), wanted: computed }; 4];
    for (k, (source, wanted)) in inputs.iter().enumerate() {
        let span = match source {
            Source::Number(_) => Span::number(&constants[k], wanted),
            Source::Array(input) => match reader_of(&readers, input) {
                Some(reader) => Span::read(reader, input),
                None => Span::beside(&writer, input),
            },
        };
        operands[k + 1] = Operand { span, wanted };
    }
    // SAFETY:
    // - the output is the span of a `Target`, and `overlap` says how inputs lie to it: all of them were asked above.
    // - the caller's promise is the kernel's.
    unsafe { walk::walk(&operands[..=N], work, overlap)? };
    // SAFETY: every element was visited.
    unsafe { target.complete() };
    Ok(())
}

/// The guard of an input's storage.
fn reader_of<'r, 'a>(readers: &'r [Option<ReadGuard<'a>>], input: &Array) -> Option<&'r ReadGuard<'a>> {
    readers.iter().flatten().find(|reader| reader.storage().is_same(input.storage()))
}

/// Sets every element of `out` to `value`, converted.
///
/// # Errors
///
/// As [`map1`].
pub fn fill(out: &Array, value: Scalar) -> Result<()> {
    copy(out, Source::Number(&value))
}

/// Writes the elements of `input`, converted and stretched to the shape of `out`.
///
/// # Errors
///
/// As [`map1`].
pub fn copy(out: &Array, input: Source<'_>) -> Result<()> {
    // SAFETY: there is no kernel.
    unsafe { run((out, out.dtype()), Inputs { sources: &[input], wanted: &[out.dtype()] }, Work::Copy) }
}

/// Writes `f` of every element of `a`, converted to `A` and stretched to the shape of `out`.
///
/// # Errors
///
/// An input that does not broadcast to `out`, overlap in part, an output that repeats elements, tensors without data
/// or used by others.
pub fn map1<O: Element, A: Element>(
    out: &Array,
    a: Source<'_>,
    f: impl Function<(A::Math,), Output = O::Math>,
) -> Result<()> {
    let kernel = typed::kernel::<_, (O, A)>(f);
    let inputs = Inputs { sources: &[a], wanted: const { &[A::DTYPE] } };
    // SAFETY: the kernel's dtypes are named in the order of its inputs.
    unsafe { run((out, O::DTYPE), inputs, Work::Call(&kernel)) }
}

/// Writes `f` of every element of a slice to another one of the same length.
///
/// # Panics
///
/// The lengths differ.
pub fn map1_slice<O: Element, A: Element>(
    out: &mut [O],
    a: &[A],
    f: impl Function<(A::Math,), Output = O::Math>,
) {
    assert!(out.len() == a.len(), "{} places for {} elements", out.len(), a.len());
    let kernel = typed::kernel::<_, (O, A)>(f);
    let inputs = [a.as_ptr().cast(), std::ptr::null(), std::ptr::null()];
    // SAFETY: the slices have as many elements, of the kernel's dtypes; `out` is borrowed mutably, and so apart from `a`.
    unsafe { kernel.run(&Rows::one(out.as_mut_ptr().cast(), inputs, a.len())) };
}

/// Writes the square root of every element of `a`, computed as a single-precision number.
///
/// # Errors
///
/// As [`map1`].
pub fn square_roots(out: &Array, a: Source<'_>) -> Result<()> {
    let inputs = Inputs { sources: &[a], wanted: &[DType::F32] };
    // SAFETY: the block's dtypes are named in the order of its inputs.
    unsafe { run((out, DType::F32), inputs, Work::Call(&roots::SquareRoots)) }
}

/// Writes `f` of every pair of elements of `a` and `b`.
///
/// # Errors
///
/// As [`map1`].
pub fn map2<O: Element, A: Element, B: Element>(
    out: &Array,
    sources: &[Source<'_>; 2],
    f: impl Function<(A::Math, B::Math), Output = O::Math>,
) -> Result<()> {
    let kernel = typed::kernel::<_, (O, A, B)>(f);
    let inputs = Inputs { sources, wanted: const { &[A::DTYPE, B::DTYPE] } };
    // SAFETY: the kernel's dtypes are named in the order of its inputs.
    unsafe { run((out, O::DTYPE), inputs, Work::Call(&kernel)) }
}

/// Writes `f` of every three elements of `a`, `b` and `c`.
///
/// # Errors
///
/// As [`map1`].
pub fn map3<O: Element, A: Element, B: Element, C: Element>(
    out: &Array,
    sources: &[Source<'_>; 3],
    f: impl Function<(A::Math, B::Math, C::Math), Output = O::Math>,
) -> Result<()> {
    let kernel = typed::kernel::<_, (O, A, B, C)>(f);
    let inputs = Inputs { sources, wanted: const { &[A::DTYPE, B::DTYPE, C::DTYPE] } };
    // SAFETY: the kernel's dtypes are named in the order of its inputs.
    unsafe { run((out, O::DTYPE), inputs, Work::Call(&kernel)) }
}

/// Reduces `input` over `dims`, which are in ascending order, to `out`.
///
/// # Errors
///
/// Another dtype of `out` than the reduction gives, sizes or dimensions that do not fit, overlap, tensors without data or used by others.
pub fn fold(out: &Array, input: &Array, dims: &[usize], reduction: &dyn fold::Folding) -> Result<()> {
    out.expect_dtype(reduction.out())?;
    let ascending = dims.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascending || !is_reduced(out.sizes(), input.sizes(), dims) {
        let kept = (0..input.sizes().len()).filter(|dim| !dims.contains(dim));
        let expected: Vec<i64> = kept.map(|dim| input.sizes()[dim]).collect();
        let message = format!("the output has shape {:?}, expected {expected:?}", out.sizes());
        return Err(argument(message));
    }
    let distinct = Distinct::new(out)?;
    access::check(out, input, Aliasing::Never)?;
    let writer = out.storage().write()?;
    let beside = input.storage().is_same(out.storage());
    let target = Target::shared(&writer, distinct, if beside { Overlap::Unknown } else { Overlap::Apart });
    let reader = if beside { None } else { Some(input.storage().read()?) };
    let source = match &reader {
        Some(reader) => Span::read(reader, input),
        None => Span::beside(&writer, input),
    };
    // SAFETY:
    // - `target` is a `Target`, for results as `expect_dtype` says; `check` says that source and target are apart.
    // - `is_reduced` has compared the sizes.
    unsafe { fold::fold(reduction, source, target.span(), dims)? };
    // SAFETY: every result was written.
    unsafe { target.complete() };
    Ok(())
}

/// Whether an output has the sizes of the input without the reduced ones, or with 1 in their place.
fn is_reduced(out: &[i64], input: &[i64], reduced: &[usize]) -> bool {
    let keeps = out.len() == input.len();
    let mut rest = out.iter();
    let all = input.iter().enumerate().all(|(dim, size)| {
        if reduced.contains(&dim) { !keeps || rest.next() == Some(&1) } else { rest.next() == Some(size) }
    });
    all && rest.next().is_none() && reduced.last().is_none_or(|last| *last < input.len())
}

/// `n` places with any content.
///
/// # Safety
///
/// As `slice::from_raw_parts_mut`, but the elements may be uninitialised.
unsafe fn places<'a, T>(start: *mut T, n: usize) -> &'a mut [MaybeUninit<T>] {
    // SAFETY:
    // - the caller's promise; a `MaybeUninit` needs no initialised bytes.
    unsafe { slice::from_raw_parts_mut(start.cast(), n) }
}
