"""Writes tests/data: arguments, what mpmath gives for them, and what errors are relative to. Takes a Python that has mpmath, and the folder."""

import pathlib
import random
import sys

from mpmath import mp, mpf

mp.dps = 40
random.seed(1)


def spread(low, high, count):
    """Numbers whose logarithms are spread evenly."""
    return [low * (high / low) ** (k / (count - 1)) * (1 + 0.001 * random.random()) for k in range(count)]


def even(low, high, count):
    return [low + (high - low) * (k + random.random()) / count for k in range(count)]


def both(numbers):
    return [sign * x for x in numbers for sign in (1, -1)]


def amplitude(x):
    return mp.sqrt(2 / (mp.pi * max(abs(x), mpf(2) / 3)))


def hurwitz(x, q):
    """The sum from a number on that is positive, and the terms before it."""
    total, size = mpf(0), mpf(0)
    while q < 1 or (q < 150 and size < mpf(10) ** 300 and q ** -x > size * mpf(10) ** -45):
        total += q**-x
        size = max(size, abs(q**-x))
        q += 1
    if q >= 150:
        total += far_zeta(x, q)
    return total, max(size, abs(total))


def far_zeta(x, q):
    total = q ** (1 - x) / (x - 1) + q**-x / 2
    factor = x * q ** (-x - 1)
    for k in range(1, 26):
        total += mp.bernoulli(2 * k) / mp.factorial(2 * k) * factor
        factor *= (x + 2 * k - 1) * (x + 2 * k) / q**2
    return total


def polygamma(n, x):
    value, size = hurwitz(mpf(n) + 1, x)
    return (-1) ** (n + 1) * mp.factorial(n) * value, mp.factorial(n) * size


def lower_gamma(a, x):
    if x < a + 1:
        term, total, k = mpf(1), mpf(1), 0
        while abs(term) > mpf(10) ** -38 * total:
            k += 1
            term *= x / (a + k)
            total += term
        return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * total
    return 1 - upper_gamma(a, x)


def upper_gamma(a, x):
    if x < a + 1:
        before = mp.dps
        mp.dps = 60
        value = 1 - lower_gamma(a, x)
        mp.dps = before
        return value
    count = 4000 if x < 3 else 1500
    tail = mpf(0)
    for k in range(count, 0, -1):
        tail = k * (a - k) / (x + 2 * k + 1 - a + tail)
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a)) / (x + 1 - a + tail)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def ndtri(p):
    x = mpf(0) if abs(p - 0.5) < 0.3 else (-1 if p < 0.5 else 1) * mp.sqrt(-2 * mp.log(min(p, 1 - p)))
    for _ in range(100):
        density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
        step = (ndtr(x) - p) / density if x < 0 else -(ndtr(-x) - (1 - p)) / density
        step = step / (1 + x * step / 2)
        x -= step
        if abs(step) < mpf(10) ** -36 * abs(x):
            return x
    return x


def recurrence(n, first, second, step):
    before, now = first, second
    for k in range(1, n):
        before, now = now, step(k, now, before)
    return now if n else first


def chebyshev(n, x, second):
    return recurrence(n, mpf(1), second, lambda k, a, b: 2 * x * a - b)


def legendre(n, x):
    return recurrence(n, mpf(1), x, lambda k, a, b: ((2 * k + 1) * x * a - k * b) / (k + 1))


def laguerre(n, x):
    return recurrence(n, mpf(1), 1 - x, lambda k, a, b: ((2 * k + 1 - x) * a - k * b) / (k + 1))


def hermite(n, x, scale, sign):
    return recurrence(n, mpf(1), scale * x, lambda k, a, b: scale * (x * a - sign * k * b))


def over(x):
    """What values of polynomials of later kinds are relative to between -1 and 1."""
    return 1 / mp.sqrt(1 - x * x) if abs(x) < 1 else mpf(0)


def kinds(x, n):
    return {
        "t": (chebyshev(n, x, x), mpf(1) if abs(x) < 1 else mpf(0)),
        "u": (chebyshev(n, x, 2 * x), over(x)),
        "v": (chebyshev(n, x, 2 * x - 1), over(x)),
        "w": (chebyshev(n, x, 2 * x + 1), over(x)),
    }


def slope_of_share(share, density, a, x):
    """How far a number moves that keeps its share of a distribution. Takes the share on its side, which loses no digits, and the density."""
    with mp.workdps(60):
        return mp.diff(lambda a: share(a, x), a, h=mpf(10) ** -25) / density(a, x)


def gamma_gradient(a, x):
    def density(a, x):
        return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))

    if x > a:
        return slope_of_share(lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), density, a, x)
    return -slope_of_share(lambda a, x: mp.gammainc(a, 0, x, regularized=True), density, a, x)


def dirichlet_gradient(x, a, total):
    b = total - a

    def density(a, x):
        return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b) * (1 - x)

    if x > a / total:
        return slope_of_share(lambda a, x: mp.betainc(b, a, 0, 1 - x, regularized=True), density, a, x)
    return -slope_of_share(lambda a, x: mp.betainc(a, b, 0, x, regularized=True), density, a, x)


