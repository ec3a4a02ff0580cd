//! Arrays from nested Rust arrays and back: `[[1, 2], [3, 4]]`. The compiler refuses rows of different lengths.

use opgrid_core::Result;

use super::array::Array;
use super::element::{Bool, Element};
use super::geometry::Dims;
use crate::error::argument;

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
pub fn parts<N: Nested>(nested: &N) -> (Vec<N::Element>, Dims) {
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
    /// let array = opgrid_array::Array::from_nested(&[[1u8, 2], [3, 4]])?;
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
                "expected a tensor of sizes {expected:?}, found {found:?}; reshape it first"
            )));
        }
        Ok(N::take(&mut self.to_vec::<N::Element>()?.into_iter()))
    }
}
