//! Linear algebra: factorizations of matrices, linear systems, eigenvalues, norms.

declarations! {
    /// # Linear algebra
    linalg {
        cholesky {
            /// The Cholesky decomposition of Hermitian positive-definite matrices, and which matrices have none.
            pub LinalgCholeskyEx = "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", out("L");
            /// The Cholesky decomposition of Hermitian positive-definite matrices.
            pub LinalgCholesky = "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", out;
        }

        cholesky_solve {
            /// Solves linear systems, given the Cholesky factors of their matrices.
            pub CholeskySolve = "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", out, method;
            /// The inverses of matrices, given their Cholesky factors.
            pub CholeskyInverse = "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", out, method;
        }

        cond {
            /// The condition numbers of matrices: their norms times those of their inverses.
            pub LinalgCond = "aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", out;
            /// As `linalg_cond`, with the norm given by name.
            pub LinalgCondPStr = "aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", out("p_str_out");
        }

        det {
            /// The determinants of matrices, and the LU factors that they were computed from.
            pub LinalgDetWithFactors = "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", out("result");
            /// The determinants of matrices.
            pub LinalgDet = "aten::linalg_det(Tensor A) -> Tensor", out;
            /// As `linalg_det`.
            pub Det = "aten::det(Tensor self) -> Tensor", method;
        }

        eig {
            /// The eigenvalues and eigenvectors of matrices.
            pub LinalgEig = "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", out;
            /// The eigenvalues of matrices, without eigenvectors and without a derivative.
            pub LinalgEigvalsAlone = "aten::_linalg_eigvals(Tensor self) -> Tensor";
            /// The eigenvalues of matrices.
            pub LinalgEigvals = "aten::linalg_eigvals(Tensor self) -> Tensor", out;
        }

        eigh {
            /// The eigenvalues of Hermitian matrices, and their eigenvectors if `compute_v` is true.
            pub LinalgEighWithOption = "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)", out("eigenvalues");
            /// The eigenvalues and eigenvectors of Hermitian matrices.
            pub LinalgEigh = "aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", out("eigvals", eigvals, eigvecs);
            /// The eigenvalues of Hermitian matrices.
            pub LinalgEigvalsh = "aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", out;
        }

        householder {
            /// The QR decomposition of matrices, with Q as Householder reflectors.
            pub Geqrf = "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", out("a"), method;
            /// The first columns of products of Householder reflectors.
            pub LinalgHouseholderProduct = "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", out;
            /// As `linalg_householder_product`.
            pub Orgqr = "aten::orgqr(Tensor self, Tensor input2) -> Tensor", out, method;
            /// Multiplies matrices by a product of Householder reflectors.
            pub Ormqr = "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", out, method;
        }

        inverse {
            /// The inverses of matrices, and which matrices are singular.
            pub LinalgInvEx = "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", out("inverse");
            /// The inverses of matrices.
            pub LinalgInv = "aten::linalg_inv(Tensor A) -> Tensor", out;
            /// As `linalg_inv`.
            pub Inverse = "aten::inverse(Tensor self) -> Tensor", out, method;
        }

        ldl {
            /// The LDL decomposition of symmetric or Hermitian matrices, and which pivots are zero.
            pub LinalgLdlFactorEx = "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)", out;
            /// The LDL decomposition of symmetric or Hermitian matrices.
            pub LinalgLdlFactor = "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", out;
            /// Solves linear systems, given the LDL decompositions of their matrices.
            pub LinalgLdlSolve = "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", out;
        }

        lstsq {
            /// The least-squares solutions of linear systems, with residuals, ranks and singular values.
            pub LinalgLstsq = "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)", out;
        }

        lu {
            /// The LU decomposition of matrices with partial pivoting in compact form, and which pivots are zero.
            pub LinalgLuFactorEx = "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", out;
            /// The LU decomposition of matrices with partial pivoting, in compact form.
            pub LinalgLuFactor = "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", out;
            /// As `linalg_lu_factor_ex`.
            pub LuWithInfo = "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)";
            /// The LU decomposition of matrices: a permutation, a lower and an upper triangular matrix.
            pub LinalgLu = "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", out;
        }

        lu_solve {
            /// Solves linear systems, given the LU decompositions of their matrices.
            pub LinalgLuSolve = "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", out;
            /// As `linalg_lu_solve`, with the right-hand sides first.
            pub LuSolve = "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", out;
        }

        lu_unpack {
            /// Unpacks the compact form of LU decompositions into their factors.
            pub LuUnpack = "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", out;
        }

        matrix_exp {
            /// The matrix exponential.
            pub LinalgMatrixExp = "aten::linalg_matrix_exp(Tensor self) -> Tensor", out;
            /// As `linalg_matrix_exp`.
            pub MatrixExp = "aten::matrix_exp(Tensor self) -> Tensor", method;
            /// The gradient of `linalg_matrix_exp`.
            pub MatrixExpBackward = "aten::matrix_exp_backward(Tensor self, Tensor grad) -> Tensor";
        }

        matrix_norm {
            /// Matrix norms, with the order given as a number.
            pub LinalgMatrixNorm = "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out;
            /// Matrix norms, with the order given by name: Frobenius or nuclear.
            pub LinalgMatrixNormStrOrd = "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out("str_ord_out");
            /// The Frobenius norm over one or two dimensions.
            pub FrobeniusNormDim = "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", out("out");
            /// The nuclear norm of a matrix: the sum of its singular values.
            pub NuclearNorm = "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", out;
            /// The nuclear norms of the matrices in two dimensions.
            pub NuclearNormDim = "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", out("dim_out");
        }

        matrix_rank {
            /// The ranks of matrices: how many singular values are above `tol`.
            pub LinalgMatrixRank = "aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", out;
            /// The ranks of matrices: how many singular values are above `tol`, a tensor.
            pub LinalgMatrixRankTolTensor = "aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", out("out_tol_tensor");
            /// The ranks of matrices, with absolute and relative tolerances given as tensors.
            pub LinalgMatrixRankAtolRtolTensor = "aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_tensor_out");
            /// The ranks of matrices, with an absolute and a relative tolerance.
            pub LinalgMatrixRankAtolRtolFloat = "aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_float_out");
        }

        matrix_sqrth {
            /// The square roots of Hermitian positive-semidefinite matrices.
            pub LinalgMatrixSqrth = "aten::linalg_matrix_sqrth(Tensor self) -> Tensor", out;
        }

        norm {
            /// Vector or matrix norms, depending on the number of dimensions.
            pub LinalgNorm = "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out;
            /// Matrix norms, with the order given by name.
            pub LinalgNormOrdStr = "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out("ord_str_out");
        }

        pinv {
            /// Pseudo-inverses of matrices; singular values below `rcond` times the largest one count as zero.
            pub LinalgPinv = "aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", out;
            /// Pseudo-inverses of matrices, with an absolute and a relative tolerance.
            pub LinalgPinvAtolRtolFloat = "aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_float_out");
            /// Pseudo-inverses of matrices, with absolute and relative tolerances given as tensors.
            pub LinalgPinvAtolRtolTensor = "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_tensor_out");
            /// As `linalg_pinv`, with `rcond` given as a tensor.
            pub LinalgPinvRcondTensor = "aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", out("out_rcond_tensor");
            /// As `linalg_pinv`.
            pub Pinverse = "aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", method;
        }

        polar {
            /// The polar decomposition of matrices: orthonormal columns times a Hermitian matrix.
            pub LinalgPolar = "aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)", out;
        }

        qr {
            /// The QR decomposition of matrices.
            pub LinalgQr = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", out;
        }

        slogdet {
            /// The signs and the logarithms of the absolute values of determinants, and the LU factors that they were computed from.
            pub LinalgSlogdetWithFactors = "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", out("sign");
            /// The signs and the logarithms of the absolute values of determinants.
            pub LinalgSlogdet = "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", out;
            /// As `linalg_slogdet`.
            pub Slogdet = "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", out, method;
            /// The logarithms of determinants.
            pub Logdet = "aten::logdet(Tensor self) -> Tensor", method;
        }

        solve {
            /// Solves linear systems; also gives the LU factors of the matrices, and which of these are singular.
            pub LinalgSolveExWithFactors = "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", out("result");
            /// Solves linear systems, and says which matrices are singular.
            pub LinalgSolveEx = "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", out;
            /// Solves linear systems with square matrices.
            pub LinalgSolve = "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", out;
        }

        solve_triangular {
            /// Solves linear systems with triangular matrices.
            pub LinalgSolveTriangular = "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", out;
            /// As `linalg_solve_triangular`, with the right-hand sides first; also gives a copy of the matrices.
            pub TriangularSolve = "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)", out("X", X, M);
        }

        svd {
            /// The singular value decomposition of matrices, with singular vectors if `compute_uv` is true.
            pub LinalgSvdWithOptions = "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", out("U");
            /// The singular value decomposition of matrices.
            pub LinalgSvd = "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", out("U");
            /// The singular values of matrices.
            pub LinalgSvdvals = "aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", out;
            /// The singular value decomposition of matrices, with V itself instead of its conjugate transpose.
            pub Svd = "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", out("U"), method;
        }

        tensorsolve {
            /// The inverse of a tensor under `tensordot`: that of the matrix of its first `ind` and its other dimensions.
            pub LinalgTensorinv = "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", out;
            /// Solves `tensordot(self, x) = other` for x.
            pub LinalgTensorsolve = "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", out;
        }

        vander {
            /// Vandermonde matrices: rows of the powers of a number, from 0 upwards.
            pub LinalgVander = "aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor";
        }

        vecdot {
            /// The dot products of vectors along a dimension, with the first one conjugated.
            pub LinalgVecdot = "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", out;
        }
    }
}
