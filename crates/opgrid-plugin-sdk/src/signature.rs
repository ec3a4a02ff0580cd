//! Signatures: function types of owned types that say what an operator takes and returns.
//!
//! `fn(Tensor, Option<Tensor>, i64) -> Tensor` has kernels that are functions of the borrowed forms,
//! `for<'a> fn(&'a Tensor, Option<&'a Tensor>, i64) -> Result<Tensor>` ([`Signature::Returning`]).
#![allow(unsafe_code)]

use num_complex::Complex64;
use opgrid_abi::OpgridValue;

use crate::call::BoxedCall;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::DispatchKeySet;
use crate::plain::{DType, Device, Layout, MemoryFormat, Scalar};
use crate::tensor::Tensor;
use crate::value::{Dict, Generator, Held, ListElement, Value, ValueRef, ValueType, list_of};

mod sealed {
    /// Keeps [`Argument`](super::Argument) to this crate.
    pub trait Argument {}
    /// Keeps [`Return`](super::Return) to this crate.
    pub trait Return {}
    /// Keeps [`Signature`](super::Signature) to this crate.
    pub trait Signature {}
}

/// A type that can stand as a parameter in a [`Signature`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a plugin's operator",
    note = "arguments are Tensor, i64, f64, bool, String, Scalar, Complex64, DType, Layout, MemoryFormat, Device, Generator, \
            Value, Dict, `Option` of them, and `Vec` of i64, f64, bool, Tensor and Option<Tensor>; an operator with others is \
            defined by its schema text, with boxed kernels"
)]
pub trait Argument: sealed::Argument + 'static {
    /// The borrowed form in which kernels take it.
    type At<'a>: Copy;
    /// What lending or reading needs to keep while the call runs; `()` for everything that needs nothing.
    type Hold: Default;

    /// The type's name in schemas.
    fn schema_type() -> String;

    /// Shortens the borrow; the body is its argument.
    fn shorten<'long: 'short, 'short>(argument: Self::At<'long>) -> Self::At<'short>;

    /// The argument as a value.
    fn pack<'a>(argument: Self::At<'a>, hold: &'a mut Self::Hold) -> ValueRef<'a>;

    /// The argument read from a value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where the value is of another kind.
    fn unpack<'a>(value: &'a ValueRef<'a>, hold: &'a mut Self::Hold) -> Result<Self::At<'a>>;
}

/// Plain values that travel as they are.
macro_rules! by_value {
    ($($type:ty),*) => {$(
        impl sealed::Argument for $type {}

        impl Argument for $type {
            type At<'a> = Self;
            type Hold = ();

            fn schema_type() -> String {
                <Self as ValueType>::schema_type()
            }

            fn shorten<'long: 'short, 'short>(argument: Self) -> Self {
                argument
            }

            fn pack<'a>(argument: Self, _: &'a mut ()) -> ValueRef<'a> {
                argument.into()
            }

            fn unpack<'a>(value: &'a ValueRef<'a>, _: &'a mut ()) -> Result<Self> {
                value.to()
            }
        }
    )*};
}

by_value!(i64, f64, bool, DType, Layout, MemoryFormat, Device);

/// Numbers that may be complex, which are lent by their address.
macro_rules! by_address {
    ($($type:ty: $argument:ident => $scalar:expr;)*) => {$(
        impl sealed::Argument for $type {}

        impl Argument for $type {
            type At<'a> = Self;
            type Hold = Complex64;

            fn schema_type() -> String {
                <Self as ValueType>::schema_type()
            }

            fn shorten<'long: 'short, 'short>(argument: Self) -> Self {
                argument
            }

            fn pack<'a>($argument: Self, hold: &'a mut Complex64) -> ValueRef<'a> {
                let scalar: Scalar = $scalar;
                scalar.to_value(hold)
            }

            fn unpack<'a>(value: &'a ValueRef<'a>, _: &'a mut Complex64) -> Result<Self> {
                value.to()
            }
        }
    )*};
}

