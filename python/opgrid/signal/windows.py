"""Windows: tensors of one dimension that weigh the samples of a signal.

All are symmetric unless ``sym=False``, which gives the first ``M`` elements of a symmetric window of ``M + 1``, as transforms use it. They
are of a floating-point dtype, the default one unless another is given; ``M`` may be 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from .. import _opgrid

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(
    name: str, M: int, options: dict[str, Any], weights: Callable[[Any], Any], start: float, end: Callable[[int], float]
) -> Any:
    """The weights at ``M`` places from ``start`` on; a window of one element is 1."""
    dtype = options.pop("dtype", None) or _opgrid.get_default_dtype()
    requires_grad = options.pop("requires_grad", False)
    if not dtype.is_floating_point:
        raise ValueError(f"{name}(): expected a floating-point dtype, found {dtype}")
    if M < 0:
        raise ValueError(f"{name}(): expected M of 0 or more, found {M}")
    if M < 2:
        return _opgrid.function("ones")([M], dtype=dtype, requires_grad=requires_grad, **options)
    places = _opgrid.function("linspace")(start, end(M), M, dtype=dtype, **options)
    found = weights(places)
    return found.requires_grad_() if requires_grad else found


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Any:
    """``exp(-|n - center| / tau)``, around the middle unless a ``center`` is given, which periodic windows alone may have."""
    if tau <= 0:
        raise ValueError(f"exponential(): expected tau above 0, found {tau}")
    if sym and center is not None:
        raise ValueError("exponential(): found a center of a symmetric window; leave it out, or pass sym=False")
    middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center
    return _window("exponential", M, options, lambda n: (-(n.abs())).exp(), -middle / tau, lambda m: (-middle + (m - 1)) / tau)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Any:
    """``sin(pi * (n + 0.5) / M)``."""
    start, step = 0.5, math.pi / (M if sym or M <= 1 else M + 1)
    return _window("cosine", M, options, lambda n: n.sin(), start * step, lambda m: (start + (m - 1)) * step)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Any:
    """``exp(-(n / std)**2 / 2)`` around the middle."""
    if std <= 0:
        raise ValueError(f"gaussian(): expected a standard deviation above 0, found {std}")
    start, scale = -(M if not sym and M > 1 else M - 1) / 2.0, 1 / (std * math.sqrt(2))
    return _window("gaussian", M, options, lambda n: (-(n**2)).exp(), start * scale, lambda m: (start + (m - 1)) * scale)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Any:
    """``i0(beta * sqrt(1 - (2 * n / (M - 1) - 1)**2)) / i0(beta)``."""
    if beta < 0:
        raise ValueError(f"kaiser(): expected beta of 0 or more, found {beta}")
    step = 2.0 * beta / (M if not sym else M - 1) if M > 1 else 0.0
    bound = _opgrid.tensor(beta, dtype=options.get("dtype") or _opgrid.get_default_dtype())

    def weights(n: Any) -> Any:
        i0 = _opgrid.function("i0")
        return i0((bound * bound - n**2).clamp(min=0).sqrt()) / i0(bound)

    return _window("kaiser", M, options, weights, -beta, lambda m: min(beta, -beta + (m - 1) * step))


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Any:
    """The sum of ``(-1)**i * a[i] * cos(2 * pi * i * n / (M - 1))``."""
    weights_of_terms = list(a)
    if not weights_of_terms:
        raise ValueError("general_cosine(): found no coefficients, expected one or more")
    step = 2 * math.pi / (M if not sym else M - 1) if M > 1 else 0.0

    def weights(n: Any) -> Any:
        terms = ((-1) ** i * weight * (i * n).cos() for i, weight in enumerate(weights_of_terms))
        return sum(terms, n * 0)

    return _window("general_cosine", M, options, weights, 0, lambda m: (m - 1) * step)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Any:
    """``alpha - (1 - alpha) * cos(2 * pi * n / (M - 1))``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The general Hamming window with ``alpha = 0.54``."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The general Hamming window with ``alpha = 0.5``."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The general cosine window with ``a = [0.42, 0.5, 0.08]``."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The general cosine window with the four terms that Nuttall gives for small side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Any:
    """A triangle: ``1 - |2 * n / (M - 1) - 1|``."""
    step = 2 / (M if not sym else M - 1) if M > 1 else 0.0
    return _window("bartlett", M, options, lambda n: 1 - n.abs(), -1, lambda m: -1 + (m - 1) * step)
