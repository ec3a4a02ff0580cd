//! What loops compute of elements: closures, and functions that are too long for closures.

/// What a loop computes of one element of each input, as a tuple.
///
/// A loop becomes vector code where the function is inlined into it. A closure in brackets, `(f,)`, is a function; the
/// compiler inlines it where it is short. A long one is a type whose `call` says `#[inline(always)]`.
///
/// # Examples
///
/// ```
/// use opgrid_array::{Array, loops::{Function, elementwise}};
///
/// #[derive(Clone, Copy)]
/// struct Polynomial<const N: usize>([f32; N]);
///
/// impl<const N: usize> Function<(f32,)> for Polynomial<N> {
///     type Output = f32;
///
///     #[inline(always)]
///     fn call(self, (x,): (f32,)) -> f32 {
///         self.0.iter().fold(0.0, |value, factor| value * x + factor)
///     }
/// }
///
/// let x = Array::from_slice(&[1.0f32, 2.0], &[2])?;
/// elementwise::unary_by::<f32, f32>(&x, &x, Polynomial([1.0, 0.0, 3.0]))?;
/// assert_eq!(x.to_vec::<f32>()?, [4.0, 7.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Function<Args>: Copy + Sync {
    /// The result.
    type Output;

    /// The result for these elements.
    fn call(self, args: Args) -> Self::Output;

    /// Whether it computes so much that fewer elements are work for several threads.
    const IS_LONG: bool = false;

    /// Whether loops are compiled for the widest vectors, too.
    const IS_WIDE: bool = Self::IS_LONG;

    /// Whether it is so short that loops which write over their first input have code of their own.
    const WRITES_OVER: bool = false;

    /// Whether there are elements that [`call`](Self::call) is not for. Then loops look for the largest
    /// [`distance`](Self::distance) of some elements while they call it, and where that is beyond [`REACH`](Self::REACH)
    /// compute all of those again, by [`call_any`](Self::call_any).
    const IS_PARTIAL: bool = false;

    /// The largest distance of elements that [`call`](Self::call) is for.
    const REACH: u32 = 0;

    /// How far these elements are from those that [`call`](Self::call) is for. Says `#[inline(always)]`.
    ///
    /// A number, because vectors have an instruction for the larger one of two numbers, and for a comparison need two more.
    #[inline(always)]
    fn distance(self, _args: Args) -> u32 {
        0
    }

    /// The result for any elements, which may take longer.
    #[inline(always)]
    fn call_any(self, args: Args) -> Self::Output {
        self.call(args)
    }

    /// As [`call`](Self::call), for processors that have no instruction for a product and a sum at once.
    #[inline(always)]
    fn call_unfused(self, args: Args) -> Self::Output {
        self.call(args)
    }

    /// As [`call_any`](Self::call_any), for such processors.
    #[inline(always)]
    fn call_any_unfused(self, args: Args) -> Self::Output {
        self.call_any(args)
    }
}

/// A short closure whose results often take the place of the first argument, as in `x += y`.
#[derive(Clone, Copy)]
pub struct InPlace<F>(pub F);

impl<F: Fn(A, B) -> Output + Copy + Sync, A, B, Output> Function<(A, B)> for InPlace<F> {
    type Output = Output;
    const WRITES_OVER: bool = true;

    #[inline(always)]
    fn call(self, (a, b): (A, B)) -> Output {
        self.0(a, b)
    }
}

/// Declares methods of a trait for processors that have no instruction for a product and a sum at once, which are those that take
/// one unless a type has others.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_unfused {
    ($trait:ident: $($name:ident = $method:ident,)*) => {
        $(
            /// Computes the function without fused multiply-add, for processors that lack the instruction.
            #[inline(always)]
            fn $name(self) -> Self {
                $trait::$method(self)
            }
        )*
    };
}
pub use crate::__function_unfused as unfused;

/// Defines functions that are methods of a type of numbers. Unlike a closure, and unlike the method's own name, they are
/// inlined into loops however long the method is.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_methods {
    ($trait:ident: $($rest:tt)*) => {
        $crate::__function_methods! { $trait, long: true: $($rest)* }
    };
    // Long ones of one number, with a method for processors that have no instruction for a product and a sum at once.
    ($trait:ident, unfused: $($(#[$doc:meta])* $name:ident = $method:ident and $unfused:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl<T: $trait> $crate::loops::Function<(T,)> for $name {
                type Output = T;
                const IS_LONG: bool = true;
                const IS_WIDE: bool = T::IS_WIDE;

                #[inline(always)]
                fn call(self, (x,): (T,)) -> T {
                    <T as $trait>::$method(x)
                }

                #[inline(always)]
                fn call_unfused(self, (x,): (T,)) -> T {
                    <T as $trait>::$unfused(x)
                }
            }
        )*
    };
    ($trait:ident, long: $long:literal: $($(#[$doc:meta])* $name:ident = $method:ident($($arg:ident),+);)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl<T: $trait> $crate::loops::Function<($($crate::__function_methods!(@type $arg T),)+)> for $name {
                type Output = T;
                const IS_LONG: bool = $long;
                const IS_WIDE: bool = T::IS_WIDE;

                #[inline(always)]
                fn call(self, ($($arg,)+): ($($crate::__function_methods!(@type $arg T),)+)) -> T {
                    <T as $trait>::$method($($arg),+)
                }
            }
        )*
    };
    (@type $arg:ident $type:ident) => { $type };
}
pub use crate::__function_methods as methods;

/// Defines functions that have fewer steps for most numbers: one method for those, another for any, and one that tells
/// with its largest value.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_partial {
    ($trait:ident, long: $long:literal: $($(#[$doc:meta])* $name:ident = $near:ident if $distance:ident <= $reach:expr, else $any:ident $(, unfused $near_unfused:ident and $any_unfused:ident)?;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl<T: $trait> $crate::loops::Function<(T,)> for $name {
                type Output = T;
                const IS_LONG: bool = $long;
                const IS_WIDE: bool = $long && T::IS_WIDE;
                const IS_PARTIAL: bool = true;
                const REACH: u32 = $reach;

                #[inline(always)]
                fn call(self, (x,): (T,)) -> T {
                    <T as $trait>::$near(x)
                }

                #[inline(always)]
                fn distance(self, (x,): (T,)) -> u32 {
                    <T as $trait>::$distance(x)
                }

                #[inline(always)]
                fn call_any(self, (x,): (T,)) -> T {
                    <T as $trait>::$any(x)
                }

                $(
                    #[inline(always)]
                    fn call_unfused(self, (x,): (T,)) -> T {
                        <T as $trait>::$near_unfused(x)
                    }

                    #[inline(always)]
                    fn call_any_unfused(self, (x,): (T,)) -> T {
                        <T as $trait>::$any_unfused(x)
                    }
                )?
            }
        )*
    };
}
pub use crate::__function_partial as partial;

macro_rules! closures {
    ($($($arg:ident),*;)*) => {
        $(impl<F: Fn($($arg),*) -> Output + Copy + Sync, $($arg,)* Output> Function<($($arg,)*)> for (F,) {
            type Output = Output;

            #[inline(always)]
            fn call(self, args: ($($arg,)*)) -> Output {
                #[allow(non_snake_case, reason = "each argument has the name of its type")]
                let ($($arg,)*) = args;
                self.0($($arg),*)
            }
        })*
    };
}

closures! {
    A;
    A, B;
    A, B, C;
}
