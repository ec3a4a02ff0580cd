//! Factors matrices, solves equations, finds eigenvalues.

declarations! {
    /// # Linear algebra
    linalg {
        cholesky {
            /// A Hermitian matrix as a product of a triangle and its conjugate transpose, and where that is not possible.
            pub LinalgCholeskyEx = "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", out("L");
            /// A Hermitian matrix as a product of a triangle and its conjugate transpose.
            pub LinalgCholesky = "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", out;
        }

        cholesky_solve {
            /// Solutions of equations by what `cholesky` made of a matrix.
            pub CholeskySolve = "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", out, method;
            /// The inverse of a matrix by what `cholesky` made of it.
            pub CholeskyInverse = "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", out, method;
        }

        cond {
            /// How much errors of equations with these matrices may grow: the norm times that of the inverse.
            pub LinalgCond = "aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", out;
            /// As `linalg_cond`, by a norm that has a name.
            pub LinalgCondPStr = "aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", out("p_str_out");
        }

        det {
            /// The determinants of matrices, and their factors.
            pub LinalgDetWithFactors = "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", out("result");
            /// The determinants of matrices.
            pub LinalgDet = "aten::linalg_det(Tensor A) -> Tensor", out;
            /// As `linalg_det`.
            pub Det = "aten::det(Tensor self) -> Tensor", method;
        }

        eig {
            /// The eigenvalues and eigenvectors of matrices.
            pub LinalgEig = "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", out;
            /// The eigenvalues of matrices, without vectors.
            pub LinalgEigvalsAlone = "aten::_linalg_eigvals(Tensor self) -> Tensor";
            /// The eigenvalues of matrices.
            pub LinalgEigvals = "aten::linalg_eigvals(Tensor self) -> Tensor", out;
        }

        eigh {
            /// The eigenvalues of Hermitian matrices, and eigenvectors where asked for.
            pub LinalgEighWithOption = "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)", out("eigenvalues");
            /// The eigenvalues and eigenvectors of Hermitian matrices.
            pub LinalgEigh = "aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", out("eigvals", eigvals, eigvecs);
            /// The eigenvalues of Hermitian matrices.
            pub LinalgEigvalsh = "aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", out;
        }

        householder {
            /// A triangle and reflections of which a matrix is the product.
            pub Geqrf = "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", out("a"), method;
            /// The first columns of a product of reflections.
            pub LinalgHouseholderProduct = "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", out;
            /// As `linalg_householder_product`.
            pub Orgqr = "aten::orgqr(Tensor self, Tensor input2) -> Tensor", out, method;
            /// A matrix multiplied by a product of reflections.
            pub Ormqr = "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", out, method;
        }

        inverse {
            /// The inverses of matrices, and where there is none.
            pub LinalgInvEx = "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", out("inverse");
            /// The inverses of matrices.
            pub LinalgInv = "aten::linalg_inv(Tensor A) -> Tensor", out;
            /// As `linalg_inv`.
            pub Inverse = "aten::inverse(Tensor self) -> Tensor", out, method;
        }

        ldl {
            /// Symmetric matrices as products of triangles around blocks of one or two rows, and which columns are zero.
            pub LinalgLdlFactorEx = "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)", out;
            /// Symmetric matrices as products of triangles around blocks of one or two rows.
            pub LinalgLdlFactor = "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", out;
            /// Solutions of equations by what `linalg_ldl_factor` made of a matrix.
            pub LinalgLdlSolve = "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", out;
        }

        lstsq {
            /// What equations with more rows than unknowns are solved by best, and what is left over.
            pub LinalgLstsq = "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)", out;
        }

        lu {
            /// Matrices as products of triangles with rows exchanged, and which pivots are zero.
            pub LinalgLuFactorEx = "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", out;
            /// Matrices as products of triangles, in one matrix, with rows exchanged.
            pub LinalgLuFactor = "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", out;
            /// As `linalg_lu_factor_ex`.
            pub LuWithInfo = "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)";
            /// Matrices as products of a permutation and two triangles.
            pub LinalgLu = "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", out;
        }

        lu_solve {
            /// Solutions of equations by what `linalg_lu_factor` made of a matrix.
            pub LinalgLuSolve = "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", out;
            /// As `linalg_lu_solve`.
            pub LuSolve = "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", out;
        }

        lu_unpack {
            /// The factors that `linalg_lu_factor` put into one matrix.
            pub LuUnpack = "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", out;
        }

        matrix_exp {
            /// The exponentials of matrices.
            pub LinalgMatrixExp = "aten::linalg_matrix_exp(Tensor self) -> Tensor", out;
            /// As `linalg_matrix_exp`.
            pub MatrixExp = "aten::matrix_exp(Tensor self) -> Tensor", method;
            /// The gradient of `linalg_matrix_exp`.
            pub MatrixExpBackward = "aten::matrix_exp_backward(Tensor self, Tensor grad) -> Tensor";
        }

        matrix_norm {
            /// The norms of matrices, of which the order is a number.
            pub LinalgMatrixNorm = "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out;
            /// The norms of matrices that have names.
            pub LinalgMatrixNormStrOrd = "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out("str_ord_out");
            /// The roots of the sums of squares over one or two dimensions.
            pub FrobeniusNormDim = "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", out("out");
            /// The sum of the singular values of a matrix.
            pub NuclearNorm = "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", out;
            /// The sums of the singular values of the matrices that two dimensions are.
            pub NuclearNormDim = "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", out("dim_out");
        }

        matrix_rank {
            /// How many singular values are larger than a number.
            pub LinalgMatrixRank = "aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", out;
            /// How many singular values are larger than numbers of a tensor.
            pub LinalgMatrixRankTolTensor = "aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", out("out_tol_tensor");
            /// How many singular values are not lost in rounding, by tensors of what is.
            pub LinalgMatrixRankAtolRtolTensor = "aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_tensor_out");
            /// How many singular values are not lost in rounding.
            pub LinalgMatrixRankAtolRtolFloat = "aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_float_out");
        }

        matrix_sqrth {
            /// The Hermitian roots of Hermitian matrices.
            pub LinalgMatrixSqrth = "aten::linalg_matrix_sqrth(Tensor self) -> Tensor", out;
        }

        norm {
            /// The norms of vectors or matrices, as the dimensions say.
            pub LinalgNorm = "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out;
            /// The norms of matrices that have names.
            pub LinalgNormOrdStr = "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out("ord_str_out");
        }

        pinv {
            /// Pseudo-inverses of matrices, by a part of the largest singular value below which others count as zero.
            pub LinalgPinv = "aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", out;
            /// Pseudo-inverses of matrices.
            pub LinalgPinvAtolRtolFloat = "aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_float_out");
            /// Pseudo-inverses of matrices, by tensors of which singular values count as zero.
            pub LinalgPinvAtolRtolTensor = "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", out("atol_rtol_tensor_out");
            /// As `linalg_pinv`, by a part for each matrix.
            pub LinalgPinvRcondTensor = "aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", out("out_rcond_tensor");
            /// As `linalg_pinv`.
            pub Pinverse = "aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", method;
        }

        polar {
            /// Matrices as products of orthonormal columns and a Hermitian matrix.
            pub LinalgPolar = "aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)", out;
        }

        qr {
            /// Matrices as products of orthonormal columns and a triangle.
            pub LinalgQr = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", out;
        }

        slogdet {
            /// The signs and logarithms of determinants, and the factors of the matrices.
            pub LinalgSlogdetWithFactors = "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", out("sign");
            /// The signs of determinants, and the logarithms of their absolute values.
            pub LinalgSlogdet = "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", out;
            /// As `linalg_slogdet`.
            pub Slogdet = "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", out, method;
            /// The logarithms of determinants.
            pub Logdet = "aten::logdet(Tensor self) -> Tensor", method;
        }

        solve {
            /// Solutions of equations, the factors of the matrices, and which of these are singular.
            pub LinalgSolveExWithFactors = "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", out("result");
            /// Solutions of equations, and which matrices are singular.
            pub LinalgSolveEx = "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", out;
            /// Solutions of equations.
            pub LinalgSolve = "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", out;
        }

        solve_triangular {
            /// Solutions of equations with a triangle.
            pub LinalgSolveTriangular = "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", out;
            /// As `linalg_solve_triangular`, with a copy of the matrices.
            pub TriangularSolve = "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)", out("X", X, M);
        }

        svd {
            /// The singular values of matrices, and vectors where asked for.
            pub LinalgSvdWithOptions = "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", out("U");
            /// The singular values and vectors of matrices.
            pub LinalgSvd = "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", out("U");
            /// The singular values of matrices.
            pub LinalgSvdvals = "aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", out;
            /// The singular values and vectors of matrices.
            pub Svd = "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", out("U"), method;
        }

        tensorsolve {
            /// The inverse of the matrix that the first and the last dimensions of a tensor are.
            pub LinalgTensorinv = "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", out;
            /// The solution of an equation with the matrix that the first and the last dimensions of a tensor are.
            pub LinalgTensorsolve = "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", out;
        }

        vander {
            /// The powers of numbers, from 0 upwards, as rows.
            pub LinalgVander = "aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor";
        }

        vecdot {
            /// Products of vectors, of which the first is conjugated, along a dimension.
            pub LinalgVecdot = "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", out;
        }
    }
}
