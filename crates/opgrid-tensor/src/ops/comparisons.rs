//! Compares elements, or whole tensors.

declarations! {
    /// # Comparisons
    comparisons {
        allclose {
            pub Allclose = "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool", method, arguments(other, rtol, atol);
        }

        eq {
            /// Whether elements are equal.
            pub EqTensor = "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(EqScalar);
            /// Whether elements equal a number.
            pub EqScalar = "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        equal {
            /// Whether both have the same shape and elements.
            pub Equal = "aten::equal(Tensor self, Tensor other) -> bool", method;
        }

        ge {
            /// Whether elements are larger or equal.
            pub GeTensor = "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(GeScalar);
            /// Whether elements are larger than a number or equal.
            pub GeScalar = "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        gt {
            /// Whether elements are larger.
            pub GtTensor = "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(GtScalar);
            /// Whether elements are larger than a number.
            pub GtScalar = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        isclose {
            pub Isclose = "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", method, arguments(other, rtol, atol);
        }

        le {
            /// Whether elements are smaller or equal.
            pub LeTensor = "aten::le.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(LeScalar);
            /// Whether elements are smaller than a number or equal.
            pub LeScalar = "aten::le.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        lt {
            /// Whether elements are smaller.
            pub LtTensor = "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(LtScalar);
            /// Whether elements are smaller than a number.
            pub LtScalar = "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }

        ne {
            /// Whether elements differ.
            pub NeTensor = "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(NeScalar);
            /// Whether elements differ from a number.
            pub NeScalar = "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out;
        }
    }
}
