//! Puts tensors together.

use opgrid_core::Result;
use opgrid_core::conversions::{Integer, TensorList};

declarations! {
    /// # Joining
    joining {
        block_diag {
            pub BlockDiag = "aten::block_diag(Tensor[] tensors) -> Tensor", out;
        }

        cartesian_prod {
            pub CartesianProd = "aten::cartesian_prod(Tensor[] tensors) -> Tensor";
        }

        cat {
            pub Cat = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", out;
            pub Concat = "aten::concat(Tensor[] tensors, int dim=0) -> Tensor", out;
            pub Concatenate = "aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", out;
        }

        hstack {
            pub Hstack = "aten::hstack(Tensor[] tensors) -> Tensor", out;
            pub Vstack = "aten::vstack(Tensor[] tensors) -> Tensor", out;
            pub Dstack = "aten::dstack(Tensor[] tensors) -> Tensor", out;
            pub ColumnStack = "aten::column_stack(Tensor[] tensors) -> Tensor", out;
            pub RowStack = "aten::row_stack(Tensor[] tensors) -> Tensor", out;
        }

        pad_sequence {
            /// Sequences of different lengths as one tensor, with a number where a sequence has no elements.
            pub PadSequence = "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") -> Tensor";
        }

        stack {
            pub Stack = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor", out;
        }

        vander {
            /// Powers of a vector's elements, as the columns of a matrix.
            pub Vander = "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor";
        }
    }
}

/// # Joining tensors
impl Tensor {
    /// Concatenates tensors along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Cat`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::arange(0, 2, 1)?;
    /// assert_eq!(Tensor::cat(&[&x, &x], 0)?.to_vec::<i64>()?, [0, 1, 0, 1]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn cat(tensors: impl TensorList<Self>, dim: impl Integer) -> Result<Self> {
        Cat.call(tensors.into_list().as_ref(), dim.to_i64())
    }

    /// Tensors of one shape along a new dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Stack`].
    pub fn stack(tensors: impl TensorList<Self>, dim: impl Integer) -> Result<Self> {
        Stack.call(tensors.into_list().as_ref(), dim.to_i64())
    }
}