by_address! {
    Scalar: argument => argument;
    Complex64: argument => Scalar::Complex(argument);
}

/// Values that are handed on by reference.
macro_rules! by_reference {
    ($([$($parameters:tt)*] $type:ty;)*) => {$(
        impl<$($parameters)*> sealed::Argument for $type {}

        impl<$($parameters)*> Argument for $type {
            type At<'a> = &'a Self;
            type Hold = Held<Self>;

            fn schema_type() -> String {
                <Self as ValueType>::schema_type()
            }

            fn shorten<'long: 'short, 'short>(argument: &'long Self) -> &'short Self {
                argument
            }

            fn pack<'a>(argument: &'a Self, _: &'a mut Self::Hold) -> ValueRef<'a> {
                argument.into()
            }

            fn unpack<'a>(value: &'a ValueRef<'a>, hold: &'a mut Self::Hold) -> Result<&'a Self> {
                Ok(hold.lend(value))
            }
        }
    )*};
}

by_reference! {
    [] Value;
    [] Generator;
    [K: ValueType, V: ValueType] Dict<K, V>;
}

impl sealed::Argument for Tensor {}

impl Argument for Tensor {
    type At<'a> = &'a Self;
    type Hold = ();

    fn schema_type() -> String {
        <Self as ValueType>::schema_type()
    }

    fn shorten<'long: 'short, 'short>(argument: &'long Self) -> &'short Self {
        argument
    }

    fn pack<'a>(argument: &'a Self, _: &'a mut ()) -> ValueRef<'a> {
        argument.into()
    }

    fn unpack<'a>(value: &'a ValueRef<'a>, _: &'a mut ()) -> Result<&'a Self> {
        // The error is that of reading an owned one.
        value.as_tensor().map_or_else(|| value.to::<Self>().and_then(|_| Err(lost())), Ok)
    }
}

#[cold]
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a value is a tensor and is none")
}

impl sealed::Argument for String {}

impl Argument for String {
    type At<'a> = &'a str;
    type Hold = ();

    fn schema_type() -> String {
        <Self as ValueType>::schema_type()
    }

    fn shorten<'long: 'short, 'short>(argument: &'long str) -> &'short str {
        argument
    }

    fn pack<'a>(argument: &'a str, _: &'a mut ()) -> ValueRef<'a> {
        argument.into()
    }

    fn unpack<'a>(value: &'a ValueRef<'a>, _: &'a mut ()) -> Result<&'a str> {
        value.as_str()
    }
}

impl<T: ListElement> sealed::Argument for Vec<T> {}

impl<T: ListElement> Argument for Vec<T> {
    type At<'a> = &'a [T];
    type Hold = Self;

    fn schema_type() -> String {
        <Self as ValueType>::schema_type()
    }

    fn shorten<'long: 'short, 'short>(argument: &'long [T]) -> &'short [T] {
        argument
    }

    fn pack<'a>(argument: &'a [T], _: &'a mut Self) -> ValueRef<'a> {
        T::lend_slice(argument)
    }

    fn unpack<'a>(value: &'a ValueRef<'a>, hold: &'a mut Self) -> Result<&'a [T]> {
        list_of(value, hold)
    }
}

impl<T: Argument> sealed::Argument for Option<T> {}

impl<T: Argument> Argument for Option<T> {
    type At<'a> = Option<T::At<'a>>;
    type Hold = T::Hold;

    fn schema_type() -> String {
        T::schema_type() + "?"
    }

    fn shorten<'long: 'short, 'short>(argument: Option<T::At<'long>>) -> Option<T::At<'short>> {
        argument.map(T::shorten)
    }

    fn pack<'a>(argument: Option<T::At<'a>>, hold: &'a mut T::Hold) -> ValueRef<'a> {
        argument.map_or(ValueRef::NONE, |argument| T::pack(argument, hold))
    }

    fn unpack<'a>(value: &'a ValueRef<'a>, hold: &'a mut T::Hold) -> Result<Option<T::At<'a>>> {
        if value.is_none() { Ok(None) } else { T::unpack(value, hold).map(Some) }
    }
}

