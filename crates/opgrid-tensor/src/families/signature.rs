//! The signatures of a family's forms, as they follow from the functional one.

use opgrid_core::{
    Argument, DType, Device, Generator, Layout, MemoryFormat, Return, Scalar, Signature, WritesFirst,
    WritesLast,
};

use super::results::Results;
use super::view::Views;
use crate::tensor::Tensor;

/// An argument type that can stand first: it says whether it is a tensor, which an in-place form writes.
pub trait FirstArgument: Argument {
    /// The tensor that an in-place form writes.
    #[inline]
    fn tensor<'a>(_argument: Self::At<'a>) -> Option<&'a Tensor> {
        None
    }
}

impl FirstArgument for Tensor {
    #[inline(always)]
    fn tensor<'a>(argument: Self::At<'a>) -> Option<&'a Tensor> {
        Some(argument)
    }
}

macro_rules! others {
    ($($type:ty),*) => { $(impl FirstArgument for $type {})* };
}

others! {
    Option<Tensor>, Vec<Tensor>, i64, f64, bool, String, Vec<i64>, Scalar, DType, Device, Layout, MemoryFormat, Generator
}

/// The signature of a functional overload, from which those of its forms follow.
pub trait FamilySignature: Signature<Output: Results> {
    /// The signature of the in-place form, which writes the first argument.
    type InPlace: Signature<Output = ()>;
    /// The signature of the `out` form, with an output after the arguments for each result.
    type Out: Signature<Output = ()>;

    /// The first argument, if it is a tensor.
    fn first<'a>(args: Self::Args<'a>) -> Option<&'a Tensor>;

    /// The arguments of the in-place form, which are the same.
    fn of_in_place<'a>(args: <Self::InPlace as Signature>::Args<'a>) -> Self::Args<'a>;

    /// The arguments with the outputs.
    fn join<'a>(args: Self::Args<'a>, outputs: OutputsOf<'a, Self>) -> <Self::Out as Signature>::Args<'a>;

    /// The arguments apart from the outputs.
    fn split<'a>(args: <Self::Out as Signature>::Args<'a>) -> (Self::Args<'a>, OutputsOf<'a, Self>);
}

/// What the results of a signature are like.
pub type SpecsOf<S> = <<S as Signature>::Output as Results>::Specs;
/// The outputs of a signature's loops.
pub type OutputsOf<'a, S> = <<S as Signature>::Output as Results>::Outputs<'a>;

/// The signature of an overload that gives views of its first argument.
pub trait ViewSignature: Signature<Output: Views> {
    /// The signature of the overload that writes copies of the views to outputs behind the arguments.
    type CopiesOut: Signature<Output = ()>;

    /// The first argument, if it is a tensor.
    fn base<'a>(args: Self::Args<'a>) -> Option<&'a Tensor>;

    /// The arguments apart from the outputs.
    fn split_outputs<'a>(
        args: <Self::CopiesOut as Signature>::Args<'a>,
    ) -> (Self::Args<'a>, <Self::Output as Argument>::At<'a>);
}

/// The signature of an overload that writes its first argument, beside that of the functional form it would have.
pub trait InPlaceSignature: Signature<Output = ()> {
    /// The signature of the functional form, with a new tensor as the result.
    type Functional: FamilySignature<InPlace = Self>;
}

/// A signature whose second argument is a tensor, beside the one that takes a number there.
pub trait TakesNumber: Signature {
    /// The signature with a number instead of the second tensor.
    type Number: Signature<Output = Self::Output>;

    /// Puts the number in a tensor's place and calls `body`.
    fn with_number<X>(
        args: <Self::Number as Signature>::Args<'_>,
        body: impl FnOnce(Self::Args<'_>) -> X,
    ) -> X;
}

/// A signature whose first argument is a tensor, beside the one that takes a number there.
pub trait TakesNumberFirst: Signature {
    /// The signature with a number instead of the first tensor.
    type NumberFirst: Signature<Output = Self::Output>;

