//! Multiplies matrices.

declarations! {
    /// # Products of matrices
    products {
        addbmm {
            /// `beta * self + alpha * (batch1 @ batch2)`, summed over all pairs of matrices.
            pub Addbmm = "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", in_place, out, method;
        }

        addmm {
            /// `beta * self + alpha * (mat1 @ mat2)`.
            pub Addmm = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", in_place, out, method;
        }

        addmv {
            /// `beta * self + alpha * (mat @ vec)`.
            pub Addmv = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", in_place, out, method;
        }

        addr {
            /// `beta * self + alpha * outer(vec1, vec2)`.
            pub Addr = "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", in_place, out, method;
        }

        baddbmm {
            /// `beta * self + alpha * (batch1 @ batch2)`, for each pair of matrices.
            pub Baddbmm = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", in_place, out, method;
        }

        bilinear {
            pub Bilinear = "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor";
        }

        bmm {
            /// The products of as many pairs of matrices.
            pub Bmm = "aten::bmm(Tensor self, Tensor mat2) -> Tensor", out, method;
        }

        dot {
            /// The sum of the products of two vectors' elements.
            pub Dot = "aten::dot(Tensor self, Tensor tensor) -> Tensor", out, method;
            /// The sum of the products of two vectors' elements, those of the first one conjugated.
            pub Vdot = "aten::vdot(Tensor self, Tensor other) -> Tensor", out, method;
        }

        einsum {
            pub Einsum = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor";
        }

        inner {
            /// Sums of products along the last dimensions of two tensors.
            pub Inner = "aten::inner(Tensor self, Tensor other) -> Tensor", out, method;
        }

        kron {
            /// Each element of this tensor times the whole of another.
            pub Kron = "aten::kron(Tensor self, Tensor other) -> Tensor", out, method;
        }

        linalg_cross {
            pub LinalgCross = "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", out;
            /// The vector product along a dimension of size 3, the first one unless it is named.
            pub Cross = "aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", out, method;
        }

        linalg_matmul {
            pub LinalgMatmul = "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", out;
        }

        linalg_multi_dot {
            pub LinalgMultiDot = "aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", out;
            pub ChainMatmul = "aten::chain_matmul(Tensor[] matrices) -> Tensor", out;
        }

        linear {
            pub Linear = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", out;
        }

        matmul {
            /// The product of vectors, matrices or stacks of matrices.
            pub Matmul = "aten::matmul(Tensor self, Tensor other) -> Tensor", out, method;
        }

        matrix_power {
            /// The product of square matrices with themselves.
            pub LinalgMatrixPower = "aten::linalg_matrix_power(Tensor self, int n) -> Tensor", out;
            /// The product of square matrices with themselves.
            pub MatrixPower = "aten::matrix_power(Tensor self, int n) -> Tensor", out;
        }

        mm {
            /// The matrix product.
            pub Mm = "aten::mm(Tensor self, Tensor mat2) -> Tensor", out, method;
        }

        mv {
            /// The product of a matrix and a vector.
            pub Mv = "aten::mv(Tensor self, Tensor vec) -> Tensor", out, method;
        }

        outer {
            /// The product of a column and a row.
            pub Outer = "aten::outer(Tensor self, Tensor vec2) -> Tensor", out, method;
            /// The outer product of two vectors, as `outer`.
            pub Ger = "aten::ger(Tensor self, Tensor vec2) -> Tensor", out, method;
        }

        tensordot {
            pub Tensordot = "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", out;
        }
    }
}
