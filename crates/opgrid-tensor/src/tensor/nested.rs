//! Tensors from nested Rust arrays and back: `[[1, 2], [3, 4]]`. The compiler refuses rows of different lengths.

use opgrid_core::{DType, Result};

use super::array::Array;
use super::element::{Bool, Element};
use super::geometry::Dims;
use super::handle::Tensor;
use super::promote::{complex_of, default_dtype};
use crate::error::argument;
use crate::with_dtype;

/// An element, an array of elements, an array of such arrays, and so on.
pub trait Nested: Sized {
    /// What the innermost arrays hold.
    type Element: Element;

    /// Appends the size of each dimension, outermost first.
    fn add_sizes(sizes: &mut Dims);

    /// Appends all elements in row-major order.
    fn add_elements(&self, elements: &mut Vec<Self::Element>);

    /// Takes as many elements as the sizes say; where they end early the rest are zero.
    fn take(elements: &mut dyn Iterator<Item = Self::Element>) -> Self;
}

impl<T: Element> Nested for T {
    type Element = T;

    fn add_sizes(_: &mut Dims) {}

    fn add_elements(&self, elements: &mut Vec<T>) {
        elements.push(*self);
    }

    fn take(elements: &mut dyn Iterator<Item = T>) -> T {
        elements.next().unwrap_or_default()
    }
}

impl Nested for bool {
    type Element = Bool;

    fn add_sizes(_: &mut Dims) {}

    fn add_elements(&self, elements: &mut Vec<Bool>) {
        elements.push(Bool::from(*self));
    }

    fn take(elements: &mut dyn Iterator<Item = Bool>) -> bool {
        elements.next().is_some_and(Bool::is_true)
    }
}

impl<N: Nested, const SIZE: usize> Nested for [N; SIZE] {
    type Element = N::Element;

    fn add_sizes(sizes: &mut Dims) {
        sizes.push(SIZE as i64);
        N::add_sizes(sizes);
    }

    fn add_elements(&self, elements: &mut Vec<N::Element>) {
        self.iter().for_each(|inner| inner.add_elements(elements));
    }

    fn take(elements: &mut dyn Iterator<Item = N::Element>) -> Self {
        std::array::from_fn(|_| N::take(elements))
    }
}

/// Elements in row-major order with their sizes.
fn parts<N: Nested>(nested: &N) -> (Vec<N::Element>, Dims) {
    let (mut elements, mut sizes) = (Vec::new(), Dims::new());
    nested.add_elements(&mut elements);
    N::add_sizes(&mut sizes);
    (elements, sizes)
}

impl Array {
    /// A new CPU tensor of nested arrays, whose element type decides the dtype.
    ///
    /// # Errors
    ///
    /// No memory; more than 64 dimensions.
    pub fn from_nested<N: Nested>(nested: &N) -> Result<Self> {
        let (elements, sizes) = parts(nested);
        Self::from_slice(&elements, &sizes)
    }

    /// The elements as nested arrays of the same sizes.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec); other sizes.
    ///
    /// # Examples
    ///
    /// ```
    /// let array = opgrid_tensor::Array::from_nested(&[[1u8, 2], [3, 4]])?;
    /// assert_eq!(array.to_nested::<[[u8; 2]; 2]>()?, [[1, 2], [3, 4]]);
    /// assert!(array.to_nested::<[u8; 4]>().is_err());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn to_nested<N: Nested>(&self) -> Result<N> {
        let mut expected = Dims::new();
        N::add_sizes(&mut expected);
        if self.sizes() != expected.as_slice() {
            let found = self.sizes();
            return Err(argument(format!(
                "expected a tensor of sizes {expected:?}, found {found:?}; view it so"
            )));
        }
        Ok(N::take(&mut self.to_vec::<N::Element>()?.into_iter()))
    }
}

impl Tensor {
    /// A new CPU tensor of nested arrays, whose element type decides the dtype.
    ///
    /// # Errors
    ///
    /// As [`Array::from_nested`].
    ///
    /// # Examples
    ///
    /// ```
    /// let x = opgrid_tensor::Tensor::from_nested(&[[1.0f64, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(x.to_string(), "tensor([[1., 2.],\n        [3., 4.]], dtype=torch.float64)");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn from_nested<N: Nested>(nested: &N) -> Result<Self> {
        Self::from_array(Array::from_nested(nested)?)
    }

    /// The elements as nested arrays of the same sizes.
    ///
    /// # Errors
    ///
    /// As [`Array::to_nested`]; an undefined tensor.
    pub fn to_nested<N: Nested>(&self) -> Result<N> {
        self.array()?.to_nested()
    }
}

/// What [`tensor!`](crate::tensor!) makes of its literals.
#[doc(hidden)]
pub fn of_literals<N: Nested>(nested: &N, dtype: Option<DType>) -> Result<Tensor> {
    let (elements, sizes) = parts(nested);
    let dtype = dtype.unwrap_or(match N::Element::DTYPE {
        // What the compiler takes literals for that nothing else decides.
        DType::I32 => DType::I64,
        DType::F64 => default_dtype(),
        DType::Complex128 => complex_of(default_dtype()),
        other => other,
    });
    let array = with_dtype!(dtype, T: Stored => {
        let elements: Vec<T> = elements.iter().map(|element| element.cast()).collect();
        Array::from_slice(&elements, &sizes)
    });
    Tensor::from_array(array?)
}

/// A new CPU tensor of nested literals, with the dtype that `torch.tensor` gives: int64 for integers, the default one
/// (float32) for floats, bool for truth values. Another one stands behind a semicolon.
///
/// `tensor![[1, 2], [3, 4]]` expands to a function call with `&[[1, 2], [3, 4]]`; the result is a `Result<Tensor>`.
/// Literals with a suffix keep their type, except `i32` and `f64`, which those without one have, too:
/// [`Tensor::from_nested`](crate::Tensor::from_nested) keeps every type.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_tensor::tensor;
///
/// assert_eq!(tensor![[1, 2], [3, 4]]?.to_string(), "tensor([[1, 2],\n        [3, 4]])");
/// assert_eq!(tensor![0.5, -1.0]?.dtype(), DType::F32);
/// assert_eq!(tensor![[true], [false]]?.sizes(), [2, 1]);
/// assert_eq!(tensor![1, 2; DType::BF16]?.to_string(), "tensor([1., 2.], dtype=torch.bfloat16)");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
///
/// Rows have one length:
///
/// ```compile_fail,E0308
/// let ragged = opgrid_tensor::tensor![[1, 2], [3]];
/// ```
#[macro_export]
macro_rules! tensor {
    ($($item:expr),+ $(,)?) => {
        $crate::tensor::nested::of_literals(&[$($item),+], ::core::option::Option::None)
    };
    ($($item:expr),+ ; $dtype:expr) => {
        $crate::tensor::nested::of_literals(&[$($item),+], ::core::option::Option::Some($dtype))
    };
}
