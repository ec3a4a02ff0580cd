//! Reads and writes the elements of arrays: everything between safe closures and memory.
//!
//! [`map1`], [`map2`] and [`map3`] borrow arrays and let a kernel run over their elements: `typed` makes the kernel of a closure, `walk`
//! hands blocks to it. [`Input`] and [`Output`] are strided operands for other loops, which get slices of them.
#![allow(unsafe_code)]

mod cast;
pub(super) mod fold;
pub(crate) mod parallel;
mod plan;
pub(crate) mod produce;
mod strided;
mod typed;
pub(super) mod walk;

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use opgrid_core::{DType, Result, Scalar};

use self::walk::{Operand, Overlap, Work};
use super::access::{self, Aliasing};
use super::arithmetic::number;
use crate::error::argument;
use crate::tensor::{Array, Element, Geometry, ReadGuard, WriteGuard};
use crate::with_dtype;

/// An operand that is read.
///
/// Invariant: every position of `geometry`, counted from `start`, is an initialised `T` while `'a` lasts, and nobody
/// writes it but an [`Output`] made together with this operand.
#[derive(Clone, Copy)]
pub struct Input<'a, T> {
    start: NonNull<T>,
    geometry: &'a Geometry,
    memory: PhantomData<&'a T>,
}

/// An operand that is written.
///
/// Invariant: every position of `geometry`, counted from `start`, is a place for a `T` that nobody uses while `'a`
/// lasts, but [`Input`]s made together with this operand. With an unwritten `guard`, `geometry` covers its storage.
pub struct Output<'a, T> {
    start: NonNull<T>,
    geometry: &'a Geometry,
    guard: Option<&'a WriteGuard<'a>>,
    memory: PhantomData<&'a mut T>,
}

impl<'a, T: Element> Input<'a, T> {
    /// The elements of a slice that `geometry` addresses.
    ///
    /// # Errors
    ///
    /// A geometry that leads beyond the slice.
    pub fn new(elements: &'a [T], geometry: &'a Geometry) -> Result<Self> {
        check_end(geometry, elements.len())?;
        let start = NonNull::from(elements).cast();
        Ok(Self { start, geometry, memory: PhantomData })
    }

    /// The address of the first element.
    pub(super) fn first(&self) -> *const T {
        self.start.as_ptr().wrapping_add(self.geometry.offset() as usize)
    }

    /// Sizes and strides.
    pub(super) fn geometry(&self) -> &'a Geometry {
        self.geometry
    }

    /// The elements of a storage that `geometry` addresses.
    pub(super) fn of(guard: &'a ReadGuard<'_>, geometry: &'a Geometry) -> Result<Self> {
        Self::new(guard.slice()?, geometry)
    }

    /// The same in a storage that is being written: for loops that handle an input beside their output.
    pub(super) fn beside(guard: &'a WriteGuard<'_>, geometry: &'a Geometry) -> Result<Self> {
        guard.clear_unwritten();
        let start = typed_start(guard, geometry)?;
        Ok(Self { start, geometry, memory: PhantomData })
    }
}

impl<'a, T: Element> Output<'a, T> {
    /// The elements of a slice that `geometry` addresses.
    ///
    /// # Errors
    ///
    /// A geometry that leads beyond the slice.
    pub fn new(elements: &'a mut [T], geometry: &'a Geometry) -> Result<Self> {
        check_end(geometry, elements.len())?;
        let start = NonNull::from(elements).cast();
        Ok(Self { start, geometry, guard: None, memory: PhantomData })
    }

    /// The elements of a storage that `geometry` addresses.
    pub(super) fn of(guard: &'a WriteGuard<'_>, geometry: &'a Geometry) -> Result<Self> {
        let bytes = (geometry.numel() as usize).checked_mul(size_of::<T>());
        let whole = geometry.offset() == 0 && geometry.is_dense() && bytes == Some(guard.storage().bytes());
        if !whole {
            guard.clear_unwritten();
        }
        let start = typed_start(guard, geometry)?;
        Ok(Self { start, geometry, guard: Some(guard), memory: PhantomData })
    }