/// The return of an in-place operator: the result is the first argument, and kernels return `()`.
#[derive(Clone, Copy, Debug)]
pub struct WritesFirst;

/// The return of an `out` operator: the results are the last `N` arguments, and kernels return `()`.
#[derive(Clone, Copy, Debug)]
pub struct WritesLast<const N: usize = 1>;

/// The most results that a typed operator has.
pub(crate) const MOST_RESULTS: usize = 6;

/// The results of a call.
pub enum Results<'r> {
    /// They belong to the plugin, each until it is taken.
    Owned(&'r mut [Value]),
    /// They lie in a call.
    Left(&'r BoxedCall<'r>),
}

impl Results<'_> {
    fn take<T: ValueType>(&mut self, index: usize) -> Result<T> {
        let taken = match self {
            Self::Owned(values) => match values.get_mut(index) {
                Some(value) => std::mem::replace(value, Value::NONE).take(),
                None => Value::NONE.take(),
            },
            Self::Left(call) => call.result(index, T::from_value),
        };
        taken.map_err(|error: Error| error.within(&format!("return {}", index + 1)))
    }
}

/// A type that can stand as the return of a [`Signature`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the return of a plugin's operator",
    note = "returns are `()`, one value, a tuple of values, `WritesFirst` (in-place) or `WritesLast<N>` (out)"
)]
pub trait Return: sealed::Return + 'static {
    /// What kernels return and callers get.
    type Output: 'static;
    /// How many results there are.
    const COUNT: usize;

    /// The results as schemas write them, such as `(Tensor, int)`.
    fn schema_types() -> String;

    /// Leaves the results of a kernel.
    #[doc(hidden)]
    fn push(output: Self::Output, call: &mut BoxedCall<'_>) -> Result<()>;

    /// Reads the results of a call.
    #[doc(hidden)]
    fn pop(results: Results<'_>) -> Result<Self::Output>;
}

impl sealed::Return for () {}

impl Return for () {
    type Output = ();
    const COUNT: usize = 0;

    fn schema_types() -> String {
        "()".into()
    }

    fn push((): (), _: &mut BoxedCall<'_>) -> Result<()> {
        Ok(())
    }

    fn pop(_: Results<'_>) -> Result<()> {
        Ok(())
    }
}

impl<T: ValueType> sealed::Return for T {}

impl<T: ValueType> Return for T {
    type Output = Self;
    const COUNT: usize = 1;

    fn schema_types() -> String {
        T::schema_type()
    }

    fn push(output: Self, call: &mut BoxedCall<'_>) -> Result<()> {
        output.lend(|value| call.push(value))
    }

    fn pop(mut results: Results<'_>) -> Result<Self> {
        results.take(0)
    }
}

impl sealed::Return for WritesFirst {}

impl Return for WritesFirst {
    type Output = ();
    const COUNT: usize = 1;

    fn schema_types() -> String {
        "Tensor".into()
    }

    fn push((): (), call: &mut BoxedCall<'_>) -> Result<()> {
        let first = call.args().first().copied();
        call.push(first)
    }

    fn pop(_: Results<'_>) -> Result<()> {
        Ok(())
    }
}

impl<const N: usize> sealed::Return for WritesLast<N> {}

impl<const N: usize> Return for WritesLast<N> {
    type Output = ();
    const COUNT: usize = N;

    fn schema_types() -> String {
        format!("({})", ["Tensor"; N].join(", "))
    }

    fn push((): (), call: &mut BoxedCall<'_>) -> Result<()> {
        let args = call.args();
        args[args.len().saturating_sub(N)..].iter().try_for_each(|argument| call.push(*argument))
    }

    fn pop(_: Results<'_>) -> Result<()> {
        Ok(())
    }
}

/// Returns of several values.
macro_rules! several {
    ($(($($name:ident $place:tt),+))*) => {$(
        impl<$($name: ValueType),+> sealed::Return for ($($name,)+) {}

        impl<$($name: ValueType),+> Return for ($($name,)+) {
            type Output = Self;
            const COUNT: usize = [$($place),+].len();

            fn schema_types() -> String {
                format!("({})", [$($name::schema_type()),+].join(", "))
            }

            fn push(output: Self, call: &mut BoxedCall<'_>) -> Result<()> {
                $(output.$place.lend(|value| call.push(value))?;)+
                Ok(())
            }

            fn pop(mut results: Results<'_>) -> Result<Self> {
                Ok(($(results.take::<$name>($place)?,)+))
            }
        }
    )*};
}

several! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// A function type that describes an operator to the compiler: `fn(A0, A1, …) -> R` over owned types, up to 16 arguments.
///
/// # Examples
///
/// ```
/// use opgrid_plugin_sdk::{Signature, Tensor};
///
/// type First = fn(Tensor, Option<i64>) -> (Tensor, i64);
/// assert_eq!(First::schema("first"), "first(Tensor _0, int? _1) -> (Tensor, int)");
/// ```
pub trait Signature: sealed::Signature + Copy + Send + Sync + 'static {
    /// The borrowed arguments, as a tuple.
    type Args<'a>: Copy;
    /// What callers get.
    type Output: 'static;
    /// The marker of the return.
    type Return: Return<Output = Self::Output>;
    /// A function of the borrowed arguments that returns `Result<X>`.
    type Returning<X: 'static>: Copy + Send + Sync + 'static;
    /// A function of the call's keys and the borrowed arguments that returns `Result<X>`.
    type ReturningWithKeys<X: 'static>: Copy + Send + Sync + 'static;

    /// The schema that can be inferred from the types: arguments `_0`, `_1`, ….
    fn schema(name: &str) -> String;

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
}

