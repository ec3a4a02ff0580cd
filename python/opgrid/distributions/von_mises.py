"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from .distribution import Distribution


class VonMises(Distribution):
    """Angles in radians around ``loc``, with a density of ``exp(concentration * cos(x - loc))``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """One minus the length of the mean of the angles as points on a circle."""
        return 1 - og.special.i1e(self.concentration) / og.special.i0e(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws by rejection from a wrapped Cauchy distribution (Best and Fisher, 1979), in float64: float32 would never accept some."""
        with og.no_grad():
            loc, kappa = self.loc.double(), self.concentration.double()
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            # Digits cancel where the concentration is small.
            r = og.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            x = loc.new_zeros(self._extended_shape(sample_shape))
            accepted = og.zeros_like(x, dtype=og.bool)
            while not accepted.all():
                u1, u2, u3 = og.rand((3, *x.shape), dtype=x.dtype, device=x.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = og.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                accepted = accepted | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        log_bessel = og.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - log_bessel