    /// The address of the first element.
    pub(super) fn first(&self) -> *mut T {
        self.start.as_ptr().wrapping_add(self.geometry.offset() as usize)
    }

    /// Sizes and strides.
    pub(super) fn geometry(&self) -> &'a Geometry {
        self.geometry
    }

    /// Notes that every element was written.
    ///
    /// # Safety
    ///
    /// The caller has written every one.
    pub(super) unsafe fn complete(&self) {
        if let Some(guard) = self.guard.filter(|guard| !guard.is_written()) {
            // SAFETY:
            // - by the invariant, an unwritten storage is covered by `geometry`, and the caller has written every
            //   position of it.
            unsafe { guard.assume_written() };
        }
    }
}

/// An input of an element-wise loop.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// An array, of any dtype: its elements are converted on the way.
    Array(&'a Array),
    /// One number for all elements.
    Number(Scalar),
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
        with_dtype!(dtype, T => {
            // SAFETY: no element has more than 16 bytes or is more aligned.
            unsafe { bytes.0.as_mut_ptr().cast::<T>().write(T::from_number(number(value))) };
            Ok(bytes)
        })
    }
}

static ONE: Geometry = Geometry::ONE;

/// Lets `work` run over `out` and the inputs, each seen as the dtype beside it.
///
/// # Safety
///
/// `Work::Call` is a kernel for these dtypes.
unsafe fn run<const N: usize>(
    (out, computed): (&Array, DType),
    inputs: [(Source<'_>, DType); N],
    work: Work<'_>,
) -> Result<()> {
    access::check_written(out.geometry())?;
    match Plain::of(out, computed, &inputs) {
        // SAFETY: the caller's promise; the operands are plain.
        Plain::Apart => unsafe { run_apart(out, &inputs, work) },
        // SAFETY: as above.
        Plain::Few => unsafe { run_few(out, &inputs, work) },
        // SAFETY: passed on.
        Plain::No => unsafe { run_any((out, computed), inputs, work) },
    }
}

/// Whether operands are plain: row-major, of one shape and the kernel's dtypes.
enum Plain {
    /// All are arrays, and none lies in the output's storage.
    Apart,
    /// Some input is a number, or lies in the output's storage; there are not more than [`FEW`] elements.
    Few,
    No,
}

/// Elements that go to a block of their own beside the general way.
const FEW: usize = 64;

/// A block for each operand of a small loop.
#[repr(align(64))]
struct FewBlocks([[MaybeUninit<u8>; 16 * FEW]; 4]);

impl Plain {
    #[inline]
    fn of<const N: usize>(out: &Array, computed: DType, inputs: &[(Source<'_>, DType); N]) -> Self {
        let geometry = out.geometry();
        if out.dtype() != computed || !geometry.is_contiguous() {
            return Self::No;
        }
        let mut plain = Self::Apart;
        for (source, wanted) in inputs {
            match source {
                Source::Array(array) => {
                    let input = array.geometry();
                    let fits =
                        array.dtype() == *wanted && input.is_contiguous() && input.has_sizes_of(geometry);
                    if !fits {
                        return Self::No;
                    }
                    if array.storage().is_same(out.storage()) {
                        plain = Self::Few;
                    }
                }
                Source::Number(_) => plain = Self::Few,
            }
        }
        match plain {
            Self::Few if geometry.numel() as usize > FEW => Self::No,
            plain => plain,
        }
    }
}

/// # Safety
///
/// As [`run`], for operands that are [`Plain::Apart`].
#[inline]
unsafe fn run_apart<const N: usize>(
    out: &Array,
    inputs: &[(Source<'_>, DType); N],
    work: Work<'_>,
) -> Result<()> {
    let writer = out.storage().write()?;
    let mut starts = [std::ptr::null_mut(); 4];
    let mut sizes = [out.dtype().size_in_bytes(), 0, 0, 0];
    starts[0] = output_start(&writer, out, Overlap::Apart)?;
    let mut readers = [const { None }; N];
    let mut before: Option<&Array> = None;
    for (k, (source, wanted)) in inputs.iter().enumerate() {
        let Source::Array(array) = source else { continue };
        sizes[k + 1] = wanted.size_in_bytes();
        let start = match before.filter(|before| before.storage().is_same(array.storage())) {
            // The storage is being read already.
            Some(before) => starts[k].wrapping_sub(before.geometry().offset() as usize * sizes[k]),
            None => readers[k].insert(array.storage().read()?).start().as_ptr(),
        };
        starts[k + 1] = first_element(start, array)?;
        before = Some(array);
    }
    // SAFETY:
    // - as in `run_any`; no input shares the output's storage.
    // - all operands are row-major, of one shape and the kernel's dtypes.
    unsafe { walk::flat(starts, sizes, work, out.geometry().numel() as usize) };
    if !writer.is_written() {
        // SAFETY: `output_start` left memory unwritten only where the output is all of it.
        unsafe { writer.assume_written() };
    }
    Ok(())
}

/// # Safety
///
/// As [`run`], for operands that are [`Plain::Few`].
#[inline(never)]
unsafe fn run_few<const N: usize>(
    out: &Array,
    inputs: &[(Source<'_>, DType); N],
    work: Work<'_>,
) -> Result<()> {
    let n = out.geometry().numel() as usize;
    let writer = out.storage().write()?;
    let mut blocks = FewBlocks([const { [const { MaybeUninit::uninit() }; 16 * FEW] }; 4]);
    let (mut overlap, mut in_place) = (Overlap::Apart, false);
    let mut readers = [const { None }; N];
    let mut starts = [std::ptr::null_mut(); 4];
    let mut sizes = [0; 4];
    for (k, (source, wanted)) in inputs.iter().enumerate() {
        sizes[k + 1] = wanted.size_in_bytes();
        starts[k + 1] = match source {
            Source::Array(array) if array.storage().is_same(out.storage()) => {
                overlap = access::overlap(out, array, Aliasing::InPlace)?;
                in_place |= overlap != Overlap::Apart;
                writer.clear_unwritten();
                first_element(writer.start().as_ptr(), array)?
            }
            Source::Array(array) => {
                let start = match inputs[..k].first() {
                    // The storage is being read already.
                    Some((Source::Array(first), _))
                        if readers[0].is_some() && first.storage().is_same(array.storage()) =>
                    {
                        readers[0].as_ref().map_or(writer.start(), ReadGuard::start)
                    }
                    _ => readers[k].insert(array.storage().read()?).start(),
                };
                first_element(start.as_ptr(), array)?
            }
            Source::Number(value) => {
                let block = blocks.0[k + 1].as_mut_ptr().cast::<u8>();
                let mut constant = Constant::new(*value, *wanted)?;
                // SAFETY: a block has room for as many elements of any dtype.
                unsafe { strided::gather(block, constant.0.as_mut_ptr().cast(), 0, n, sizes[k + 1]) };
                block
            }
        };
    }
    let to = output_start(&writer, out, overlap)?;
    sizes[0] = out.dtype().size_in_bytes();
    starts[0] = if in_place { blocks.0[0].as_mut_ptr().cast() } else { to };
    // SAFETY:
    // - as in `run_any`; a block stands for an output that is read.
    // - all operands are row-major, of one shape and the kernel's dtypes.
    unsafe { walk::flat(starts, sizes, work, n) };
    if in_place {
        // SAFETY: the block has as many elements as the output, of its dtype; reading is over.
        unsafe { std::ptr::copy_nonoverlapping(starts[0], to, n * sizes[0]) };
    }
    if !writer.is_written() {
        // SAFETY: `output_start` left memory unwritten only where the output is all of it.
        unsafe { writer.assume_written() };
    }
    Ok(())
}

/// The same for operands of any kind.
///
/// # Safety
///
/// As [`run`].
#[inline(never)]
unsafe fn run_any<const N: usize>(
    (out, computed): (&Array, DType),
    inputs: [(Source<'_>, DType); N],
    work: Work<'_>,
) -> Result<()> {
    let mut overlap = Overlap::Apart;
    for (source, _) in &inputs {
        if let Source::Array(array) = source
            && array.storage().is_same(out.storage())
        {
            overlap = overlap.max(access::overlap(out, array, Aliasing::InPlace)?);
        }
    }
    let writer = out.storage().write()?;
    let mut readers = [const { None }; N];
    let mut constants = [Constant([MaybeUninit::uninit(); 16]); N];
    let nothing = Operand { start: std::ptr::null_mut(), geometry: &ONE, dtype: computed, wanted: computed };
    let mut operands = [nothing; 4];
    operands[0] = Operand {
        start: output_start(&writer, out, overlap)?,
        geometry: out.geometry(),
        dtype: out.dtype(),
        ..nothing
    };
    for (k, (source, wanted)) in inputs.into_iter().enumerate() {
        operands[k + 1] = match source {
            Source::Array(array) => {
                let start = if array.storage().is_same(out.storage()) {
                    writer.start()
                } else {
                    // A storage that is read already needs no second guard.
                    let known = inputs[..k].iter().zip(&readers).find_map(|((other, _), reader)| {
                        match (other, reader) {
                            (Source::Array(other), Some(reader))
                                if other.storage().is_same(array.storage()) =>
                            {
                                Some(ReadGuard::start(reader))
                            }
                            _ => None,
                        }
                    });
                    match known {
                        Some(start) => start,
                        None => readers[k].insert(array.storage().read()?).start(),
                    }
                };
                Operand {
                    start: first_element(start.as_ptr(), array)?,
                    geometry: array.geometry(),
                    dtype: array.dtype(),
                    wanted,
                }
            }
            Source::Number(value) => {
                constants[k] = Constant::new(value, wanted)?;
                Operand { start: constants[k].0.as_mut_ptr().cast(), geometry: &ONE, dtype: wanted, wanted }
            }
        };
    }
    // SAFETY:
    // - arrays address elements of their storages only, and those are aligned: `first_element` has looked. Inputs are
    //   initialised: `read` and `output_start` make sure.
    // - the guards say that nobody else writes inputs or uses the output; constants are this function's own.
    // - `check_written` says that no element of the output is repeated, and `overlap` how inputs lie to it.
    // - the caller's promise is the kernel's.
    unsafe { walk::walk(&operands[..=N], work, overlap)? };
    if !writer.is_written() {
        // SAFETY: `output_start` left memory unwritten only where the output is all of it, and every element was
        // visited.
        unsafe { writer.assume_written() };
    }
    Ok(())
}

/// The first element of the output; memory that was never written is cleared unless all of it will be written.
#[inline(always)]
fn output_start(writer: &WriteGuard<'_>, out: &Array, overlap: Overlap) -> Result<*mut u8> {
    if !writer.is_written() {
        let geometry = out.geometry();
        let bytes = (geometry.numel() as usize).checked_mul(out.dtype().size_in_bytes());
        let whole = geometry.offset() == 0 && geometry.is_dense() && bytes == Some(writer.storage().bytes());
        if !whole || overlap != Overlap::Apart {
            writer.clear_unwritten();
        }
    }
    first_element(writer.start().as_ptr(), out)
}

/// The address of the first element of an array whose storage begins at `start`.
#[inline]
fn first_element(start: *mut u8, array: &Array) -> Result<*mut u8> {
    let dtype = array.dtype();
    let size = dtype.size_in_bytes();
    let alignment = if dtype.is_complex() { size / 2 } else { size };
    if start.addr() & (alignment - 1) != 0 {
        return Err(argument(format!("memory is not aligned for {dtype}; copy it first")));
    }
    Ok(start.wrapping_add(array.geometry().offset() as usize * size))
}

/// Sets every element of `out` to `value`, converted.
///
/// # Errors
///
/// As [`map1`].
pub fn fill(out: &Array, value: Scalar) -> Result<()> {
    copy(out, Source::Number(value))
}

/// Writes the elements of `input`, converted and stretched to the shape of `out`.
///
/// # Errors
///
/// As [`map1`].
pub fn copy(out: &Array, input: Source<'_>) -> Result<()> {
    // SAFETY: there is no kernel.
    unsafe { run((out, out.dtype()), [(input, out.dtype())], Work::Copy) }
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
    f: impl Fn(A::Math) -> O::Math + Copy + Sync,
) -> Result<()> {
    let kernel = typed::unary::<O, A>(f);
    // SAFETY: the kernel's dtypes are named in the order of its inputs.
    unsafe { run((out, O::DTYPE), [(a, A::DTYPE)], Work::Call(&kernel)) }
}

/// Writes `f` of every pair of elements of `a` and `b`.
///
/// # Errors
///
/// As [`map1`].
pub fn map2<O: Element, A: Element, B: Element>(
    out: &Array,
    [a, b]: [Source<'_>; 2],
    f: impl Fn(A::Math, B::Math) -> O::Math + Copy + Sync,
) -> Result<()> {
    let kernel = typed::binary::<O, A, B>(f);
    // SAFETY: the kernel's dtypes are named in the order of its inputs.
    unsafe { run((out, O::DTYPE), [(a, A::DTYPE), (b, B::DTYPE)], Work::Call(&kernel)) }
}

/// Writes `f` of every three elements of `a`, `b` and `c`.
///
/// # Errors
///
/// As [`map1`].
pub fn map3<O: Element, A: Element, B: Element, C: Element>(
    out: &Array,
    [a, b, c]: [Source<'_>; 3],
    f: impl Fn(A::Math, B::Math, C::Math) -> O::Math + Copy + Sync,
) -> Result<()> {
    let kernel = typed::ternary::<O, A, B, C>(f);
    // SAFETY: the kernel's dtypes are named in the order of its inputs.
    unsafe { run((out, O::DTYPE), [(a, A::DTYPE), (b, B::DTYPE), (c, C::DTYPE)], Work::Call(&kernel)) }
}

/// Reduces `input` over `dims`, which are in ascending order, to `out`.
///
/// # Errors
///
/// Another dtype of `out` than the reduction gives, overlap, tensors without data or used by others.
pub(super) fn fold<R: fold::Reduction>(
    out: &Array,
    input: &Array,
    dims: &[usize],
    reduction: &R,
) -> Result<()> {
    out.expect_dtype(R::Out::DTYPE)?;
    access::check_written(out.geometry())?;
    access::check(out, input, Aliasing::Never)?;
    let writer = out.storage().write()?;
    let beside = input.storage().is_same(out.storage());
    let target = output_start(&writer, out, if beside { Overlap::Unknown } else { Overlap::Apart })?;
    let reader = if beside { None } else { Some(input.storage().read()?) };
    let start = first_element(reader.as_ref().map_or(writer.start(), ReadGuard::start).as_ptr(), input)?;
    let source = fold::Source { start, dtype: input.dtype(), geometry: input.geometry() };
    let target = fold::Target { start: target, geometry: out.geometry() };
    // SAFETY:
    // - arrays address elements of their storages only, and those are aligned: `first_element` has looked. The input is
    //   initialised: `read` or `output_start` made sure.
    // - the guards say that nobody else writes the input or uses the output; `check` says that they are apart.
    unsafe { fold::fold(reduction, source, target, dims)? };
    if !writer.is_written() {
        // SAFETY: `output_start` left memory unwritten only where the output is all of it, and every result was
        // written.
        unsafe { writer.assume_written() };
    }
    Ok(())
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

fn check_end(geometry: &Geometry, available: usize) -> Result<()> {
    if geometry.end() as usize > available {
        let message = format!("{geometry:?} leads beyond the {available} elements of the memory");
        return Err(argument(message));
    }
    Ok(())
}

/// The start of a storage that is being written, if it holds `geometry`.
fn typed_start<T: Element>(guard: &WriteGuard<'_>, geometry: &Geometry) -> Result<NonNull<T>> {
    check_end(geometry, guard.storage().bytes() / size_of::<T>())?;
    let start = guard.start().cast::<T>();
    if !start.is_aligned() {
        let message = format!("memory is not aligned for {}; copy it first", T::DTYPE);
        return Err(argument(message));
    }
    Ok(start)
}
