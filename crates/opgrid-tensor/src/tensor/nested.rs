//! Tensors from nested Rust arrays and back: `[[1, 2], [3, 4]]`. The compiler refuses rows of different lengths.

use opgrid_array::nested::parts;
use opgrid_array::{Array, Element, Nested, complex_of, default_dtype};
use opgrid_core::{DType, Result};

use super::handle::Tensor;
use crate::with_dtype;

/// # Nested arrays and vectors
impl Tensor {
    /// The rows of a matrix.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec); a tensor that has not two dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// let x = opgrid::tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        let (rows, columns) = self.dims2()?;
        Ok(in_rows(self.to_vec()?, rows, columns))
    }

    /// The matrices of a tensor of three dimensions, as rows.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec); a tensor that has not three dimensions.
    pub fn to_vec3<T: Element>(&self) -> Result<Vec<Vec<Vec<T>>>> {
        let (matrices, rows, columns) = self.dims3()?;
        let all_rows = in_rows(self.to_vec()?, matrices * rows, columns);
        Ok(in_rows(all_rows, matrices, rows))
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

/// Divides elements into `rows` lists of equal lengths.
fn in_rows<T>(elements: Vec<T>, rows: i64, columns: i64) -> Vec<Vec<T>> {
    let mut elements = elements.into_iter();
    (0..rows).map(|_| elements.by_ref().take(columns as usize).collect()).collect()
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
/// [`Tensor::new`](crate::Tensor::new) keeps every type.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid::tensor;
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
/// let ragged = opgrid::tensor![[1, 2], [3]];
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
