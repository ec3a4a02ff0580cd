"""Special functions under their short names, beside identities that they satisfy."""

import math

import pytest

import opgrid as og

X = og.tensor([0.25, 0.5, 1.0, 2.0, 3.5, 10.0], dtype=og.float64)


def near(found, expected, bound=1e-13):
    assert og.allclose(found, expected, rtol=bound, atol=bound), (found, expected)


def test_functions_satisfy_identities():
    s = og.special
    near(s.bessel_j1(X) * s.bessel_y0(X) - s.bessel_j0(X) * s.bessel_y1(X), 2 / (math.pi * X))
    near(s.modified_bessel_i0(X) * s.modified_bessel_k1(X) + s.modified_bessel_i1(X) * s.modified_bessel_k0(X), 1 / X)
    near(s.i0e(X), s.i0(X) * og.exp(-X))
    near(s.scaled_modified_bessel_k0(X), s.modified_bessel_k0(X) * og.exp(X))
    near(s.gammainc(X, og.tensor(2.0)) + s.gammaincc(X, og.tensor(2.0)), og.ones_like(X))
    near(s.ndtri(s.ndtr(-X)), -X)
    near(s.log_ndtr(X), og.log(s.ndtr(X)))
    near(s.erfcx(X), og.exp(X * X) * og.erfc(X), 1e-11)
    near(s.zeta(2.0, X), s.polygamma(1, X))
    near(s.multigammaln(X + 1, 2), 0.5 * math.log(math.pi) + og.lgamma(X + 1) + og.lgamma(X + 0.5))
    near(s.spherical_bessel_j0(X), og.sin(X) / X)
    near(s.entr(X), -s.xlogy(X, X))
    near(s.xlog1py(X, X - 1), s.xlogy(X, X))


def test_polynomials_take_numbers_and_tensors():
    x, n = og.tensor([0.5, -2.0]), og.tensor([0, 1, 2, 3]).unsqueeze(1)
    assert og.special.chebyshev_polynomial_t(x, n)[2].tolist() == [-0.5, 7.0]
    assert og.special.legendre_polynomial_p(x, 3).tolist() == [-0.4375, -17.0]
    assert og.special.hermite_polynomial_h(0.5, n).flatten().tolist() == [1.0, 1.0, -1.0, -5.0]
    assert og.special.laguerre_polynomial_l(x, 1).tolist() == [0.5, 3.0]
    assert not og.special.legendre_polynomial_p(x.requires_grad_(), 3).requires_grad


def test_other_names_are_those_of_plain_functions():
    for name, other in [("expit", "sigmoid"), ("gammaln", "lgamma"), ("psi", "digamma"), ("erf", "erf"), ("sinc", "sinc")]:
        assert getattr(og.special, name)(X).tolist() == getattr(og, other)(X).tolist()
    assert og.special.softmax(X, 0).tolist() == og.softmax(X, 0).tolist()
    assert og.special.log_softmax(X, 0, dtype=og.float32).dtype == og.float32
    assert og.special.round(og.tensor([1.26]), decimals=1).tolist() == og.round(og.tensor([1.26]), decimals=1).tolist()
    out = og.empty_like(X)
    assert og.special.exp2(X, out=out) is out and out.tolist() == og.exp2(X).tolist()
    assert "airy_ai" in dir(og.special)
    with pytest.raises(AttributeError, match="there is no operator 'special_nothere'"):
        og.special.nothere


def test_gradients_go_through():
    x = X.detach().requires_grad_()
    og.special.i0(x).sum().backward()
    near(x.grad, og.special.i1(X))
    shape = og.tensor(2.0, dtype=og.float64)
    y = X.detach().requires_grad_()
    og.igamma(shape, y).sum().backward()
    near(y.grad, X * og.exp(-X))
    q = X.detach().requires_grad_()
    og.special.zeta(3.0, q).sum().backward()
    near(q.grad, -3 * og.special.zeta(4.0, X))
    z = X.detach().requires_grad_()
    with pytest.raises(NotImplementedError, match="derivative"):
        og.special.zeta(z, X).sum().backward()
