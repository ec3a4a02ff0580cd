//! Special functions, applied to each element: Bessel functions, incomplete gamma functions, zeta functions, orthogonal polynomials and others.

declarations! {
    /// # Special functions
    special {
        airy_ai {
            /// The Airy function of the first kind.
            pub SpecialAiryAi = "aten::special_airy_ai(Tensor x) -> Tensor", out;
        }

        bessel_j0 {
            /// The Bessel function of the first kind of order zero.
            pub SpecialBesselJ0 = "aten::special_bessel_j0(Tensor self) -> Tensor", out;
        }

        bessel_j1 {
            /// The Bessel function of the first kind of order one.
            pub SpecialBesselJ1 = "aten::special_bessel_j1(Tensor self) -> Tensor", out;
        }

        bessel_y0 {
            /// The Bessel function of the second kind of order zero.
            pub SpecialBesselY0 = "aten::special_bessel_y0(Tensor self) -> Tensor", out;
        }

        bessel_y1 {
            /// The Bessel function of the second kind of order one.
            pub SpecialBesselY1 = "aten::special_bessel_y1(Tensor self) -> Tensor", out;
        }

        chebyshev_polynomial_t {
            /// Chebyshev polynomials of the first kind of degree `n`.
            pub SpecialChebyshevPolynomialT = "aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the first kind of degree `n`, at one number `x`.
            pub SpecialChebyshevPolynomialTXScalar = "aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the first kind of one degree `n`.
            pub SpecialChebyshevPolynomialTNScalar = "aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        chebyshev_polynomial_u {
            /// Chebyshev polynomials of the second kind of degree `n`.
            pub SpecialChebyshevPolynomialU = "aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the second kind of degree `n`, at one number `x`.
            pub SpecialChebyshevPolynomialUXScalar = "aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the second kind of one degree `n`.
            pub SpecialChebyshevPolynomialUNScalar = "aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        chebyshev_polynomial_v {
            /// Chebyshev polynomials of the third kind of degree `n`.
            pub SpecialChebyshevPolynomialV = "aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the third kind of degree `n`, at one number `x`.
            pub SpecialChebyshevPolynomialVXScalar = "aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the third kind of one degree `n`.
            pub SpecialChebyshevPolynomialVNScalar = "aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        chebyshev_polynomial_w {
            /// Chebyshev polynomials of the fourth kind of degree `n`.
            pub SpecialChebyshevPolynomialW = "aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the fourth kind of degree `n`, at one number `x`.
            pub SpecialChebyshevPolynomialWXScalar = "aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the fourth kind of one degree `n`.
            pub SpecialChebyshevPolynomialWNScalar = "aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        entr {
            /// The entropy `-x ln x` of each element.
            pub SpecialEntr = "aten::special_entr(Tensor self) -> Tensor", out;
        }

        erfcx {
            /// The scaled complementary error function, `e^(x^2) erfc(x)`.
            pub SpecialErfcx = "aten::special_erfcx(Tensor self) -> Tensor", out;
        }

        hermite_polynomial_h {
            /// Physicist's Hermite polynomials of degree `n`.
            pub SpecialHermitePolynomialH = "aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor", out;
            /// Physicist's Hermite polynomials of degree `n`, at one number `x`.
            pub SpecialHermitePolynomialHXScalar = "aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Physicist's Hermite polynomials of one degree `n`.
            pub SpecialHermitePolynomialHNScalar = "aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        hermite_polynomial_he {
            /// Probabilist's Hermite polynomials of degree `n`.
            pub SpecialHermitePolynomialHe = "aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor", out;
            /// Probabilist's Hermite polynomials of degree `n`, at one number `x`.
            pub SpecialHermitePolynomialHeXScalar = "aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Probabilist's Hermite polynomials of one degree `n`.
            pub SpecialHermitePolynomialHeNScalar = "aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        i0 {
            /// The modified Bessel function of the first kind of order zero.
            pub I0 = "aten::i0(Tensor self) -> Tensor", in_place, out, method, alias("special_i0", out);
        }

        i0e {
            /// The exponentially scaled modified Bessel function of the first kind of order zero.
            pub SpecialI0e = "aten::special_i0e(Tensor self) -> Tensor", out;
        }

        i1 {
            /// The modified Bessel function of the first kind of order one.
            pub SpecialI1 = "aten::special_i1(Tensor self) -> Tensor", out;
        }

        i1e {
            /// The exponentially scaled modified Bessel function of the first kind of order one.
            pub SpecialI1e = "aten::special_i1e(Tensor self) -> Tensor", out;
        }

        igamma {
            /// The regularized lower incomplete gamma function.
            pub Igamma = "aten::igamma(Tensor self, Tensor other) -> Tensor", in_place, out, method, alias("special_gammainc", out);
        }

        igammac {
            /// The regularized upper incomplete gamma function.
            pub Igammac = "aten::igammac(Tensor self, Tensor other) -> Tensor", in_place, out, method, alias("special_gammaincc", out);
        }

        laguerre_polynomial_l {
            /// Laguerre polynomials of degree `n`.
            pub SpecialLaguerrePolynomialL = "aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor", out;
            /// Laguerre polynomials of degree `n`, at one number `x`.
            pub SpecialLaguerrePolynomialLXScalar = "aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Laguerre polynomials of one degree `n`.
            pub SpecialLaguerrePolynomialLNScalar = "aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        legendre_polynomial_p {
            /// Legendre polynomials of degree `n`.
            pub SpecialLegendrePolynomialP = "aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor", out;
            /// Legendre polynomials of degree `n`, at one number `x`.
            pub SpecialLegendrePolynomialPXScalar = "aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Legendre polynomials of one degree `n`.
            pub SpecialLegendrePolynomialPNScalar = "aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        log_ndtr {
            /// The logarithm of the cumulative distribution function of the standard normal distribution.
            pub SpecialLogNdtr = "aten::special_log_ndtr(Tensor self) -> Tensor", out;
        }

        modified_bessel_i0 {
            /// The modified Bessel function of the first kind of order zero.
            pub SpecialModifiedBesselI0 = "aten::special_modified_bessel_i0(Tensor self) -> Tensor", out;
        }

        modified_bessel_i1 {
            /// The modified Bessel function of the first kind of order one.
            pub SpecialModifiedBesselI1 = "aten::special_modified_bessel_i1(Tensor self) -> Tensor", out;
        }

        modified_bessel_k0 {
            /// The modified Bessel function of the second kind of order zero.
            pub SpecialModifiedBesselK0 = "aten::special_modified_bessel_k0(Tensor self) -> Tensor", out;
        }

        modified_bessel_k1 {
            /// The modified Bessel function of the second kind of order one.
            pub SpecialModifiedBesselK1 = "aten::special_modified_bessel_k1(Tensor self) -> Tensor", out;
        }

        mvlgamma {
            /// The logarithm of the multivariate gamma function of dimension `p`.
            pub Mvlgamma = "aten::mvlgamma(Tensor self, int p) -> Tensor", in_place, out, method, alias("special_multigammaln", out);
        }

        ndtr {
            /// The cumulative distribution function of the standard normal distribution.
            pub SpecialNdtr = "aten::special_ndtr(Tensor self) -> Tensor", out;
        }

        ndtri {
            /// The quantile function of the standard normal distribution: the inverse of `special_ndtr`.
            pub SpecialNdtri = "aten::special_ndtri(Tensor self) -> Tensor", out;
        }

        polygamma {
            /// The polygamma function of order `n`: that derivative of the digamma function.
            pub Polygamma = "aten::polygamma(int n, Tensor self) -> Tensor", out, alias("special_polygamma");
            /// The polygamma function of order `n`, in place.
            pub PolygammaInplace = "aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)";
        }

        scaled_modified_bessel_k0 {
            /// The exponentially scaled modified Bessel function of the second kind of order zero.
            pub SpecialScaledModifiedBesselK0 = "aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor", out;
        }

        scaled_modified_bessel_k1 {
            /// The exponentially scaled modified Bessel function of the second kind of order one.
            pub SpecialScaledModifiedBesselK1 = "aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_t {
            /// Shifted Chebyshev polynomials of the first kind of degree `n`.
            pub SpecialShiftedChebyshevPolynomialT = "aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the first kind of degree `n`, at one number `x`.
            pub SpecialShiftedChebyshevPolynomialTXScalar = "aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the first kind of one degree `n`.
            pub SpecialShiftedChebyshevPolynomialTNScalar = "aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_u {
            /// Shifted Chebyshev polynomials of the second kind of degree `n`.
            pub SpecialShiftedChebyshevPolynomialU = "aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the second kind of degree `n`, at one number `x`.
            pub SpecialShiftedChebyshevPolynomialUXScalar = "aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the second kind of one degree `n`.
            pub SpecialShiftedChebyshevPolynomialUNScalar = "aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_v {
            /// Shifted Chebyshev polynomials of the third kind of degree `n`.
            pub SpecialShiftedChebyshevPolynomialV = "aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the third kind of degree `n`, at one number `x`.
            pub SpecialShiftedChebyshevPolynomialVXScalar = "aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the third kind of one degree `n`.
            pub SpecialShiftedChebyshevPolynomialVNScalar = "aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_w {
            /// Shifted Chebyshev polynomials of the fourth kind of degree `n`.
            pub SpecialShiftedChebyshevPolynomialW = "aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the fourth kind of degree `n`, at one number `x`.
            pub SpecialShiftedChebyshevPolynomialWXScalar = "aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Shifted Chebyshev polynomials of the fourth kind of one degree `n`.
            pub SpecialShiftedChebyshevPolynomialWNScalar = "aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        spherical_bessel_j0 {
            /// The spherical Bessel function of the first kind of order zero.
            pub SpecialSphericalBesselJ0 = "aten::special_spherical_bessel_j0(Tensor x) -> Tensor", out;
        }

        xlog1py {
            /// `self * ln(1 + other)`, and zero where `self` is.
            pub SpecialXlog1py = "aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", out;
            pub SpecialXlog1pyOtherScalar = "aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", out;
            pub SpecialXlog1pySelfScalar = "aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", out;
        }

        zeta {
            /// The Hurwitz zeta function.
            pub SpecialZeta = "aten::special_zeta(Tensor self, Tensor other) -> Tensor", out;
            pub SpecialZetaOtherScalar = "aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", out;
            pub SpecialZetaSelfScalar = "aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", out;
        }
    }
}