#[cold]
fn wrong_count(expected: usize, found: usize) -> Error {
    let message = format!("a kernel takes {expected} arguments, the schema has {found}");
    Error::new(ErrorKind::Value, message)
}

#[cold]
fn wrong_argument(place: usize, error: Error) -> Error {
    error.within(&format!("argument {}", place + 1))
}

/// Signatures of every arity.
macro_rules! signatures {
    ($(($($name:ident $value:ident $hold:ident $place:tt),*))*) => {$(
        impl<Ret: Return, $($name: Argument),*> sealed::Signature for fn($($name),*) -> Ret {}

        #[allow(unused_variables, unused_mut, clippy::unused_unit)]
        impl<Ret: Return, $($name: Argument),*> Signature for fn($($name),*) -> Ret {
            type Args<'a> = ($($name::At<'a>,)*);
            type Output = Ret::Output;
            type Return = Ret;
            type Returning<X: 'static> = for<'a> fn($($name::At<'a>),*) -> Result<X>;
            type ReturningWithKeys<X: 'static> = for<'a> fn(DispatchKeySet, $($name::At<'a>),*) -> Result<X>;

            fn schema(name: &str) -> String {
                let types: &[String] = &[$($name::schema_type()),*];
                let each = types.iter().enumerate().map(|(place, text)| format!("{text} _{place}"));
                format!("{name}({}) -> {}", each.collect::<Vec<_>>().join(", "), Ret::schema_types())
            }

            fn apply<X: 'static>(function: Self::Returning<X>, ($($value,)*): Self::Args<'_>) -> Result<X> {
                function($($value),*)
            }

            fn apply_with_keys<X: 'static>(
                function: Self::ReturningWithKeys<X>,
                keys: DispatchKeySet,
                ($($value,)*): Self::Args<'_>,
            ) -> Result<X> {
                function(keys, $($value),*)
            }

            fn pack<X>(($($value,)*): Self::Args<'_>, body: impl FnOnce(&[ValueRef<'_>]) -> X) -> X {
                $(let mut $hold = <$name::Hold>::default();)*
                body(&[$($name::pack($name::shorten($value), &mut $hold)),*])
            }

            fn unpack<X>(values: &[ValueRef<'_>], body: impl FnOnce(Self::Args<'_>) -> X) -> Result<X> {
                let [$($value),*] = values else {
                    return Err(wrong_count(<[usize]>::len(&[$($place),*]), values.len()));
                };
                $(let mut $hold = <$name::Hold>::default();)*
                let args = ($($name::unpack($value, &mut $hold).map_err(|error| wrong_argument($place, error))?,)*);
                Ok(body(args))
            }
        }
    )*};
}