    /// Puts the number in the tensor's place and calls `body`.
    fn with_number_first<X>(
        args: <Self::NumberFirst as Signature>::Args<'_>,
        body: impl FnOnce(Self::Args<'_>) -> X,
    ) -> X;
}

/// The signature with these arguments behind the first, and these results.
macro_rules! family_signature {
    ([$($name:ident $value:ident),*] -> $results:ty as $last:ty: $outputs:tt [$($output:ident $tensor:ident),+]) => {
        impl<F: FirstArgument, $($name: Argument),*> FamilySignature for fn(F, $($name),*) -> $results {
            type InPlace = fn(F, $($name),*) -> WritesFirst;
            type Out = fn(F, $($name,)* $($tensor),+) -> $last;

            #[inline(always)]
            fn first<'a>(args: Self::Args<'a>) -> Option<&'a Tensor> {
                F::tensor(args.0)
            }

            #[inline(always)]
            fn of_in_place<'a>(args: <Self::InPlace as Signature>::Args<'a>) -> Self::Args<'a> {
                args
            }

            #[inline(always)]
            fn join<'a>(
                (first, $($value,)*): Self::Args<'a>,
                $outputs: OutputsOf<'a, Self>,
            ) -> <Self::Out as Signature>::Args<'a> {
                (first, $($value,)* $($output),+)
            }

            #[inline(always)]
            fn split<'a>(
                (first, $($value,)* $($output),+): <Self::Out as Signature>::Args<'a>,
            ) -> (Self::Args<'a>, OutputsOf<'a, Self>) {
                ((first, $($value,)*), $outputs)
            }
        }
    };
}

macro_rules! signatures {
    ($(($($name:ident $value:ident),*))*) => {
        $(
            impl<Ret: Return, $($name: Argument),*> TakesNumberFirst for fn(Tensor, $($name),*) -> Ret {
                type NumberFirst = fn(Scalar, $($name),*) -> Ret;

                #[inline]
                fn with_number_first<X>(
                    (number, $($value,)*): <Self::NumberFirst as Signature>::Args<'_>,
                    body: impl FnOnce(Self::Args<'_>) -> X,
                ) -> X {
                    body((&Tensor::number(number), $($name::shorten($value),)*))
                }
            }

            family_signature! { [$($name $value),*] -> Tensor as WritesLast: out [out Tensor] }
            family_signature! {
                [$($name $value),*] -> (Tensor, Tensor) as WritesLast<2>: (one, two) [one Tensor, two Tensor]
            }
            family_signature! {
                [$($name $value),*] -> (Tensor, Tensor, Tensor) as WritesLast<3>:
                (one, two, three) [one Tensor, two Tensor, three Tensor]
            }
            family_signature! {
                [$($name $value),*] -> (Tensor, Tensor, Tensor, Tensor) as WritesLast<4>:
                (one, two, three, four) [one Tensor, two Tensor, three Tensor, four Tensor]
            }

            impl<F: FirstArgument, V: Views, $($name: Argument),*> ViewSignature for fn(F, $($name),*) -> V {
                type CopiesOut = fn(F, $($name,)* V) -> V::Written;

                fn base<'a>(args: Self::Args<'a>) -> Option<&'a Tensor> {
                    F::tensor(args.0)
                }

                fn split_outputs<'a>(
                    (first, $($value,)* outputs): <Self::CopiesOut as Signature>::Args<'a>,
                ) -> (Self::Args<'a>, V::At<'a>) {
                    ((first, $($value,)*), outputs)
                }
            }

            impl<F: FirstArgument, $($name: Argument),*> InPlaceSignature for fn(F, $($name),*) -> WritesFirst {
                type Functional = fn(F, $($name),*) -> Tensor;
            }

            impl<Ret: Return, F: Argument, $($name: Argument),*> TakesNumber for fn(F, Tensor, $($name),*) -> Ret {
                type Number = fn(F, Scalar, $($name),*) -> Ret;

                #[inline]
                fn with_number<X>(
                    (first, number, $($value,)*): <Self::Number as Signature>::Args<'_>,
                    body: impl FnOnce(Self::Args<'_>) -> X,
                ) -> X {
                    body((F::shorten(first), &Tensor::number(number), $($name::shorten($value),)*))
                }
            }
        )*
    };
}

signatures! {
    ()
    (A a)
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
    (A a, B b, C c, D d, E e)
    (A a, B b, C c, D d, E e, G g)
    (A a, B b, C c, D d, E e, G g, H h)
    (A a, B b, C c, D d, E e, G g, H h, I i)
    (A a, B b, C c, D d, E e, G g, H h, I i, J j)
    (A a, B b, C c, D d, E e, G g, H h, I i, J j, K k)
}
