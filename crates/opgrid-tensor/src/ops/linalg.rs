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
    }
}
