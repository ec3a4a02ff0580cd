//! What methods of tensors take where a schema has an integer, a number, a list of integers or a list of tensors.
//!
//! The `call` of an overload takes exactly the types that [`operator!`](macro@crate::operator) lists. The methods that `, method` adds to a
//! tensor take what people write: `x.view((2, -1))`, `Tensor::zeros(&[n, n], …)` with a `usize`, `x.add(&y)` and `x.add(2)`.
//!
//! | schema | parameter of a method | what fits |
//! |---|---|---|
//! | `int`, `SymInt` | `impl` [`Integer`] | `i32`, `i64`, `isize`, `u32`, `usize` |
//! | `int?`, `SymInt?` | `impl` [`OptionalInteger`] | these, `None`, `Some` of an `i64` |
//! | `int[]`, `SymInt[]`, `int[]?` | `impl` [`IntList`] | one integer, a tuple, an array, a slice or a vector of them, `()` for none |
//! | `Scalar` | `impl Into<Scalar>` | numbers, `bool`, complex numbers |
//! | `Scalar?` | `impl` [`OptionalNumber`] | these, `None`, `Some` of a [`Scalar`] |
//! | `Tensor[]` | `impl` [`TensorList`] | an array, a slice or a vector of tensors or of references to tensors |
//! | the last `Tensor` of an overload with `or_number` | `impl Into<`[`TensorOrNumber`]`>` | a reference to a tensor, or a number |
//! | another `T?` | `impl Into<Option<T>>` | a `T`, `None`, `Some` |
//!
//! An integer literal without a suffix is an `i32` here, as elsewhere in Rust.

use std::borrow::{Borrow, Cow};

use num_complex::Complex64;

use super::scalar::Scalar;

/// The integers that a size, a dimension or an index may be given as.
pub trait Integer: Copy {
    /// The value; one above `i64::MAX` becomes `i64::MAX`, which no size or index reaches.
    fn to_i64(self) -> i64;

    /// The values of a slice, copied unless they are `i64` already.
    #[doc(hidden)]
    fn to_list(slice: &[Self]) -> Cow<'_, [i64]> {
        slice.iter().map(|integer| integer.to_i64()).collect()
    }
}

impl Integer for i64 {
    #[inline]
    fn to_i64(self) -> i64 {
        self
    }

    #[inline]
    fn to_list(slice: &[i64]) -> Cow<'_, [i64]> {
        Cow::Borrowed(slice)
    }
}

/// An integer, or `None`.
pub trait OptionalInteger {
    /// The value, if there is one.
    fn to_option(self) -> Option<i64>;
}

impl OptionalInteger for Option<i64> {
    fn to_option(self) -> Option<i64> {
        self
    }
}

/// Sizes, strides or dimensions.
///
/// # Examples
///
/// ```
/// use opgrid_core::conversions::IntList;
///
/// fn sum(list: impl IntList) -> i64 {
///     list.into_list().as_ref().iter().sum()
/// }
///
/// let n: usize = 3;
/// assert_eq!((sum((2, n)), sum([n, n]), sum(&[1, -2]), sum(vec![4i64]), sum(5), sum(())), (5, 6, -1, 4, 5, 0));
/// ```
pub trait IntList {
    /// What holds the integers.
    type List: AsRef<[i64]>;

    /// The integers in order.
    fn into_list(self) -> Self::List;
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(
            impl OptionalInteger for $integer {
                #[inline]
                fn to_option(self) -> Option<i64> {
                    Some(self.to_i64())
                }
            }

            impl IntList for $integer {
                type List = [i64; 1];

                #[inline]
                fn into_list(self) -> [i64; 1] {
                    [self.to_i64()]
                }
            }
        )*
    };
}

integers!(i32 i64 isize u32 usize);

macro_rules! converted {
    ($($integer:ty)*) => {
        $(impl Integer for $integer {
            #[inline]
            fn to_i64(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        })*
    };
}

converted!(i32 isize u32 usize);

impl<T: Integer, const N: usize> IntList for [T; N] {
    type List = [i64; N];

    #[inline]
    fn into_list(self) -> [i64; N] {
        self.map(Integer::to_i64)
    }
}

impl<T: Integer, const N: usize> IntList for &[T; N] {
    type List = [i64; N];

    #[inline]
    fn into_list(self) -> [i64; N] {
        self.map(Integer::to_i64)
    }
}

impl<'a, T: Integer> IntList for &'a [T] {
    type List = Cow<'a, [i64]>;

    #[inline]
    fn into_list(self) -> Cow<'a, [i64]> {
        T::to_list(self)
    }
}

impl<'a, T: Integer> IntList for &'a Vec<T> {
    type List = Cow<'a, [i64]>;