wide = both(spread(1e-300, 1e-3, 12) + spread(1e-3, 60.0, 90))
positive = spread(1e-300, 1e-3, 12) + spread(1e-3, 700.0, 160)
degrees = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 17, 40, 101]
# Twice the number less one is exact.
quarters = [k / 2**20 for k in random.sample(range(1, 2**20), 12)] + [1.25, 1.5, -0.5, 2.0]


def functions():
    yield "i0", lambda x: mp.besseli(0, x), wide + spread(60.0, 700.0, 20)
    yield "i1", lambda x: mp.besseli(1, x), wide + spread(60.0, 700.0, 20)
    yield "i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), wide + spread(60.0, 5e3, 20)
    yield "i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), wide + spread(60.0, 5e3, 20)
    yield "k0", lambda x: mp.besselk(0, x), positive
    yield "k1", lambda x: mp.besselk(1, x), positive
    yield "k0e", lambda x: mp.besselk(0, x) * mp.exp(x), positive
    yield "k1e", lambda x: mp.besselk(1, x) * mp.exp(x), positive
    near = both(spread(1e-300, 1e-3, 6) + spread(1e-3, 60.0, 70)) + spread(60.0, 1e5, 30)
    yield "bessel_j0", lambda x: (mp.besselj(0, x), amplitude(x)), near
    yield "bessel_j1", lambda x: (mp.besselj(1, x), amplitude(x) if abs(x) > 1 else 0), near
    yield "bessel_y0", lambda x: (mp.bessely(0, x), amplitude(x)), [abs(x) for x in near]
    yield "bessel_y1", lambda x: (mp.bessely(1, x), amplitude(x)), [abs(x) for x in near]
    yield "spherical_bessel_j0", lambda x: mp.sin(x) / x, near
    yield "airy_ai", lambda x: (mp.airyai(x), 0 if x > -2 else abs(x) ** mpf(-0.25) / mp.sqrt(mp.pi)), (
        even(-2, 10, 120) + even(10, 103, 30) + even(-30, -2, 80) + [-x for x in spread(30.0, 1e4, 20)] + both(spread(1e-300, 1e-3, 5))
    )
    yield "erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), even(-26.6, 10, 160) + spread(10.0, 60.0, 20) + both(spread(1e-300, 0.1, 12))
    yield "ndtr", ndtr, even(-37.5, -8, 60) + even(-8, 8, 160) + both(spread(1e-300, 0.1, 12))
    yield "log_ndtr", lambda x: mp.log(ndtr(x)) if x < 0 else mp.log1p(-ndtr(-x)), even(-37.5, -8, 60) + even(-8, 37, 160) + both(spread(1e-300, 0.1, 12))
    yield "ndtri", ndtri, even(0, 1, 120) + spread(1e-307, 0.1, 80) + [1 - x for x in spread(1e-15, 0.1, 20)] + [0.5 + x for x in both(spread(1e-12, 0.1, 12))]
    yield "entr", lambda x: -x * mp.log(x), spread(1e-300, 1e300, 60) + even(0.01, 3, 60)
    rates = [(random.uniform(-9, 9), y) for y in spread(1e-300, 1e300, 60) + even(-1, 3, 60) + both(spread(1e-18, 0.5, 20))]
    yield "xlog1py", lambda x, y: x * mp.log1p(y), rates
    orders = [1.0000001, 1.01, 1.5, 2.0, 2.5, 3.0, 5.0, 9.5, 20.0, 50.0, 150.0]
    starts = spread(1e-5, 1e5, 14) + [1.0, 2.0, 9.0, 10.0, 20.5, 33.0]
    yield "zeta", hurwitz, [(x, q) for x in orders for q in starts if 1e-290 < mpf(q) ** -x < 1e300]
    yield "zeta_of_negative", hurwitz, [(x, -q) for x in (2.0, 3.0, 4.0, 7.0, 20.0) for q in even(0, 6, 12) + [19.3, 21.6, 30.4, 101.7]]
    polys = [(n, x) for n in (1, 2, 3, 4, 5, 9, 20) for x in spread(1e-5, 1e5, 20) + even(0.5, 12, 10)]
    yield "polygamma", polygamma, [(n, x) for n, x in polys if mpf(x) ** -(n + 1) < 1e280]
    polys = [(n, -x) for n in (1, 2, 3, 4, 8) for x in even(0, 5, 10) + [30.3, 100.7]]
    yield "polygamma_of_negative", polygamma, polys
    polys = [(n, x) for n in (40, 100, 169, 200, 400) for x in [0.7, 1.0, 3.4, 20.0, 90.0, 1e3, 1e4]]
    huge = [(n, x) for n, x in polys if 1e-300 < abs(polygamma(n, mpf(x))[0]) < 1e300]
    yield "polygamma_of_large", polygamma, huge
    shapes = spread(1e-8, 90.0, 24) + [0.5, 1.0, 2.0, 5.0, 10.0, 30.0]
    pairs = [(a, f * a) for a in shapes for f in (0.01, 0.3, 0.7, 0.95, 1.0, 1.05, 1.4, 3.0)]
    pairs += [(a, x) for a in spread(1e-8, 30.0, 12) for x in (1e-9, 0.01, 0.3, 0.6, 1.0, 1.2, 2.0, 6.0, 25.0)]
    large = [(a, a + f * a**0.5) for a in (101.0, 150.5, 333.0, 1e3, 2.5e4) for f in (-5, -2.5, -1, -0.1, 0, 0.1, 1, 2.5, 5)]
    large += [(a, f * a) for a in (101.0, 140.0, 200.0) for f in (0.5, 0.65, 0.75, 1.25, 1.35, 2)]
    def kept(function):
        found = []
        for a, x in pairs + large:
            if x > 1e-10 and 1e-200 < function(mpf(a), mpf(x)):
                found.append((a, x))
        return found
    # What is lost in exponents counts with the logarithm.
    def sized(function):
        def value(a, x):
            found = function(a, x)
            return found, found * max(1, -mp.log(found) / 3)
        return value
    yield "gamma_p", sized(lower_gamma), kept(lower_gamma)
    yield "gamma_q", sized(upper_gamma), kept(upper_gamma)
    def multivariate(x, p):
        parts = [mp.re(mp.loggamma(x - mpf(j) / 2)) for j in range(p)] + [mpf(p * (p - 1)) / 4 * mp.log(mp.pi)]
        return mp.fsum(parts), max(abs(part) for part in parts)
    yield "multivariate_ln_gamma", multivariate, [(x, p) for p in (1, 2, 3, 5, 9) for x in even((p - 1) / 2, 20, 16) + [50.0, 1e4]]
    places = even(-1, 1, 10) + [0.99999, -0.999, 0.5, -0.5, 1.0001, -1.5, 3.0]
    for kind in "tuvw":
        yield f"chebyshev_{kind}", lambda x, n, kind=kind: kinds(x, n)[kind], [(x, n) for x in places for n in degrees]
    for kind in "tuvw":
        yield f"shifted_chebyshev_{kind}", lambda x, n, kind=kind: kinds(2 * x - 1, n)[kind], [(x, n) for x in quarters for n in degrees]
    wider = places + even(-9, 9, 8)
    few = [(x, n) for x in wider for n in degrees]
    yield "hermite_h", lambda x, n: (hermite(n, x, 2, 1), hermite(n, abs(x), 2, -1)), few
    def he(x, n, sign):
        return recurrence(n, mpf(1), x, lambda k, a, b: x * a - sign * k * b)
    yield "hermite_he", lambda x, n: (he(x, n, 1), he(abs(x), n, -1)), few
    yield "laguerre_l", lambda x, n: (laguerre(n, x), laguerre(n, -abs(x))), few
    yield "legendre_p", lambda x, n: (legendre(n, x), mpf(1) if abs(x) < 1 else 0), [(x, n) for x in places for n in degrees]
    def near_one(function):
        return lambda x: (function(x), mpf(1))
    yield "digamma", near_one(mp.digamma), spread(1e-8, 1e8, 60) + even(0.1, 12, 60) + [-x for x in even(0, 5, 20)]
    yield "ln_gamma", near_one(lambda x: mp.re(mp.loggamma(x))), spread(1e-8, 1e8, 60) + even(0.1, 12, 60) + [-x for x in even(0, 5, 20)]
    shapes = spread(1e-2, 1e4, 14) + [1.0, 3.0]
    pairs = [(a, f * a) for a in shapes for f in (1e-4, 0.1, 0.7, 1.0, 1.05, 1.5)] + [(a, a + 3 * a**0.5) for a in shapes]
    yield "standard_gamma_gradient", gamma_gradient, pairs
    shapes = [(a, b) for a in (0.05, 0.5, 1.0, 3.5, 20.0, 60.0) for b in (0.05, 0.5, 1.0, 2.5, 40.0)]
    places = [(f * a / (a + b), a, a + b) for a, b in shapes for f in (0.01, 0.5, 1.0)]
    places += [((a + 0.1 * b) / (a + b), a, a + b) for a, b in shapes]
    yield "dirichlet_gradient", dirichlet_gradient, places


folder = pathlib.Path(sys.argv[1])
for name, function, points in functions():
    lines = []
    for point in points:
        point = point if isinstance(point, tuple) else (point,)
        value = function(*(p if isinstance(p, int) else mpf(p) for p in point))
        value, scale = value if isinstance(value, tuple) else (value, 0)
        scale = max(abs(value), mpf(scale))
        if mpf(2) ** -1022 <= scale < mpf(2) ** 1023:
            lines.append(",".join([*map(repr, point), repr(float(value)), f"{float(scale):.3e}"]))
    (folder / f"{name}.csv").write_text("\n".join([*lines, ""]))
    print(name, len(lines), flush=True)
