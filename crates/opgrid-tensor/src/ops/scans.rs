//! Joins each element with all before it along a dimension.

use opgrid_core::Result;

use crate::tensor::Tensor;

declarations! {
    scans {
        cummax {
            /// The largest of all elements up to each one along a dimension, and where it is.
            pub Cummax = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", out, method;
        }

        cummin {
            /// The smallest of all elements up to each one along a dimension, and where it is.
            pub Cummin = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", out, method;
        }

        cumprod {
            pub Cumprod = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out;
        }

        cumsum {
            pub Cumsum = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out;
        }

        diff {
            pub Diff = "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", out;
        }

        logcumsumexp {
            /// The logarithms of the sums of exponentials of all elements up to each one along a dimension.
            pub Logcumsumexp = "aten::logcumsumexp(Tensor self, int dim) -> Tensor", out, method;
        }
    }
}

impl Tensor {
    /// The products of all elements up to each one along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Cumprod`].
    pub fn cumprod(&self, dim: i64) -> Result<Self> {
        Cumprod.call(self, dim, None)
    }
}

impl Tensor {
    /// The sums of all elements up to each one along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Cumsum`].
    pub fn cumsum(&self, dim: i64) -> Result<Self> {
        Cumsum.call(self, dim, None)
    }
}

impl Tensor {
    /// The differences of neighbours along a dimension, taken `n` times.
    ///
    /// # Errors
    ///
    /// Those of [`Diff`].
    pub fn diff(&self, n: i64, dim: i64) -> Result<Self> {
        Diff.call(self, n, dim, None, None)
    }
}
