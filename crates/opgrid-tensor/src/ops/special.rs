//! Special functions of elements: Bessel functions, incomplete gamma functions, zeta functions, orthogonal polynomials and others.

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
            /// Chebyshev polynomials of the first kind, by their degrees.
            pub SpecialChebyshevPolynomialT = "aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the first kind of one number, by their degrees.
            pub SpecialChebyshevPolynomialTXScalar = "aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the first kind of one degree.
            pub SpecialChebyshevPolynomialTNScalar = "aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        chebyshev_polynomial_u {
            /// Chebyshev polynomials of the second kind, by their degrees.
            pub SpecialChebyshevPolynomialU = "aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the second kind of one number, by their degrees.
            pub SpecialChebyshevPolynomialUXScalar = "aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the second kind of one degree.
            pub SpecialChebyshevPolynomialUNScalar = "aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        chebyshev_polynomial_v {
            /// Chebyshev polynomials of the third kind, by their degrees.
            pub SpecialChebyshevPolynomialV = "aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the third kind of one number, by their degrees.
            pub SpecialChebyshevPolynomialVXScalar = "aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the third kind of one degree.
            pub SpecialChebyshevPolynomialVNScalar = "aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        chebyshev_polynomial_w {
            /// Chebyshev polynomials of the fourth kind, by their degrees.
            pub SpecialChebyshevPolynomialW = "aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the fourth kind of one number, by their degrees.
            pub SpecialChebyshevPolynomialWXScalar = "aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the fourth kind of one degree.
            pub SpecialChebyshevPolynomialWNScalar = "aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        entr {
            /// The entropy of elements.
            pub SpecialEntr = "aten::special_entr(Tensor self) -> Tensor", out;
        }

        erfcx {
            /// The complementary error function, scaled by an exponential.
            pub SpecialErfcx = "aten::special_erfcx(Tensor self) -> Tensor", out;
        }

        hermite_polynomial_h {
            /// Hermite polynomials of the physicists, by their degrees.
            pub SpecialHermitePolynomialH = "aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor", out;
            /// Hermite polynomials of the physicists of one number, by their degrees.
            pub SpecialHermitePolynomialHXScalar = "aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Hermite polynomials of the physicists of one degree.
            pub SpecialHermitePolynomialHNScalar = "aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        hermite_polynomial_he {
            /// Hermite polynomials of statistics, by their degrees.
            pub SpecialHermitePolynomialHe = "aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor", out;
            /// Hermite polynomials of statistics of one number, by their degrees.
            pub SpecialHermitePolynomialHeXScalar = "aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Hermite polynomials of statistics of one degree.
            pub SpecialHermitePolynomialHeNScalar = "aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        i0 {
            /// The modified Bessel function of the first kind of order zero.
            pub I0 = "aten::i0(Tensor self) -> Tensor", in_place, out, method, alias("special_i0", out);
        }

        i0e {
            /// The modified Bessel function of the first kind of order zero, scaled by an exponential.
            pub SpecialI0e = "aten::special_i0e(Tensor self) -> Tensor", out;
        }

        i1 {
            /// The modified Bessel function of the first kind of order one.
            pub SpecialI1 = "aten::special_i1(Tensor self) -> Tensor", out;
        }

        i1e {
            /// The modified Bessel function of the first kind of order one, scaled by an exponential.
            pub SpecialI1e = "aten::special_i1e(Tensor self) -> Tensor", out;
        }

        igamma {
            /// The lower incomplete gamma function, as a part of the whole one.
            pub Igamma = "aten::igamma(Tensor self, Tensor other) -> Tensor", in_place, out, method, alias("special_gammainc", out);
        }

        igammac {
            /// The upper incomplete gamma function, as a part of the whole one.
            pub Igammac = "aten::igammac(Tensor self, Tensor other) -> Tensor", in_place, out, method, alias("special_gammaincc", out);
        }

        laguerre_polynomial_l {
            /// Laguerre polynomials, by their degrees.
            pub SpecialLaguerrePolynomialL = "aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor", out;
            /// Laguerre polynomials of one number, by their degrees.
            pub SpecialLaguerrePolynomialLXScalar = "aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Laguerre polynomials of one degree.
            pub SpecialLaguerrePolynomialLNScalar = "aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        legendre_polynomial_p {
            /// Legendre polynomials, by their degrees.
            pub SpecialLegendrePolynomialP = "aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor", out;
            /// Legendre polynomials of one number, by their degrees.
            pub SpecialLegendrePolynomialPXScalar = "aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Legendre polynomials of one degree.
            pub SpecialLegendrePolynomialPNScalar = "aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        log_ndtr {
            /// The logarithm of the part of a normal distribution that lies below elements.
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
            /// The part of a normal distribution that lies below elements.
            pub SpecialNdtr = "aten::special_ndtr(Tensor self) -> Tensor", out;
        }

        ndtri {
            /// The number below which a part of a normal distribution lies.
            pub SpecialNdtri = "aten::special_ndtri(Tensor self) -> Tensor", out;
        }

        polygamma {
            /// The derivative of order `n` of the digamma function.
            pub Polygamma = "aten::polygamma(int n, Tensor self) -> Tensor", out, alias("special_polygamma");
            /// The derivative of order `n` of the digamma function, in place.
            pub PolygammaInplace = "aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)";
        }

        scaled_modified_bessel_k0 {
            /// The modified Bessel function of the second kind of order zero, scaled by an exponential.
            pub SpecialScaledModifiedBesselK0 = "aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor", out;
        }

        scaled_modified_bessel_k1 {
            /// The modified Bessel function of the second kind of order one, scaled by an exponential.
            pub SpecialScaledModifiedBesselK1 = "aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_t {
            /// Chebyshev polynomials of the first kind, shifted to numbers from 0 to 1, by their degrees.
            pub SpecialShiftedChebyshevPolynomialT = "aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the first kind, shifted to numbers from 0 to 1 of one number, by their degrees.
            pub SpecialShiftedChebyshevPolynomialTXScalar = "aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the first kind, shifted to numbers from 0 to 1 of one degree.
            pub SpecialShiftedChebyshevPolynomialTNScalar = "aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_u {
            /// Chebyshev polynomials of the second kind, shifted to numbers from 0 to 1, by their degrees.
            pub SpecialShiftedChebyshevPolynomialU = "aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the second kind, shifted to numbers from 0 to 1 of one number, by their degrees.
            pub SpecialShiftedChebyshevPolynomialUXScalar = "aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the second kind, shifted to numbers from 0 to 1 of one degree.
            pub SpecialShiftedChebyshevPolynomialUNScalar = "aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_v {
            /// Chebyshev polynomials of the third kind, shifted to numbers from 0 to 1, by their degrees.
            pub SpecialShiftedChebyshevPolynomialV = "aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the third kind, shifted to numbers from 0 to 1 of one number, by their degrees.
            pub SpecialShiftedChebyshevPolynomialVXScalar = "aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the third kind, shifted to numbers from 0 to 1 of one degree.
            pub SpecialShiftedChebyshevPolynomialVNScalar = "aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        shifted_chebyshev_polynomial_w {
            /// Chebyshev polynomials of the fourth kind, shifted to numbers from 0 to 1, by their degrees.
            pub SpecialShiftedChebyshevPolynomialW = "aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the fourth kind, shifted to numbers from 0 to 1 of one number, by their degrees.
            pub SpecialShiftedChebyshevPolynomialWXScalar = "aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor", out;
            /// Chebyshev polynomials of the fourth kind, shifted to numbers from 0 to 1 of one degree.
            pub SpecialShiftedChebyshevPolynomialWNScalar = "aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor", out;
        }

        spherical_bessel_j0 {
            /// The spherical Bessel function of the first kind of order zero.
            pub SpecialSphericalBesselJ0 = "aten::special_spherical_bessel_j0(Tensor x) -> Tensor", out;
        }

        xlog1py {
            /// Elements times the logarithm of one more than others.
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
