//! Runs a closure over the elements of an output and up to two inputs.
//!
//! [`Input`] and [`Output`] are strided operands that may share memory; only this file reads and writes through
//! them, one run at a time. Each run compares the addresses it touches: apart, it works on slices, which the compiler
//! turns into vector code; in place, on one slice; tangled, element by element.
#![allow(unsafe_code)]

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use num_complex::Complex;
use opgrid_core::Result;
use smallvec::SmallVec;

use super::arithmetic::Arithmetic;
use super::plan::Plan;
use crate::error::argument;
use crate::tensor::{Element, Geometry, ReadGuard, WriteGuard};

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

/// Elements from the first one of a strided input on.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a, T> {
    /// From the first element to the last one.
    pub elements: &'a [T],
    /// Sizes and strides; the offset is already taken.
    pub geometry: &'a Geometry,
}

/// Elements from the first one of a strided output on.
#[derive(Debug)]
pub(super) struct ViewMut<'a, T> {
    /// From the first element to the last one.
    pub elements: &'a mut [T],
    /// Sizes and strides; the offset is already taken.
    pub geometry: &'a Geometry,
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

    /// This output and `inputs` as slices.
    ///
    /// # Errors
    ///
    /// An input between whose first and last element this output has one, or the reverse.
    pub(super) fn apart_from<A: Element, const N: usize>(
        self,
        inputs: SmallVec<[Input<'a, A>; 2]>,
    ) -> Result<(ViewMut<'a, T>, [View<'a, A>; N])> {
        if let Some(guard) = self.guard {
            guard.clear_unwritten();
        }
        let (first, len) = span(self.start.as_ptr(), self.geometry);
        let mut views = [View { elements: &[][..], geometry: self.geometry }; N];
        for (view, input) in views.iter_mut().zip(inputs) {
            let (other, other_len) = span(input.start.as_ptr(), input.geometry);
            if !are_apart(first, len, other, other_len) {
                return Err(argument("an input lies between elements of the output; clone it first"));
            }
            // SAFETY:
            // - `Input` promises initialised elements, and its constructors that what lies between them belongs to
            //   the same initialised memory.
            // - the output is apart, and nobody else writes.
            let elements = unsafe { slice::from_raw_parts(other, other_len) };
            *view = View { elements, geometry: input.geometry };
        }
        // SAFETY:
        // - `Output` promises that nobody else uses its elements; its constructors, that what lies between them
        //   belongs to the same memory, which was initialised above; all inputs are apart.
        let elements = unsafe { slice::from_raw_parts_mut(first, len) };
        Ok((ViewMut { elements, geometry: self.geometry }, views))
    }

    /// Notes that every element was written.
    fn complete(&self) {
        if let Some(guard) = self.guard.filter(|guard| !guard.is_written()) {
            // SAFETY:
            // - by the invariant, an unwritten storage is covered by `geometry`, and the caller, a loop of this
            //   file, has visited every position.
            unsafe { guard.assume_written() };
        }
    }
}

/// Sets every element of `out` to `value`.
///
/// # Errors
///
/// None today; the plan of a loop may refuse.
pub fn fill<O: Element>(out: Output<'_, O>, value: O) -> Result<()> {
    Plan::new([out.geometry])?.walk(&mut |[at], n, [stride]| {
        // SAFETY:
        // - the plan visits positions of the geometry only, which `Output` promises to be places of its own.
        let run = unsafe { out.start.add(at) };
        if stride == 1 {
            // SAFETY:
            // - `n` positions with stride 1 are a slice; a place is a `MaybeUninit`.
            let run = unsafe { slice::from_raw_parts_mut(run.as_ptr().cast::<MaybeUninit<O>>(), n) };
            run.fill(MaybeUninit::new(value));
        } else {
            for i in 0..n {
                // SAFETY:
                // - as above, for each position of the run.
                unsafe { run.add(i * stride).write(value) };
            }
        }
    });
    out.complete();
    Ok(())
}

/// Writes `f` of every element of `a`, stretched to the shape of `out`.
///
/// # Errors
///
/// `a` does not broadcast to `out`.
pub fn map1<O: Element, A: Element>(out: Output<'_, O>, a: Input<'_, A>, f: impl Fn(A) -> O) -> Result<()> {
    Plan::new([out.geometry, a.geometry])?.walk(&mut |[to, from], n, strides| {
        // SAFETY:
        // - the plan visits positions of both geometries only; `Output` and `Input` promise what `run1` asks for.
        unsafe { run1(out.start.as_ptr().add(to), a.start.as_ptr().add(from), n, strides, &f) };
    });
    out.complete();
    Ok(())
}

