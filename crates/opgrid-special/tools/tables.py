"""Writes src/tables.rs: polynomials that interpolate functions. Takes a Python that has mpmath, and the path to write."""

import fractions
import pathlib

from mpmath import mp, mpf

mp.dps = 50
BITS = 57


def chebyshev(function, low, high, most=60):
    """Coefficients of the powers of t in [-1, 1], for the argument (low + high) / 2 + t * (high - low) / 2."""
    low, high = mpf(low), mpf(high)
    middle, half = (low + high) / 2, (high - low) / 2
    angles = [mp.pi * (2 * k + 1) / (2 * most) for k in range(most)]
    values = [function(middle + half * mp.cos(angle)) for angle in angles]
    series = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles)) / most for j in range(most)]
    series[0] /= 2
    least = min(abs(v) for v in values) or max(abs(v) for v in values)
    count = most
    while count > 1 and abs(series[count - 1]) < least * mpf(2) ** -BITS:
        count -= 1
    assert count < most - 4, (function, low, high, count)
    powers = [mpf(0)] * count
    before, now = [mpf(1)], [mpf(0), mpf(1)]
    for j in range(count):
        term = before if j == 0 else now
        for power, c in enumerate(term):
            powers[power] += series[j] * c
        if j > 0:
            following = [mpf(0)] + [2 * c for c in now]
            for power, c in enumerate(before):
                following[power] -= c
            before, now = now, following
    return middle, 1 / half, powers


def number(x):
    text = repr(float(x))
    return text if "." in text or "e" in text else text + ".0"


def pieces(name, about, function, ends):
    lines = [f"/// {about}", f"pub(crate) static {name}: &[Piece] = &["]
    for low, high in zip(ends, ends[1:]):
        middle, scale, powers = chebyshev(function, low, high)
        lines += ["    Piece {", f"        end: {number(high)},", f"        middle: {number(middle)},"]
        lines += [f"        scale: {number(scale)},", "        coefficients: &["]
        lines += [f"            {number(c)}," for c in powers]
        lines += ["        ],", "    },"]
        print(name, low, high, len(powers))
    return "\n".join(lines + ["];"])


def at(v, low, function):
    """The function of 1 / v, for arguments from low on; nearly at infinity for v = 0."""
    return function(mpf(low) / v)


def quotient(function, x):
    return function(x) / x


def k0_rest(v):
    x = mp.sqrt(v)
    return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)


def k1_rest(v):
    x = mp.sqrt(v)
    return (mp.besselk(1, x) - 1 / x - mp.log(x / 2) * mp.besseli(1, x)) / x


def scaled_i(order, x):
    """exp(-x) I(x); by the asymptotic series where that is exact to all digits."""
    if x < 100:
        return mp.besseli(order, x) * mp.exp(-x)
    term, total, k = mpf(1), mpf(1), 0
    while abs(term) > mpf(10) ** -48:
        k += 1
        term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return total / mp.sqrt(2 * mp.pi * x)


