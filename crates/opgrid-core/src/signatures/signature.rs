//! Signatures: one trait over function types that everything typed derives from.
//!
//! `fn(Tensor, Option<Tensor>, i64) -> Tensor` names owned types; its kernels are functions of the borrowed forms,
//! `for<'a> fn(&'a Tensor, Option<&'a Tensor>, i64) -> Result<Tensor>` ([`Signature::Returning`]). Only this file
//! implements [`Signature`], so equal [`TypeId`]s mean an equal calling convention, which is what makes the type
//! erasure of kernels sound.
#![allow(unsafe_code)]

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

use num_complex::Complex64;
use opgrid_schema::{Argument as SchemaArgument, FunctionSchema, OperatorName, Type};

use crate::error::{Error, ErrorKind, Result};
use crate::keys::set::DispatchKeySet;
use crate::signatures::argument::Argument;
use crate::signatures::dict::Dict;
use crate::signatures::stack::Returns;
use crate::signatures::value_type::ValueType;
use crate::values::borrowed::ValueRef;
use crate::values::device::Device;
use crate::values::dtype::DType;
use crate::values::layout::{Layout, MemoryFormat};
use crate::values::scalar::{Scalar, SymInt};
use crate::values::tensor::TensorType;
use crate::values::value::{Class, Generator, Value};

/// The return of an in-place operator: the result is the first argument, and kernels return `()`.
#[derive(Clone, Copy, Debug)]
pub struct WritesFirst;

/// The return of an `out` operator: the results are the last `N` arguments, and kernels return `()`.
#[derive(Clone, Copy, Debug)]
pub struct WritesLast<const N: usize = 1>;

