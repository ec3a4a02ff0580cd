//! Operators of opgrid for products and factorizations of matrices, distances, Fourier transforms and random numbers: one file for each family; to add one, write its file, its line in the list below, and its declaration
//! in `opgrid-tensor`.

#![deny(unsafe_code)]

mod kinds;
mod prelude;

opgrid_kinds::operators! {
    /// Multiplies matrices.
    products {
        addbmm,
        addmm,
        addmv,
        addr,
        baddbmm,
        bilinear,
        bmm,
        dot,
        einsum,
        inner,
        kron,
        linalg_cross,
        linalg_matmul,
        linalg_multi_dot,
        linear,
        matmul,
        matrix_power,
        mm,
        mv,
        outer,
        tensordot,
    }

    /// Linear algebra: factorizations of matrices, linear systems, eigenvalues, norms.
    linalg {
        cholesky,
        cholesky_solve,
        cond,
        det,
        eig,
        eigh,
        householder,
        inverse,
        ldl,
        lstsq,
        lu,
        lu_solve,
        lu_unpack,
        matrix_exp,
        matrix_norm,
        matrix_rank,
        matrix_sqrth,
        norm,
        pinv,
        polar,
        qr,
        slogdet,
        solve,
        solve_triangular,
        svd,
        tensorsolve,
        vander,
        vecdot,
    }

    /// Measures how far points lie from each other.
    distances {
        cdist,
        dist,
        pairwise_distance,
        pdist,
    }

    /// Discrete Fourier transforms.
    fourier {
        fft,
        fft_c2c,
        fftfreq,
        fftn,
        fftshift,
        hfft,
        hfftn,
        stft,
    }

    /// Draws random numbers.
    random {
        bernoulli,
        binomial,
        cauchy,
        dropout,
        exponential,
        geometric,
        log_normal,
        multinomial,
        normal,
        normal_of_tensors,
        poisson,
        rand,
        rand_like,
        randint,
        randint_like,
        randn,
        randn_like,
        random_integers,
        randperm,
        rrelu,
        sample_dirichlet,
        standard_gamma,
        uniform,
    }
}
