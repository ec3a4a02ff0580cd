//! Compares elements, or whole tensors.

use opgrid_core::Result;

use crate::tensor::Tensor;

declarations! {
    comparisons {
        allclose {
            pub Allclose = "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool";
        }

        eq {
            /// Whether elements are equal.
            pub EqTensor = "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
            /// Whether elements equal a number.
            pub EqScalar = "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, method(eq_scalar);
        }

        equal {
            /// Whether both have the same shape and elements.
            pub Equal = "aten::equal(Tensor self, Tensor other) -> bool", method;
        }

        ge {
            /// Whether elements are larger or equal.
            pub GeTensor = "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
            /// Whether elements are larger than a number or equal.
            pub GeScalar = "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, method(ge_scalar);
        }

        gt {
            /// Whether elements are larger.
            pub GtTensor = "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
            /// Whether elements are larger than a number.
            pub GtScalar = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, method(gt_scalar);
        }

        isclose {
            pub Isclose = "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor";
        }

        le {
            /// Whether elements are smaller or equal.
            pub LeTensor = "aten::le.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
            /// Whether elements are smaller than a number or equal.
            pub LeScalar = "aten::le.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, method(le_scalar);
        }

        lt {
            /// Whether elements are smaller.
            pub LtTensor = "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
            /// Whether elements are smaller than a number.
            pub LtScalar = "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, method(lt_scalar);
        }

        ne {
            /// Whether elements differ.
            pub NeTensor = "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
            /// Whether elements differ from a number.
            pub NeScalar = "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, method(ne_scalar);
        }
    }
}

impl Tensor {
    /// Whether all elements are as good as equal.
    ///
    /// # Errors
    ///
    /// Those of [`Allclose`].
    pub fn allclose(&self, other: &Self, rtol: f64, atol: f64) -> Result<bool> {
        Allclose.call(self, other, rtol, atol, false)
    }
}

impl Tensor {
    /// Whether elements are as good as equal: `|self - other| <= atol + |rtol * other|`.
    ///
    /// # Errors
    ///
    /// Those of [`Isclose`].
    pub fn isclose(&self, other: &Self, rtol: f64, atol: f64) -> Result<Self> {
        Isclose.call(self, other, rtol, atol, false)
    }
}