signatures! {
    ()
    (A0 a0 h0 0)
    (A0 a0 h0 0, A1 a1 h1 1)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8, A9 a9 h9 9)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8, A9 a9 h9 9,
        A10 a10 h10 10)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8, A9 a9 h9 9,
        A10 a10 h10 10, A11 a11 h11 11)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8, A9 a9 h9 9,
        A10 a10 h10 10, A11 a11 h11 11, A12 a12 h12 12)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8, A9 a9 h9 9,
        A10 a10 h10 10, A11 a11 h11 11, A12 a12 h12 12, A13 a13 h13 13)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8, A9 a9 h9 9,
        A10 a10 h10 10, A11 a11 h11 11, A12 a12 h12 12, A13 a13 h13 13, A14 a14 h14 14)
    (A0 a0 h0 0, A1 a1 h1 1, A2 a2 h2 2, A3 a3 h3 3, A4 a4 h4 4, A5 a5 h5 5, A6 a6 h6 6, A7 a7 h7 7, A8 a8 h8 8, A9 a9 h9 9,
        A10 a10 h10 10, A11 a11 h11 11, A12 a12 h12 12, A13 a13 h13 13, A14 a14 h14 14, A15 a15 h15 15)
}

/// The values that the host wrote as results.
///
/// # Safety
///
/// The first `count` belong to the plugin.
pub(crate) unsafe fn owned(results: [OpgridValue; MOST_RESULTS], count: usize) -> [Value; MOST_RESULTS] {
    let mut index = 0;
    results.map(|value| {
        index += 1;
        // SAFETY: guaranteed by the caller, see `# Safety`; of the others none was written.
        if index <= count { unsafe { Value::of_host(value) } } else { Value::NONE }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Scale = fn(i64, Option<f64>, Vec<i64>, String, Scalar) -> (i64, String);

    #[test]
    fn arguments_go_through_values_unchanged() {
        let args = (3, None, &[1, 2][..], "name", Scalar::from(Complex64::I));
        let checked = |(n, factor, list, name, scalar): (i64, Option<f64>, &[i64], &str, Scalar)| {
            assert_eq!((n, factor, list, name), (3, None, &[1, 2][..], "name"));
            assert_eq!(scalar, Scalar::Complex(Complex64::I));
        };
        Scale::pack(args, |values| Scale::unpack(values, checked)).unwrap();
    }

    #[test]
    fn the_wrong_number_and_kind_of_arguments_are_errors_with_their_place() {
        let error = Scale::unpack(&[ValueRef::from(1)], |_| ()).unwrap_err();
        assert_eq!(error.message(), "a kernel takes 5 arguments, the schema has 1");
        let error = <fn(i64, i64) -> i64>::unpack(&[1.into(), "a".into()], |_| ()).unwrap_err();
        assert!(error.message().starts_with("argument 2: a kernel expected an integer"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Value);
    }

    #[test]
    fn types_are_schemas() {
        assert_eq!(
            Scale::schema("t::scale"),
            "t::scale(int _0, float? _1, int[] _2, str _3, Scalar _4) -> (int, str)"
        );
        assert_eq!(<fn() -> ()>::schema("none"), "none() -> ()");
        assert_eq!(
            <fn(Tensor, Tensor) -> WritesLast>::schema("out"),
            "out(Tensor _0, Tensor _1) -> (Tensor)"
        );
    }
}