/// Writes `f` of every pair of elements of `a` and `b`, stretched to the shape of `out`.
///
/// # Errors
///
/// `a` or `b` does not broadcast to `out`.
pub fn map2<O: Element, A: Element, B: Element>(
    out: Output<'_, O>,
    a: Input<'_, A>,
    b: Input<'_, B>,
    f: impl Fn(A, B) -> O,
) -> Result<()> {
    Plan::new([out.geometry, a.geometry, b.geometry])?.walk(&mut |[to, left, right], n, strides| {
        // SAFETY:
        // - the plan visits positions of the geometries only; `Output` and `Input` promise what `run2` asks for.
        unsafe {
            let (a, b) = (a.start.as_ptr().add(left), b.start.as_ptr().add(right));
            run2(out.start.as_ptr().add(to), a, b, n, strides, &f);
        }
    });
    out.complete();
    Ok(())
}

/// How the elements that a run reads lie to those that it writes.
#[derive(Clone, Copy, PartialEq)]
enum Relation {
    Apart,
    /// Element `i` is read where element `i` is written, as the same type.
    InPlace,
    Tangled,
}

fn relation<O: Element, A: Element>(
    out: *const O,
    stride: usize,
    input: *const A,
    input_stride: usize,
    n: usize,
) -> Relation {
    if are_apart(out, (n - 1) * stride + 1, input, (n - 1) * input_stride + 1) {
        Relation::Apart
    } else if out.addr() == input.addr() && stride == input_stride && TypeId::of::<O>() == TypeId::of::<A>() {
        Relation::InPlace
    } else {
        Relation::Tangled
    }
}

/// Whether `len` elements from `one` share no byte with `other_len` elements from `other`.
fn are_apart<O, A>(one: *const O, len: usize, other: *const A, other_len: usize) -> bool {
    let end = one.addr() + len * size_of::<O>();
    let other_end = other.addr() + other_len * size_of::<A>();
    end <= other.addr() || other_end <= one.addr()
}

/// One run with one input.
///
/// # Safety
///
/// `n` is above 0. For every `i` below `n`, `out + i * so` is a place for an `O` and `a + i * sa` an initialised `A`
/// in memory that nobody else uses during the call.
unsafe fn run1<O: Element, A: Element>(
    out: *mut O,
    a: *const A,
    n: usize,
    [so, sa]: [usize; 2],
    f: &impl Fn(A) -> O,
) {
    match (so, sa, relation(out, so, a, sa, n)) {
        (1, 1, Relation::Apart) => {
            // SAFETY:
            // - the caller's promise with stride 1; the ranges are apart.
            let (out, a) = unsafe { (places(out, n), slice::from_raw_parts(a, n)) };
            for (out, &a) in out.iter_mut().zip(a) {
                out.write(f(a));
            }
        }
        (1, 1, Relation::InPlace) => {
            // SAFETY:
            // - the caller's promise with stride 1; what is read is initialised, and it is what is written.
            let out = unsafe { slice::from_raw_parts_mut(out, n) };
            for out in out {
                *out = f(same::<O, A>(*out));
            }
        }
        (1, 0, Relation::Apart) => {
            // SAFETY:
            // - the caller's promise; the one element that is read is apart.
            let (out, a) = unsafe { (places(out, n), a.read()) };
            for out in out {
                out.write(f(a));
            }
        }
        _ => {
            for i in 0..n {
                // SAFETY:
                // - the caller's promise; no reference is alive.
                unsafe { out.add(i * so).write(f(a.add(i * sa).read())) };
            }
        }
    }
}