/// A type that can stand as the return of a [`Signature`].
///
/// Only this crate implements it; results of one's own are tensors ([`TensorType`]), objects
/// ([`Class`]), and lists, dicts and tuples of one's own [`ValueType`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the return of an operator",
    note = "returns are `()`, one value, a tuple of values, `WritesFirst` (in-place) or `WritesLast<N>` (out)"
)]
pub trait Return: sealed::Returned + 'static {
    /// What typed kernels return and typed callers get.
    type Output: 'static;
    /// How many values a boxed call leaves.
    const COUNT: usize;

    /// What makes the types of the results in schemas: data, so that what is done with it is compiled once for all signatures.
    const TYPES: &'static [fn() -> Type];

    /// Leaves the results of a typed kernel for a boxed caller.
    fn push(output: Self::Output, arguments: &[ValueRef<'_>], returns: &mut Returns);

    /// Reads the results of a boxed kernel from number `start` on for a typed caller.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where a result is of another kind.
    fn pop(returns: &mut Returns, start: usize) -> Result<Self::Output>;
}

fn take<T: ValueType>(returns: &mut Returns, index: usize) -> Result<T> {
    let taken = match returns.value_mut(index) {
        Some(place) => T::take_from(place),
        None => T::take(Value::None),
    };
    taken.map_err(|error| error.within(format_args!("return {}", index + 1)))
}

/// Returns of one value.
macro_rules! single {
    ($([$($parameters:tt)*] $type:ty;)*) => {
        $(
            impl<$($parameters)*> sealed::Returned for $type {}

            impl<$($parameters)*> Return for $type {
                type Output = Self;
                const COUNT: usize = 1;

                const TYPES: &'static [fn() -> Type] = &[<Self as ValueType>::schema_type];

                #[inline]
                fn push(output: Self, _: &[ValueRef<'_>], returns: &mut Returns) {
                    returns.push(output.into_value());
                }

                #[inline]
                fn pop(returns: &mut Returns, start: usize) -> Result<Self> {
                    take(returns, start)
                }
            }
        )*
    };
}

single! {
    [T: TensorType] T;
    [] i64;
    [] f64;
    [] bool;
    [] Complex64;
    [] String;
    [] Scalar;
    [] SymInt;
    [] DType;
    [] Layout;
    [] MemoryFormat;
    [] Device;
    [] Generator;
    [] Value;
    [T: Class] Arc<T>;
    [T: ValueType] Option<T>;
    [T: ValueType] Vec<T>;
    [T: ValueType, const N: usize] [T; N];
    [K: ValueType + PartialEq, V: ValueType] Dict<K, V>;
}

impl sealed::Returned for () {}

impl Return for () {
    type Output = ();
    const COUNT: usize = 0;

    const TYPES: &'static [fn() -> Type] = &[];

    #[inline]
    fn push((): (), _: &[ValueRef<'_>], _: &mut Returns) {}

    #[inline]
    fn pop(_: &mut Returns, _: usize) -> Result<()> {
        Ok(())
    }
}

impl sealed::Returned for WritesFirst {}

impl Return for WritesFirst {
    type Output = ();
    const COUNT: usize = 1;

    const TYPES: &'static [fn() -> Type] = &[|| Type::Tensor];

    #[inline]
    fn push((): (), arguments: &[ValueRef<'_>], returns: &mut Returns) {
        returns.push(arguments.first().map_or(Value::None, |first| first.to_value()));
    }

    #[inline]
    fn pop(_: &mut Returns, _: usize) -> Result<()> {
        Ok(())
    }
}

impl<const N: usize> sealed::Returned for WritesLast<N> {}

impl<const N: usize> Return for WritesLast<N> {
    type Output = ();
    const COUNT: usize = N;

    const TYPES: &'static [fn() -> Type] = &[tensor_type as fn() -> Type; N];

    #[inline]
    fn push((): (), arguments: &[ValueRef<'_>], returns: &mut Returns) {
        for argument in &arguments[arguments.len().saturating_sub(N)..] {
            returns.push(argument.to_value());
        }
    }

    #[inline]
    fn pop(_: &mut Returns, _: usize) -> Result<()> {
        Ok(())
    }
}

/// Returns of several values.
macro_rules! several {
    ($(($($name:ident $place:tt),+))*) => {
        $(
            impl<$($name: ValueType),+> sealed::Returned for ($($name,)+) {}

            impl<$($name: ValueType),+> Return for ($($name,)+) {
                type Output = Self;
                const COUNT: usize = [$($place),+].len();

                const TYPES: &'static [fn() -> Type] = &[$($name::schema_type),+];

                fn push(output: Self, _: &[ValueRef<'_>], returns: &mut Returns) {
                    $(returns.push(output.$place.into_value());)+
                }

                fn pop(returns: &mut Returns, start: usize) -> Result<Self> {
                    Ok(($(take::<$name>(returns, start + $place)?,)+))
                }
            }
        )*
    };
}

several! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

mod sealed {
    /// Keeps [`Signature`](super::Signature) to this crate.
    pub trait Sealed {}

    /// Keeps [`Return`](super::Return) to this crate.
    pub trait Returned {}
}

/// Marks a type by the signature that it was checked for.
///
/// Invariant in `S`: whoever has a handle for one signature cannot have it seen as one for another, which a subtype of
/// a function type is. Two signatures that are each other's subtypes are one type.
pub(crate) type Checked<S> = PhantomData<fn(S) -> S>;

/// A function type that describes an operator to the compiler: `fn(A0, A1, …) -> R` over owned types, up to 16
/// arguments.
///
/// # Examples
///
/// ```
/// use opgrid_core::{AnyTensor, Signature};
///
/// type Add = fn(AnyTensor, AnyTensor, f64) -> AnyTensor;
/// assert_eq!(Add::schema("myops::add".parse().unwrap()).to_string(), "myops::add(Tensor _0, Tensor _1, float _2) -> Tensor _0");
/// ```
pub trait Signature: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The borrowed arguments, as a tuple.
    type Args<'a>: Copy;
    /// What typed callers get.
    type Output: 'static;
    /// The marker of the return.
    type Return: Return<Output = Self::Output>;
    /// The signature with `i64` instead of every [`SymInt`].
    type Concrete: Signature;
    /// A function of the borrowed arguments that returns `Result<X>`.
    type Returning<X: 'static>: Copy + Send + Sync + 'static;
    /// A function of the call's keys and the borrowed arguments that returns `Result<X>`.
    type ReturningWithKeys<X: 'static>: Copy + Send + Sync + 'static;

    /// The number of arguments.
    const ARITY: usize;

    /// Whether an argument says on which device something is made.
    const NAMES_DEVICE: bool;

    /// What makes the types of the arguments in schemas.
    const ARGUMENT_TYPES: &'static [fn() -> Type];

    /// The union of the arguments' keys.
    fn keys(args: Self::Args<'_>) -> DispatchKeySet;

    /// Shortens the borrows of the arguments.
    fn shorten<'long: 'short, 'short>(args: Self::Args<'long>) -> Self::Args<'short>;

    /// Calls `function` with the arguments.
    ///
    /// # Errors
    ///
    /// Those of `function`.
    fn apply<X: 'static>(function: Self::Returning<X>, args: Self::Args<'_>) -> Result<X>;

    /// Calls `function` with the keys and the arguments.
    ///
    /// # Errors
    ///
    /// Those of `function`.
    fn apply_with_keys<X: 'static>(
        function: Self::ReturningWithKeys<X>,
        keys: DispatchKeySet,
        args: Self::Args<'_>,
    ) -> Result<X>;

    /// Lends the arguments as values to `body`.
    fn pack<X>(args: Self::Args<'_>, body: impl FnOnce(&[ValueRef<'_>]) -> X) -> X;

    /// Reads the arguments from values and gives them to `body`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] with the number of the argument, where a value is of another kind or the count is wrong.
    fn unpack<X>(values: &[ValueRef<'_>], body: impl FnOnce(Self::Args<'_>) -> X) -> Result<X>;

    /// The function as an untyped pointer.
    fn erase(function: Self::Returning<Self::Output>) -> *const ();

    /// The function behind a pointer that [`erase`](Self::erase) made.
    ///
    /// # Safety
    ///
    /// The pointer comes from [`erase`](Self::erase) of this very signature.
    unsafe fn restore(pointer: *const ()) -> Self::Returning<Self::Output>;

    /// As [`erase`](Self::erase), for functions that take the keys.
    fn erase_with_keys(function: Self::ReturningWithKeys<Self::Output>) -> *const ();

    /// As [`restore`](Self::restore), for functions that take the keys.
    ///
    /// # Safety
    ///
    /// The pointer comes from [`erase_with_keys`](Self::erase_with_keys) of this very signature.
    unsafe fn restore_with_keys(pointer: *const ()) -> Self::ReturningWithKeys<Self::Output>;

    /// Whether a [`SymInt`] stands anywhere among the arguments.
    #[inline]
    fn is_symbolic() -> bool {
        TypeId::of::<Self>() != TypeId::of::<Self::Concrete>()
    }

    /// The schema that can be inferred from the types: arguments `_0`, `_1`, … and returns of the same names.
    fn schema(name: OperatorName) -> FunctionSchema {
        schema_of(name, Self::ARGUMENT_TYPES, Self::Return::TYPES)
    }
}

/// What is written last is a tensor.
fn tensor_type() -> Type {
    Type::Tensor
}

fn schema_of(name: OperatorName, arguments: &[fn() -> Type], returns: &[fn() -> Type]) -> FunctionSchema {
    let numbered = |types: &[fn() -> Type]| {
        let one = |(place, make): (usize, &fn() -> Type)| SchemaArgument::new(format!("_{place}"), make());
        types.iter().enumerate().map(one).collect()
    };
    FunctionSchema::new(name, numbered(arguments), numbered(returns))
}

/// The error for a wrong number of values.
#[cold]
#[inline(never)]
fn wrong_count(expected: usize, found: usize) -> Error {
    Error::new(ErrorKind::Value, format!("expected {expected} arguments but got {found}"))
}

/// The error for argument number `place`; whoever knows the operator adds the names.
#[cold]
#[inline(never)]
fn wrong_argument(place: usize, error: Error) -> Error {
    error.at_argument(place)
}

/// Signatures of every arity.
macro_rules! signatures {
    ($(($($name:ident $value:ident $hold:ident $place:tt),*))*) => {
        $(
            impl<Ret: Return, $($name: Argument),*> sealed::Sealed for fn($($name),*) -> Ret {}

            #[allow(unused_variables, unused_mut, clippy::unused_unit)]
            impl<Ret: Return, $($name: Argument),*> Signature for fn($($name),*) -> Ret {
                type Args<'a> = ($($name::At<'a>,)*);
                type Output = Ret::Output;
                type Return = Ret;
                type Concrete = fn($($name::Concrete),*) -> Ret;
                type Returning<X: 'static> = for<'a> fn($($name::At<'a>),*) -> Result<X>;
                type ReturningWithKeys<X: 'static> = for<'a> fn(DispatchKeySet, $($name::At<'a>),*) -> Result<X>;

                const ARITY: usize = <[usize]>::len(&[$($place),*]);

                const NAMES_DEVICE: bool = false $(|| $name::NAMES_DEVICE)*;

                const ARGUMENT_TYPES: &'static [fn() -> Type] = &[$($name::schema_type),*];

                #[inline(always)]
                fn keys(($($value,)*): Self::Args<'_>) -> DispatchKeySet {
                    DispatchKeySet::EMPTY $(| $name::keys($value))*
                }

                #[inline(always)]
                fn shorten<'long: 'short, 'short>(($($value,)*): Self::Args<'long>) -> Self::Args<'short> {
                    ($($name::shorten($value),)*)
                }

                #[inline(always)]
                fn apply<X: 'static>(function: Self::Returning<X>, ($($value,)*): Self::Args<'_>) -> Result<X> {
                    function($($value),*)
                }

                #[inline(always)]
                fn apply_with_keys<X: 'static>(
                    function: Self::ReturningWithKeys<X>,
                    keys: DispatchKeySet,
                    ($($value,)*): Self::Args<'_>,
                ) -> Result<X> {
                    function(keys, $($value),*)
                }

                #[inline]
                fn pack<X>(($($value,)*): Self::Args<'_>, body: impl FnOnce(&[ValueRef<'_>]) -> X) -> X {
                    $(let mut $hold = <$name::Hold>::default();)*
                    body(&[$($name::pack($name::shorten($value), &mut $hold)),*])
                }

                #[inline]
                fn unpack<X>(values: &[ValueRef<'_>], body: impl FnOnce(Self::Args<'_>) -> X) -> Result<X> {
                    let [$($value),*] = values else { return Err(wrong_count(Self::ARITY, values.len())) };
                    $(let mut $hold = <$name::Hold>::default();)*
                    let args = ($(
                        match $name::unpack($value, &mut $hold) {
                            Ok(argument) => argument,
                            Err(error) => return Err(wrong_argument($place, error)),
                        },
                    )*);
                    Ok(body(args))
                }

                #[inline(always)]
                fn erase(function: Self::Returning<Self::Output>) -> *const () {
                    function as *const ()
                }

                #[inline(always)]
                unsafe fn restore(pointer: *const ()) -> Self::Returning<Self::Output> {
                    // SAFETY: guaranteed by the caller, see `# Safety`: `erase` made the pointer from this very type.
                    unsafe { mem::transmute::<*const (), Self::Returning<Self::Output>>(pointer) }
                }

                #[inline(always)]
                fn erase_with_keys(function: Self::ReturningWithKeys<Self::Output>) -> *const () {
                    function as *const ()
                }

                #[inline(always)]
                unsafe fn restore_with_keys(pointer: *const ()) -> Self::ReturningWithKeys<Self::Output> {
                    // SAFETY: guaranteed by the caller, see `# Safety`: `erase_with_keys` made the pointer from this very type.
                    unsafe { mem::transmute::<*const (), Self::ReturningWithKeys<Self::Output>>(pointer) }
                }
            }
        )*
    };
}

signatures! {
    ()
    (A a h0 0)
    (A a h0 0, B b h1 1)
    (A a h0 0, B b h1 1, C c h2 2)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8, J j h9 9)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8, J j h9 9,
     K k h10 10)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8, J j h9 9,
     K k h10 10, L l h11 11)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8, J j h9 9,
     K k h10 10, L l h11 11, M m h12 12)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8, J j h9 9,
     K k h10 10, L l h11 11, M m h12 12, N n h13 13)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8, J j h9 9,
     K k h10 10, L l h11 11, M m h12 12, N n h13 13, O o h14 14)
    (A a h0 0, B b h1 1, C c h2 2, D d h3 3, E e h4 4, F f h5 5, G g h6 6, H h h7 7, I i h8 8, J j h9 9,
     K k h10 10, L l h11 11, M m h12 12, N n h13 13, O o h14 14, P p h15 15)
}
