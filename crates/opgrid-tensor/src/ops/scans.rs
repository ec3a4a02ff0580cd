//! Joins each element with all before it along a dimension.

declarations! {
    /// # Cumulative sums, products and extremes
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
            pub Cumprod = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out, method;
        }

        cumsum {
            pub Cumsum = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out, method;
        }

        diff {
            pub Diff = "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", out, method, arguments(n, dim);
        }

        logcumsumexp {
            /// The logarithms of the sums of exponentials of all elements up to each one along a dimension.
            pub Logcumsumexp = "aten::logcumsumexp(Tensor self, int dim) -> Tensor", out, method;
        }
    }
}