def scaled_k(order, x):
    if x < 100:
        return mp.besselk(order, x) * mp.exp(x)
    term, total, k = mpf(1), mpf(1), 0
    while abs(term) > mpf(10) ** -48:
        k += 1
        term *= (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return total * mp.sqrt(mp.pi / (2 * x))


def erfcx(x):
    if x < 100:
        return mp.exp(x * x) * mp.erfc(x)
    term, total, k = mpf(1), mpf(1), 0
    while abs(term) > mpf(10) ** -48:
        k += 1
        term *= -mpf(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def airy_series(zeta, sign):
    """The sums of even and of odd terms of the asymptotic series (DLMF 9.7)."""
    term, even, odd, k = mpf(1), mpf(1), mpf(0), 0
    while abs(term) > mpf(10) ** -48:
        k += 1
        term *= mpf((6 * k - 5) * (6 * k - 1)) / (72 * k * zeta)
        part = term * (1 if k % 4 < 2 or sign > 0 else -1)
        if k % 2:
            odd += part
        else:
            even += part
    return even, odd


def airy_positive(v):
    """2 sqrt(pi) x^(1/4) exp(zeta) Ai(x) with zeta = 2 / v."""
    zeta = 2 / v
    if zeta > 60:
        even, odd = airy_series(zeta, 1)
        return even - odd
    x = (3 * zeta / 2) ** (mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * mp.root(x, 4) * mp.exp(zeta) * mp.airyai(x)


def airy_negative(v):
    """P and Q of Ai(-x) = (cos(zeta - pi/4) P + sin(zeta - pi/4) Q) / (sqrt(pi) x^(1/4)) with zeta = 2 / v."""
    zeta = 2 / v
    if zeta > 60:
        return airy_series(zeta, -1)
    x = (3 * zeta / 2) ** (mpf(2) / 3)
    a, b = mp.airyai(-x), mp.airybi(-x)
    c, s = mp.cos(zeta - mp.pi / 4), mp.sin(zeta - mp.pi / 4)
    scale = mp.sqrt(mp.pi) * mp.root(x, 4)
    return scale * (a * c - b * s), scale * (a * s + b * c)


def quantile(p):
    """The x below which a share p of a normal distribution lies, for p < 1/2."""
    x = -mp.sqrt(-2 * mp.log(p)) if p < 0.2 else (p - mpf(0.5)) * mp.sqrt(2 * mp.pi)
    for _ in range(60):
        density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
        share = mp.erfc(-x / mp.sqrt(2)) / 2
        step = (share - p) / density
        step = step / (1 + x * step / 2)
        x -= step
        if abs(step) < mpf(10) ** -45 * (1 + abs(x)):
            return x
    raise ValueError(p)


def central(v):
    q = mp.sqrt(v)
    return -quantile(mpf(1) / 2 - q) / q


def tail(r):
    """The quantile of p with r = sqrt(-2 ln p), without its sign."""
    return -quantile(mp.exp(-r * r / 2))


def temme(orders, length):
    """Coefficients of the powers of eta in the c_k of DLMF 8.12.11, exactly."""
    F = fractions.Fraction
    size = length + 2 * orders + 4
    # mu as a series in eta, from eta^2 / 2 = mu - ln(1 + mu): eta (1 + mu) = mu dmu/deta.
    mu = [F(0), F(1)]
    for n in range(2, size + 1):
        # The coefficient of eta^n on both sides.
        rest = sum((mu[i] * mu[n + 1 - i] * (n + 1 - i) for i in range(2, n)), F(0))
        mu.append((mu[n - 1] - rest) / (n + 1))
    unit = mu[1:]
    inverse = [F(1)]
    for n in range(1, len(unit)):
        inverse.append(-sum((unit[i] * inverse[n - i] for i in range(1, n + 1)), F(0)))
    # 1 / mu = inverse / eta, and gamma's Stirling coefficients are what cancels the pole.
    c = inverse[1:]
    rows = [c[:length]]
    for _ in range(1, orders):
        # c' / eta + g / mu, where g cancels the power -1.
        g = -c[1]
        derivative = [c[n] * n for n in range(1, len(c))]
        following = [derivative[n + 1] + g * inverse[n + 1] for n in range(len(derivative) - 1)]
        rows.append(following[:length])
        c = following
    return rows


def bernoulli(count):
    """Numbers B_2k / (2k)!."""
    return [mp.bernoulli(2 * k) / mp.factorial(2 * k) for k in range(1, count + 1)]


PARTS = [
    pieces("I0E", "Values of `exp(-x) I0(x)`.", lambda x: scaled_i(0, x), [0, 1, 2, 4, 8]),
    pieces("I0E_FAR", "Values of `sqrt(x) exp(-x) I0(x)`, for `8 / x`.", lambda v: mp.sqrt(8 / v) * scaled_i(0, 8 / v), [0, 0.5, 1]),
    pieces("I1E", "Values of `exp(-x) I1(x) / x`.", lambda x: scaled_i(1, x) / x, [0, 1, 2, 4, 8]),
    pieces("I1E_FAR", "Values of `sqrt(x) exp(-x) I1(x)`, for `8 / x`.", lambda v: mp.sqrt(8 / v) * scaled_i(1, 8 / v), [0, 0.5, 1]),
    pieces("K0_REST", "Values of `K0(x) + ln(x / 2) I0(x)`, for `x²`.", k0_rest, [0, 0.25]),
    pieces("K1_REST", "Values of `(K1(x) - 1 / x - ln(x / 2) I1(x)) / x`, for `x²`.", k1_rest, [0, 0.25]),
    pieces("K0E", "Values of `exp(x) K0(x)`.", lambda x: scaled_k(0, x), [0.5, 0.75, 1, 1.5, 2, 4, 8]),
    pieces("K0E_FAR", "Values of `sqrt(x) exp(x) K0(x)`, for `8 / x`.", lambda v: mp.sqrt(8 / v) * scaled_k(0, 8 / v), [0, 0.5, 1]),
    pieces("K1E", "Values of `exp(x) K1(x)`.", lambda x: scaled_k(1, x), [0.5, 0.75, 1, 1.5, 2, 4, 8]),
    pieces("K1E_FAR", "Values of `sqrt(x) exp(x) K1(x)`, for `8 / x`.", lambda v: mp.sqrt(8 / v) * scaled_k(1, 8 / v), [0, 0.5, 1]),
    pieces("ERFCX", "Values of `exp(x²) erfc(x)`.", erfcx, [0, 0.5, 1, 2, 4, 8]),
    pieces("ERFCX_FAR", "Values of `x exp(x²) erfc(x)`, for `(8 / x)²`.", lambda v: 8 / mp.sqrt(v) * erfcx(8 / mp.sqrt(v)), [0, 1]),
    pieces("AIRY", "Values of `Ai(x)` between its first zero and where it becomes small.", mp.airyai, [-2.125, -2, -1.5, -1, 0, 1, 2.125]),
    pieces("AIRY_POSITIVE", "Values of `2 sqrt(pi) x^(1/4) exp(zeta) Ai(x)`, for `2 / zeta`.", airy_positive, [0, 0.25, 0.5, 1]),
    pieces("AIRY_EVEN", "Values of the even part of `Ai(-x)`, for `2 / zeta`.", lambda v: airy_negative(v)[0], [0, 0.25, 0.5, 1]),
    pieces("AIRY_ODD", "Values of the odd part of `Ai(-x)` times zeta, for `2 / zeta`.", lambda v: airy_negative(v)[1] * 2 / v, [0, 0.25, 0.5, 1]),
    pieces("NDTRI", "Values of `x / q` where a share `1/2 + q` of a normal distribution lies below `x`, for `q²`.", central, [0, 0.0625, 0.125, 0.180625]),
    pieces("NDTRI_TAIL", "Values of `-x` where a share `p` of a normal distribution lies below `x`, for `sqrt(-2 ln p)`.", tail, [2.25, 2.75, 3.5, 5, 8, 16, 39]),
    pieces("LGAMMA_1P", "Values of `ln(gamma(1 + a)) / a`.", lambda a: mp.loggamma(1 + a) / a, [0, 0.25, 0.5, 0.875]),
    pieces("LOG1P_REST", "Values of `(x - ln(1 + x)) / x²`.", lambda x: (x - mp.log1p(x)) / x**2 if x else mpf(1) / 2, [-0.625, -0.46875, -0.3125, -0.15625, 0, 0.15625, 0.3125, 0.625, 1, 1.5]),
]

ROWS = temme(9, 20)
TEMME = ["/// Coefficients of the powers of eta in the functions `c` of DLMF 8.12.11.", f"pub(crate) static TEMME: [[f64; 20]; {len(ROWS)}] = ["]
for row in ROWS:
    TEMME += ["    ["] + [f"        {number(float(c))}," for c in row] + ["    ],"]
TEMME.append("];")
B = ["/// Bernoulli numbers divided by factorials, `B(2k) / (2k)!`.", "pub(crate) static BERNOULLI: [f64; 12] = ["]
B += [f"    {number(b)}," for b in bernoulli(12)] + ["];"]

HEADER = """//! Polynomials that interpolate functions in Chebyshev's points. Written by `tools/tables.py`.

use crate::pieces::Piece;
"""
import sys
pathlib.Path(sys.argv[1]).write_text("\n".join([HEADER, "\n\n".join([*PARTS, "\n".join(TEMME), "\n".join(B)]), ""]))
