//! Asks what a tensor is like.

declarations! {
    /// # Properties
    questions {
        assertions {
            /// Makes sure that a tensor is as it was when a program was exported.
            pub AssertTensorMetadata = "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()";
            /// Makes sure that a number is not zero.
            pub AssertScalar = "aten::_assert_scalar(Scalar self, str assert_msg) -> ()";
            /// Makes sure that the only element is not zero.
            pub AssertAsync = "aten::_assert_async(Tensor self) -> ()";
            pub AssertAsyncMsg = "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()";
            /// Makes sure that a number lies in a range.
            pub SymConstrainRange = "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()";
            pub SymConstrainRangeForSize = "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()";
        }

        dtypes {
            /// Whether the elements are floats.
            pub IsFloatingPoint = "aten::is_floating_point(Tensor self) -> bool", method;
            /// Whether the elements are complex numbers.
            pub IsComplex = "aten::is_complex(Tensor self) -> bool", method;
            /// Whether the dtype has negative numbers.
            pub IsSigned = "aten::is_signed(Tensor self) -> bool", method;
        }

        is_nonzero {
            /// Whether the only element is true.
            pub IsNonzero = "aten::is_nonzero(Tensor self) -> bool", method;
        }

        sizes ("aten::sym_is_contiguous") {
            pub SizeInt = "aten::size.int(Tensor self, int dim) -> int";
            pub SymSizeInt = "aten::sym_size.int(Tensor self, int dim) -> SymInt";
            pub StrideInt = "aten::stride.int(Tensor self, int dim) -> int";
            pub SymStrideInt = "aten::sym_stride.int(Tensor self, int dim) -> SymInt";
            pub Numel = "aten::numel(Tensor self) -> int";
            pub SymNumel = "aten::sym_numel(Tensor self) -> SymInt";
            pub SymStorageOffset = "aten::sym_storage_offset(Tensor self) -> SymInt";
            pub Dim = "aten::dim(Tensor self) -> int";
            pub IsSameSize = "aten::is_same_size(Tensor self, Tensor other) -> bool";
        }
    }
}