/// One run with two inputs.
///
/// # Safety
///
/// As [`run1`], for both inputs.
unsafe fn run2<O: Element, A: Element, B: Element>(
    out: *mut O,
    a: *const A,
    b: *const B,
    n: usize,
    [so, sa, sb]: [usize; 3],
    f: &impl Fn(A, B) -> O,
) {
    use Relation::{Apart, InPlace};
    let (left, right) = (relation(out, so, a, sa, n), relation(out, so, b, sb, n));
    // SAFETY of the blocks below:
    // - slices have stride 1 and lie within the caller's promise.
    // - a slice that is written is apart from every slice that is read, or it is the same slice and read through it.
    match (so, sa, sb, left, right) {
        (1, 1, 1, Apart, Apart) => {
            // SAFETY: see above.
            let (out, a, b) =
                unsafe { (places(out, n), slice::from_raw_parts(a, n), slice::from_raw_parts(b, n)) };
            for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                out.write(f(a, b));
            }
        }
        (1, 1, 0, Apart, Apart) => {
            // SAFETY: see above.
            let (out, a, b) = unsafe { (places(out, n), slice::from_raw_parts(a, n), b.read()) };
            for (out, &a) in out.iter_mut().zip(a) {
                out.write(f(a, b));
            }
        }
        (1, 0, 1, Apart, Apart) => {
            // SAFETY: see above.
            let (out, a, b) = unsafe { (places(out, n), a.read(), slice::from_raw_parts(b, n)) };
            for (out, &b) in out.iter_mut().zip(b) {
                out.write(f(a, b));
            }
        }
        (1, 1, 1, InPlace, Apart) => {
            // SAFETY: see above.
            let (out, b) = unsafe { (slice::from_raw_parts_mut(out, n), slice::from_raw_parts(b, n)) };
            for (out, &b) in out.iter_mut().zip(b) {
                *out = f(same(*out), b);
            }
        }
        (1, 1, 0, InPlace, Apart) => {
            // SAFETY: see above.
            let (out, b) = unsafe { (slice::from_raw_parts_mut(out, n), b.read()) };
            for out in out {
                *out = f(same(*out), b);
            }
        }
        (1, 1, 1, Apart, InPlace) => {
            // SAFETY: see above.
            let (out, a) = unsafe { (slice::from_raw_parts_mut(out, n), slice::from_raw_parts(a, n)) };
            for (out, &a) in out.iter_mut().zip(a) {
                *out = f(a, same(*out));
            }
        }
        (1, 1, 1, InPlace, InPlace) => {
            // SAFETY: see above.
            let out = unsafe { slice::from_raw_parts_mut(out, n) };
            for out in out {
                *out = f(same(*out), same(*out));
            }
        }
        _ => {
            for i in 0..n {
                // SAFETY:
                // - the caller's promise; no reference is alive.
                unsafe {
                    let (a, b) = (a.add(i * sa).read(), b.add(i * sb).read());
                    out.add(i * so).write(f(a, b));
                }
            }
        }
    }
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

/// The value as the type that it is: `O` and `A` are one type wherever a run is in place.
#[inline(always)]
fn same<O: Element, A: Element>(value: O) -> A {
    debug_assert_eq!(TypeId::of::<O>(), TypeId::of::<A>());
    value.cast()
}

/// The first element and the number of positions up to the last one.
fn span<T>(start: *mut T, geometry: &Geometry) -> (*mut T, usize) {
    if geometry.numel() == 0 {
        return (NonNull::dangling().as_ptr(), 0);
    }
    let offset = geometry.offset() as usize;
    (start.wrapping_add(offset), geometry.end() as usize - offset)
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

/// Matrix product of floating-point or complex matrices of any strides, on one thread.
///
/// # Errors
///
/// Shapes that do not fit; an input between whose elements the output lies.
pub fn multiply<T: Multiply>(out: Output<'_, T>, a: Input<'_, T>, b: Input<'_, T>) -> Result<()> {
    let ([m, n], [rows, k], [inner, columns]) =
        (matrix(out.geometry)?, matrix(a.geometry)?, matrix(b.geometry)?);
    if (m, n, k) != (rows, columns, inner) {
        let message = format!("a {rows}x{k} times a {inner}x{columns} matrix does not give a {m}x{n} one");
        return Err(argument(message));
    }
    if m == 0 || n == 0 || k == 0 {
        return fill(out, T::default());
    }
    let (to, to_len) = span(out.start.as_ptr(), out.geometry);
    let (left, left_len) = span(a.start.as_ptr(), a.geometry);
    let (right, right_len) = span(b.start.as_ptr(), b.geometry);
    if !are_apart(to, to_len, left, left_len) || !are_apart(to, to_len, right, right_len) {
        return Err(argument("a factor lies between elements of the product; clone it first"));
    }
    let stride = |geometry: &Geometry, dim: usize| geometry.strides()[dim] as isize;
    // SAFETY:
    // - the sizes agree, so every element that is visited is one of the operands' geometries.
    // - the product is apart from the factors and not read (`read_dst` is false), so it may be uninitialised.
    // - `Multiply` names the types that the library has kernels for.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to,
            stride(out.geometry, 1),
            stride(out.geometry, 0),
            false,
            left,
            stride(a.geometry, 1),
            stride(a.geometry, 0),
            right,
            stride(b.geometry, 1),
            stride(b.geometry, 0),
            T::default(),
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
    out.complete();
    Ok(())
}

/// The element types that [`multiply`] takes.
pub trait Multiply: Arithmetic {}

impl Multiply for f32 {}
impl Multiply for f64 {}
impl Multiply for Complex<f32> {}
impl Multiply for Complex<f64> {}

fn matrix(geometry: &Geometry) -> Result<[usize; 2]> {
    match geometry.sizes() {
        &[rows, columns] => Ok([rows as usize, columns as usize]),
        sizes => Err(argument(format!("expected a matrix, found shape {sizes:?}"))),
    }
}