    #[inline]
    fn into_list(self) -> Cow<'a, [i64]> {
        T::to_list(self)
    }
}

impl<T: Integer> IntList for Vec<T> {
    type List = Vec<i64>;

    #[inline]
    fn into_list(self) -> Vec<i64> {
        self.iter().map(|integer| integer.to_i64()).collect()
    }
}

macro_rules! tuples {
    ($($count:literal: $($integer:ident)*;)*) => {
        $(impl<$($integer: Integer),*> IntList for ($($integer,)*) {
            type List = [i64; $count];

            #[inline]
            #[allow(non_snake_case, reason = "the values are named like their types")]
            fn into_list(self) -> [i64; $count] {
                let ($($integer,)*) = self;
                [$($integer.to_i64()),*]
            }
        })*
    };
}

tuples! {
    0:;
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
}

/// A number, or `None`.
pub trait OptionalNumber {
    /// The number, if there is one.
    fn to_option(self) -> Option<Scalar>;
}

impl OptionalNumber for Option<Scalar> {
    fn to_option(self) -> Option<Scalar> {
        self
    }
}

/// A tensor or a number, as the last argument of an arithmetic method.
#[derive(Clone, Copy, Debug)]
pub enum TensorOrNumber<'a, T> {
    /// A tensor.
    Tensor(&'a T),
    /// A number.
    Number(Scalar),
}

impl<'a, T> From<&'a T> for TensorOrNumber<'a, T> {
    #[inline]
    fn from(tensor: &'a T) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a, T> From<&&'a T> for TensorOrNumber<'a, T> {
    #[inline]
    fn from(tensor: &&'a T) -> Self {
        Self::Tensor(tensor)
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            impl<T> From<$number> for TensorOrNumber<'_, T> {
                #[inline]
                fn from(number: $number) -> Self {
                    Self::Number(number.into())
                }
            }

            impl OptionalNumber for $number {
                #[inline]
                fn to_option(self) -> Option<Scalar> {
                    Some(self.into())
                }
            }
        )*
    };
}

numbers!(i32 i64 u64 f32 f64 bool Complex64 Scalar);

/// Several tensors.
pub trait TensorList<T> {
    /// What holds the tensors.
    type List: AsRef<[T]>;

    /// The tensors in order.
    fn into_list(self) -> Self::List;
}

macro_rules! tensor_lists {
    ($($list:ty, [$($generics:tt)*];)*) => {
        $(impl<T: Clone, B: Borrow<T>, $($generics)*> TensorList<T> for $list {
            type List = Vec<T>;

            fn into_list(self) -> Vec<T> {
                self.iter().map(|tensor| tensor.borrow().clone()).collect()
            }
        })*
    };
}

tensor_lists! {
    &[B], [];
    &Vec<B>, [];
    Vec<B>, [];
    &[B; N], [const N: usize];
    [B; N], [const N: usize];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(list: impl IntList) -> Vec<i64> {
        list.into_list().as_ref().to_vec()
    }

    #[test]
    fn lists_of_integers() {
        assert_eq!(list(()), [0i64; 0]);
        assert_eq!(list(-1), [-1]);
        assert_eq!(list((2usize, -1, 3i64, 4u32, 5isize, 6)), [2, -1, 3, 4, 5, 6]);
        assert_eq!(list([usize::MAX, 1]), [i64::MAX, 1]);
        assert_eq!(list(&vec![1usize, 2]), [1, 2]);
        assert_eq!(list([1i64, 2].as_slice()), [1, 2]);
    }

    #[test]
    fn options() {
        assert_eq!(OptionalInteger::to_option(3usize), Some(3));
        assert_eq!(OptionalInteger::to_option(None), None);
        assert_eq!(OptionalNumber::to_option(0.5f32), Some(Scalar::Float(0.5)));
        assert_eq!(OptionalNumber::to_option(None), None);
    }

    #[test]
    fn tensors_and_numbers() {
        fn is_tensor<'a>(value: impl Into<TensorOrNumber<'a, String>>) -> bool {
            matches!(value.into(), TensorOrNumber::Tensor(_))
        }
        let tensor = String::new();
        assert!(is_tensor(&tensor) && is_tensor(&&tensor));
        assert!(!is_tensor(1) && !is_tensor(1.5) && !is_tensor(true));
    }

    #[test]
    fn lists_of_tensors() {
        fn joined(list: impl TensorList<String>) -> String {
            list.into_list().as_ref().concat()
        }
        let (a, b) = ("a".to_owned(), "b".to_owned());
        assert_eq!(joined([&a, &b]), "ab");
        assert_eq!(joined(&[&a, &b]), "ab");
        assert_eq!(joined(&[a.clone(), b.clone()]), "ab");
        assert_eq!(joined(&vec![a, b]), "ab");
    }
}
