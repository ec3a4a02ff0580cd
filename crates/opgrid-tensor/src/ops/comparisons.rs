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
            pub GeTensor = "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(GeScalar), alias("greater_equal");
            /// Whether elements are larger than a number or equal.
            pub GeScalar = "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, alias("greater_equal");
        }

        gt {
            /// Whether elements are larger.
            pub GtTensor = "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(GtScalar), alias("greater");
            /// Whether elements are larger than a number.
            pub GtScalar = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, alias("greater");
        }

        isclose {
            pub Isclose = "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", method, arguments(other, rtol, atol);
        }

        le {
            /// Whether elements are smaller or equal.
            pub LeTensor = "aten::le.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(LeScalar), alias("less_equal");
            /// Whether elements are smaller than a number or equal.
            pub LeScalar = "aten::le.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, alias("less_equal");
        }

        lt {
            /// Whether elements are smaller.
            pub LtTensor = "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(LtScalar), alias("less");
            /// Whether elements are smaller than a number.
            pub LtScalar = "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, alias("less");
        }

        ne {
            /// Whether elements differ.
            pub NeTensor = "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method, or_number(NeScalar), alias("not_equal");
            /// Whether elements differ from a number.
            pub NeScalar = "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, alias("not_equal");
        }
    }
}
