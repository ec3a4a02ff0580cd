"""Compares the distributions, divergences, transforms and constraints of opgrid with those of torch.

Every distribution is made on both sides with the same parameters. Compared are numbers, gradients, draws after the same seed, texts and
classes of exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opgrid.distributions
import torch
from beside import Comparison, Program, library

SQUARE = [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]
FACTOR = [[1.2, 0.0, 0.0], [0.4, 0.9, 0.0], [-0.3, 0.2, 1.1]]
LOGITS = [[0.2, -1.0, 0.7], [1.5, 0.1, -0.4]]
PROBS = [[0.2, 0.5, 0.3], [0.1, 0.6, 0.3]]

# The parameters of each distribution, as lists or numbers; lists become tensors of float64 with gradients.
PARAMETERS: list[tuple[str, dict[str, Any]]] = [
    ("Bernoulli", {"probs": [0.2, 0.5, 0.9]}),
    ("Bernoulli", {"logits": [0.2, -1.5, 3.0]}),
    ("Bernoulli", {"probs": 0.3}),
    ("Beta", {"concentration1": [0.5, 2.0, 3.5], "concentration0": [1.5, 2.0, 0.7]}),
    ("Beta", {"concentration1": 2.0, "concentration0": 3.0}),
    ("Binomial", {"total_count": 5, "probs": [0.2, 0.5, 0.9]}),
    ("Binomial", {"total_count": [3.0, 8.0], "logits": [0.2, -1.5]}),
    ("Categorical", {"probs": PROBS}),
    ("Categorical", {"logits": LOGITS}),
    ("Categorical", {"logits": LOGITS[0]}),
    ("Cauchy", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    ("Chi2", {"df": [1.0, 3.5, 8.0]}),
    ("ContinuousBernoulli", {"probs": [0.1, 0.4995, 0.8]}),
    ("ContinuousBernoulli", {"logits": [-1.0, 0.0001, 2.0]}),
    ("Dirichlet", {"concentration": [[0.5, 2.0, 3.0], [1.0, 1.0, 1.0]]}),
    ("Dirichlet", {"concentration": [0.5, 0.4]}),
    ("Exponential", {"rate": [0.5, 2.0]}),
    ("FisherSnedecor", {"df1": [1.0, 5.0, 3.0], "df2": [1.5, 7.0, 3.0]}),
    ("Gamma", {"concentration": [0.5, 1.0, 4.0], "rate": [1.0, 2.0, 0.5]}),
    ("GeneralizedPareto", {"loc": [0.0, 1.0, 0.5, 0.0], "scale": [1.0, 2.0, 0.5, 1.0], "concentration": [0.0, 0.3, -0.5, 1.5]}),
    ("Geometric", {"probs": [0.2, 0.5, 0.9]}),
    ("Geometric", {"logits": [0.2, -1.5]}),
    ("Gumbel", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    ("HalfCauchy", {"scale": [1.0, 2.5]}),
    ("HalfNormal", {"scale": [1.0, 2.5]}),
    ("InverseGamma", {"concentration": [0.5, 1.5, 4.0], "rate": [1.0, 2.0, 0.5]}),
    ("Kumaraswamy", {"concentration1": [0.5, 2.0, 3.5], "concentration0": [1.5, 2.0, 0.7]}),
    ("LKJCholesky", {"dim": 3, "concentration": [0.5, 2.0]}),
    ("LKJCholesky", {"dim": 2}),
    ("Laplace", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    ("LogNormal", {"loc": [0.5, -1.0], "scale": [1.0, 0.5]}),
    ("LogisticNormal", {"loc": [[0.5, -1.0], [0.0, 0.2]], "scale": [[1.0, 0.5], [2.0, 1.0]]}),
    ("LogisticNormal", {"loc": 0.0, "scale": 1.0}),
    ("LowRankMultivariateNormal", {"loc": [0.5, -1.0, 0.2], "cov_factor": [[1.0], [0.5], [-0.3]], "cov_diag": [0.5, 1.0, 0.7]}),
    (
        "LowRankMultivariateNormal",
        {"loc": [[0.5, -1.0, 0.2]] * 2, "cov_factor": [[1.0, 0.2], [0.5, 0.1], [-0.3, 0.7]], "cov_diag": [0.5, 1.0, 0.7]},
    ),
    ("Multinomial", {"total_count": 6, "probs": PROBS}),
    ("Multinomial", {"total_count": 3, "logits": LOGITS[0]}),
    ("MultivariateNormal", {"loc": [0.5, -1.0, 0.2], "covariance_matrix": SQUARE}),
    ("MultivariateNormal", {"loc": [[0.5, -1.0, 0.2], [0.0, 1.0, 2.0]], "precision_matrix": SQUARE}),
    ("MultivariateNormal", {"loc": [0.5, -1.0, 0.2], "scale_tril": [FACTOR, FACTOR]}),
    ("NegativeBinomial", {"total_count": [3.0, 8.0], "probs": [0.2, 0.7]}),
    ("NegativeBinomial", {"total_count": 4, "logits": [0.2, -1.0]}),
    ("Normal", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    ("Normal", {"loc": 0.0, "scale": 1.0}),
    ("Normal", {"loc": 0.0, "scale": [[1.0, 2.0], [0.5, 1.5]]}),
    ("OneHotCategorical", {"probs": PROBS}),
    ("OneHotCategorical", {"logits": LOGITS[0]}),
    ("OneHotCategoricalStraightThrough", {"logits": LOGITS}),
    ("Pareto", {"scale": [1.0, 2.5, 0.5], "alpha": [0.5, 1.5, 3.0]}),
    ("Poisson", {"rate": [0.5, 3.0, 20.0]}),
    ("RelaxedBernoulli", {"temperature": [0.7], "probs": [0.2, 0.5, 0.9]}),
    ("RelaxedBernoulli", {"temperature": [0.7], "logits": [0.2, -0.5]}),
    ("RelaxedOneHotCategorical", {"temperature": [0.7], "probs": PROBS}),
    ("RelaxedOneHotCategorical", {"temperature": [0.7], "logits": LOGITS[0]}),
    ("StudentT", {"df": [0.5, 1.5, 4.0], "loc": [0.0, 1.0, 2.0], "scale": [1.0, 0.5, 2.0]}),
    ("StudentT", {"df": 3.0}),
    ("Uniform", {"low": [0.0, -1.0], "high": [1.0, 2.5]}),
    ("VonMises", {"loc": [0.5, -1.0], "concentration": [1.0, 4.5]}),
    ("Weibull", {"scale": [1.0, 2.5], "concentration": [1.5, 3.0]}),
    ("Wishart", {"df": 4.5, "covariance_matrix": SQUARE}),
    ("Wishart", {"df": [4.0, 6.0], "scale_tril": FACTOR}),
]

# Distributions that are made of others.
COMPOSED: dict[str, Program] = {
    "Independent": lambda d: d.Independent(d.Normal(tensor(d, [[0.5, 1.0], [0.0, 2.0]]), 1.5), 1),
    "Independent of vectors": lambda d: d.Independent(d.Dirichlet(tensor(d, [[0.5, 2.0, 3.0], [1.0, 1.0, 1.0]])), 1),
    "Independent of nothing": lambda d: d.Independent(d.Bernoulli(tensor(d, [0.5, 0.2])), 0),
    "mixture": lambda d: d.MixtureSameFamily(d.Categorical(tensor(d, [0.3, 0.7])), d.Normal(tensor(d, [-1.0, 2.0]), tensor(d, [0.5, 1.5]))),
    "mixture of a batch": lambda d: d.MixtureSameFamily(
        d.Categorical(tensor(d, PROBS)), d.Normal(tensor(d, LOGITS), tensor(d, [[0.5, 1.0, 2.0], [1.0, 1.5, 0.3]]))
    ),
    "mixture of vectors": lambda d: d.MixtureSameFamily(
        d.Categorical(tensor(d, [0.3, 0.7])), d.Independent(d.Normal(tensor(d, [[-1.0, 0.5, 1.0], [2.0, 0.1, 0.0]]), 1.5), 1)
    ),
    "mixture of counts": lambda d: d.MixtureSameFamily(d.Categorical(tensor(d, [0.3, 0.7])), d.Poisson(tensor(d, [1.0, 4.0]))),
    "transformed": lambda d: d.TransformedDistribution(
        d.Normal(tensor(d, [0.5, -1.0]), 1.5), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]
    ),
    "transformed and broadcast": lambda d: d.TransformedDistribution(
        d.Normal(tensor(d, 0.5), 1.5), d.AffineTransform(tensor(d, [0.0, 1.0, 2.0]), tensor(d, [1.0, -1.0, 3.0]))
    ),
    "transformed vectors": lambda d: d.TransformedDistribution(
        d.MultivariateNormal(tensor(d, [0.5, -1.0, 0.2]), tensor(d, SQUARE)), [d.StickBreakingTransform()]
    ),
    "transformed matrices": lambda d: d.TransformedDistribution(
        d.Normal(tensor(d, [0.5, -1.0, 0.2]), 0.5), [d.CorrCholeskyTransform()]
    ),
    "reshaped": lambda d: d.TransformedDistribution(d.Normal(tensor(d, [0.5, -1.0, 0.2, 0.0]), 0.5), [d.ReshapeTransform((4,), (2, 2))]),
    "untransformed": lambda d: d.TransformedDistribution(d.Normal(tensor(d, [0.5, -1.0]), 0.5), []),
    "logit of a uniform": lambda d: d.TransformedDistribution(
        d.Uniform(tensor(d, [0.0]), tensor(d, [1.0])), [d.SigmoidTransform().inv, d.AffineTransform(tensor(d, 2.0), tensor(d, 3.0))]
    ),
}

# What is asked of each distribution, beside what depends on draws.
FACTS: dict[str, Program] = {
    "repr": lambda p: repr(p),
    "batch shape": lambda p: tuple(p.batch_shape),
    "event shape": lambda p: tuple(p.event_shape),
    "support": lambda p: repr(p.support),
    "discrete": lambda p: p.support.is_discrete,
    "event dim": lambda p: p.support.event_dim,
    "constraints": lambda p: {name: repr(constraint) for name, constraint in p.arg_constraints.items()},
    "has rsample": lambda p: p.has_rsample,
    "has enumerate support": lambda p: p.has_enumerate_support,
    "mean": lambda p: p.mean,
    "mode": lambda p: p.mode,
    "variance": lambda p: p.variance,
    "stddev": lambda p: p.stddev,
    "entropy": lambda p: p.entropy(),
    "perplexity": lambda p: p.perplexity(),
    "values": lambda p: p.enumerate_support(),
    "values, not expanded": lambda p: p.enumerate_support(expand=False),
    "expanded": lambda p: p.expand((5, *p.batch_shape)),
    "expanded twice": lambda p: repr(p.expand((5, *p.batch_shape)).expand((2, 5, *p.batch_shape))),
    "expanded mean": lambda p: p.expand((5, *p.batch_shape)).mean,
    "param shape": lambda p: tuple(p.param_shape),
    "probs": lambda p: p.probs,
    "logits": lambda p: p.logits,
    "temperature": lambda p: p.temperature,
    "scale_tril": lambda p: p.scale_tril,
    "covariance_matrix": lambda p: p.covariance_matrix,
    "precision_matrix": lambda p: p.precision_matrix,
}

LEVELS = [0.05, 0.3, 0.5, 0.9]


def tensor(d: Any, value: Any, grad: bool = False) -> Any:
    m = library(d)
    return m.tensor(value, dtype=m.float64, requires_grad=grad)


TOLERANCES = {
    # torch approximates Bessel functions by polynomials.
    "VonMises": 1e-6,
    # torch computes lgamma of the count in float32.
    "Multinomial": 1e-6,
}


def maker(name: str, parameters: dict[str, Any]) -> Callable[..., Any]:
    """Makes the distribution with a module, and returns it with its tensors."""

    def make(d: Any) -> tuple[Any, list[Any]]:
        given = {key: tensor(d, value, True) if isinstance(value, list) else value for key, value in parameters.items()}
        return getattr(d, name)(**given), [value for value in given.values() if hasattr(value, "grad_fn")]

    return make


def gradients(d: Any, result: Any, tensors: list[Any]) -> list[Any]:
    m = library(d)
    weights = m.linspace(0.5, 1.5, result.numel(), dtype=m.float64).reshape(result.shape)
    found = m.autograd.grad((result * weights).sum(), tensors, allow_unused=True)
    return [m.zeros(0) if grad is None else grad for grad in found]


# What gradients are taken of, for a distribution and values of it, and how near they have to be.
DIFFERENTIATED: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    # torch approximates the derivative of draws from a gamma distribution by its shape to 1e-3.
    "rsample": (lambda p, values: p.rsample((20,)), 1e-3),
    "log_prob": (lambda p, values: p.log_prob(values), 1e-7),
    "entropy": (lambda p, values: p.entropy(), 1e-7),
}


def compare_distribution(compare: Comparison, title: str, make: Callable[..., Any]) -> None:
    """Compares one distribution, which ``make`` makes with either module."""
    torch.manual_seed(3)
    theirs = make(torch.distributions)[0]
    drawn, levels = theirs.sample((6,)).tolist(), LEVELS
    for _ in theirs.batch_shape:
        levels = [[level] for level in levels]
    facts: dict[str, Program] = {
        **FACTS,
        "sample": lambda p: p.sample(),
        "samples": lambda p: p.sample((4, 20)),
        "sample without gradients": lambda p: p.sample((2,)).requires_grad,
        "rsample": lambda p: p.rsample((20,)),
        "samples of expanded": lambda p: p.expand((3, *p.batch_shape)).sample((2,)),
        "log_prob of a number": lambda p: p.log_prob(1),
    }
    for fact, ask in facts.items():
        compare(f"{title}: {fact}", lambda d: ask(make(d)[0]))
    for name, values in {"log_prob": drawn, "cdf": drawn, "icdf": levels, "log_prob outside": -3.7}.items():
        compare(f"{title}: {name}", lambda d: getattr(make(d)[0], name.split()[0])(tensor(d, values)))
    for name, (function, tolerance) in DIFFERENTIATED.items():

        def differentiated(d: Any) -> Any:
            p, tensors = make(d)
            return gradients(d, function(p, tensor(d, drawn)), tensors)

        compare(f"{title}: gradients of {name}", differentiated, tolerance)


# Distributions of which each has a divergence from each or an error, by names.
OF_DIVERGENCES: dict[str, tuple[str, dict[str, Any]]] = {
    "Bernoulli": ("Bernoulli", {"probs": [0.2, 0.7]}),
    "Beta": ("Beta", {"concentration1": [0.5, 2.0], "concentration0": [1.5, 3.0]}),
    "Binomial": ("Binomial", {"total_count": 4, "probs": [0.2, 0.7]}),
    "Cauchy": ("Cauchy", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    "ContinuousBernoulli": ("ContinuousBernoulli", {"probs": [0.2, 0.7]}),
    "Exponential": ("Exponential", {"rate": [0.5, 2.0]}),
    "Gamma": ("Gamma", {"concentration": [0.5, 2.0], "rate": [1.5, 0.7]}),
    "Geometric": ("Geometric", {"probs": [0.3, 0.8]}),
    "Gumbel": ("Gumbel", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    "HalfNormal": ("HalfNormal", {"scale": [1.0, 2.5]}),
    "Laplace": ("Laplace", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    "LogNormal": ("LogNormal", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    "Normal": ("Normal", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}),
    "Pareto": ("Pareto", {"scale": [0.5, 2.0], "alpha": [1.5, 2.5]}),
    "Poisson": ("Poisson", {"rate": [0.5, 2.0]}),
    "StudentT": ("StudentT", {"df": [1.0, 2.5]}),
    "Uniform": ("Uniform", {"low": [0.1, 0.7], "high": [0.9, 2.5]}),
    "Uniform around 0 and 1": ("Uniform", {"low": [-0.5, -0.1], "high": [1.1, 2.5]}),
    "Uniform from 0 to 1": ("Uniform", {"low": [0.0, 0.0], "high": [1.0, 1.0]}),
}


def divergences(compare: Comparison) -> None:
    """Every pair of the distributions above, and those within a family for all parameters."""

    def between(title: str, p: tuple[str, dict[str, Any]], q: tuple[str, dict[str, Any]], tolerance: float) -> None:
        compare(title, lambda d: d.kl_divergence(maker(*p)(d)[0], maker(*q)(d)[0]), tolerance)

    vectors = {"MultivariateNormal", "LowRankMultivariateNormal"}
    for p in PARAMETERS:
        for q in PARAMETERS:
            if p[0] == q[0] or {p[0], q[0]} == vectors:
                between(f"kl {p[0]} {p[1]} from {q[1]}", p, q, 1e-6)
    for p_title, p in OF_DIVERGENCES.items():
        for q_title, q in OF_DIVERGENCES.items():
            between(f"kl {p_title} from {q_title}", p, q, 1e-9)


TRANSFORMS: dict[str, tuple[Program, list[Any]]] = {
    "abs": (lambda d: d.AbsTransform(), [[-1.5, 2.0, 0.3]]),
    "affine": (lambda d: d.AffineTransform(1.0, -2.0), [[-1.5, 2.0, 0.3]]),
    "affine of vectors": (
        lambda d: d.AffineTransform(tensor(d, [1.0, 2.0, 3.0]), tensor(d, [-1.0, 0.5, 2.0]), event_dim=1),
        [[[-1.5, 2.0, 0.3]]],
    ),
    "cat": (lambda d: d.transforms.CatTransform([d.ExpTransform(), d.identity_transform], 0, [2, 1]), [[-1.5, 2.0, 0.3]]),
    "cat of vectors": (
        lambda d: d.transforms.CatTransform([d.AffineTransform(1.0, 2.0, event_dim=1), d.AffineTransform(0.0, 3.0)], -2, [1, 2]),
        [[[-1.5, 2.0], [0.3, 1.0], [0.2, 0.1]]],
    ),
    "compose": (
        lambda d: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0), d.PowerTransform(tensor(d, 0.5))]),
        [[-1.5, 2.0]],
    ),
    "compose vectors": (lambda d: d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.StickBreakingTransform()]), [[[-1.5, 2.0, 0.3]]]),
    "corr cholesky": (lambda d: d.CorrCholeskyTransform(), [[-1.5, 2.0, 0.3], [[0.1]]]),
    "cumulative": (lambda d: d.CumulativeDistributionTransform(d.Normal(tensor(d, 0.5), 2.0)), [[-1.5, 2.0, 0.3]]),
    "exp": (lambda d: d.ExpTransform(), [[-1.5, 2.0, 0.3]]),
    "exp with cache": (lambda d: d.ExpTransform(cache_size=1), [[-1.5, 2.0, 0.3]]),
    "independent": (lambda d: d.IndependentTransform(d.ExpTransform(), 1), [[[-1.5, 2.0, 0.3]]]),
    "identity": (lambda d: d.identity_transform, [[-1.5, 2.0]]),
    "lower cholesky": (lambda d: d.LowerCholeskyTransform(), [SQUARE]),
    "positive definite": (lambda d: d.PositiveDefiniteTransform(), [SQUARE]),
    "power": (lambda d: d.PowerTransform(tensor(d, 3.0)), [[1.5, 2.0, 0.3]]),
    "reshape": (lambda d: d.ReshapeTransform((2, 3), (6,)), [[[-1.5, 2.0, 0.3], [0.1, 0.2, 0.5]]]),
    "sigmoid": (lambda d: d.SigmoidTransform(), [[-1.5, 2.0, 0.3], [-800.0, 800.0]]),
    "softmax": (lambda d: d.SoftmaxTransform(), [[-1.5, 2.0, 0.3]]),
    "softplus": (lambda d: d.SoftplusTransform(), [[-1.5, 2.0, 0.3]]),
    "stack": (lambda d: d.StackTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], 1), [[[-1.5, 2.0], [0.3, 1.0]]]),
    "stick breaking": (lambda d: d.StickBreakingTransform(), [[-1.5, 2.0, 0.3]]),
    "tanh": (lambda d: d.TanhTransform(), [[-1.5, 2.0, 0.3]]),
}

OF_TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "repr": lambda t, x: repr(t),
    "repr of the inverse": lambda t, x: repr(t.inv),
    "domain": lambda t, x: repr(t.domain),
    "codomain": lambda t, x: repr(t.codomain),
    "bijective": lambda t, x: t.bijective,
    "sign": lambda t, x: t.sign,
    "event dim": lambda t, x: t.event_dim,
    "result": lambda t, x: t(x),
    "inverse": lambda t, x: t.inv(t(x)),
    "jacobian": lambda t, x: t.log_abs_det_jacobian(x, t(x)),
    "jacobian of the inverse": lambda t, x: t.inv.log_abs_det_jacobian(t(x), x),
    "shape": lambda t, x: tuple(t.forward_shape(x.shape)),
    "shape of the inverse": lambda t, x: tuple(t.inverse_shape(t(x).shape)),
    "too few dimensions": lambda t, x: tuple(t.forward_shape(())),
    "inverse of the inverse": lambda t, x: t.inv.inv is t,
    "cached": lambda t, x: (lambda c: c.inv(c(x)))(t.with_cache()),
    "equal": lambda t, x: t == t,
    "equal to the inverse": lambda t, x: t == t.inv,
}

CONSTRAINTS: dict[str, tuple[Program, list[Any]]] = {
    "boolean": (lambda c: c.boolean, [[0.0, 1.0, 2.0]]),
    "cat": (lambda c: c.cat([c.positive, c.unit_interval], 0, [1, 2]), [[1.0, 0.5, 3.0]]),
    "corr_cholesky": (lambda c: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.5, 0.5]]]),
    "dependent": (lambda c: c.dependent, [[1.0]]),
    "greater_than": (lambda c: c.greater_than(1.0), [[0.0, 1.0, 2.0]]),
    "greater_than_eq": (lambda c: c.greater_than_eq(1.0), [[0.0, 1.0, 2.0]]),
    "half_open_interval": (lambda c: c.half_open_interval(0.0, 1.0), [[0.0, 1.0, 2.0]]),
    "independent": (lambda c: c.independent(c.positive, 1), [[[1.0, 2.0], [0.0, 1.0]], 1.0]),
    "integer_interval": (lambda c: c.integer_interval(0, 2), [[0.0, 1.5, 2.0, 3.0]]),
    "interval": (lambda c: c.interval(0.0, 1.0), [[0.0, 1.0, 2.0, float("nan")]]),
    "less_than": (lambda c: c.less_than(1.0), [[0.0, 1.0, 2.0]]),
    "lower_cholesky": (lambda c: c.lower_cholesky, [FACTOR, SQUARE]),
    "lower_triangular": (lambda c: c.lower_triangular, [FACTOR, SQUARE]),
    "multinomial": (lambda c: c.multinomial(3), [[[1.0, 2.0], [2.0, 2.0]]]),
    "nonnegative": (lambda c: c.nonnegative, [[-1.0, 0.0, 1.0]]),
    "nonnegative_integer": (lambda c: c.nonnegative_integer, [[-1.0, 0.0, 0.5, 1.0]]),
    "one_hot": (lambda c: c.one_hot, [[[0.0, 1.0], [1.0, 1.0]]]),
    "positive": (lambda c: c.positive, [[-1.0, 0.0, 1.0]]),
    "positive_definite": (lambda c: c.positive_definite, [SQUARE, FACTOR, [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]]),
    "positive_integer": (lambda c: c.positive_integer, [[-1.0, 0.0, 1.5, 1.0]]),
    "positive_semidefinite": (lambda c: c.positive_semidefinite, [SQUARE, [[1.0, 2.0], [2.0, 1.0]]]),
    "real": (lambda c: c.real, [[1.0, float("inf"), float("nan")]]),
    "real_vector": (lambda c: c.real_vector, [[[1.0, 2.0], [1.0, float("nan")]]]),
    "simplex": (lambda c: c.simplex, [PROBS, LOGITS]),
    "square": (lambda c: c.square, [SQUARE, [[1.0, 2.0]]]),
    "stack": (lambda c: c.stack([c.positive, c.unit_interval], -1), [[[1.0, 0.5], [1.0, 3.0]]]),
    "symmetric": (lambda c: c.symmetric, [SQUARE, FACTOR]),
    "unit_interval": (lambda c: c.unit_interval, [[-1.0, 0.0, 1.0, 1.5]]),
}

# Mistakes, of which the class of the exception is compared.
MISTAKES: dict[str, Program] = {
    "negative scale": lambda d: d.Normal(0.0, -1.0),
    "negative scale, not checked": lambda d: repr(d.Normal(0.0, -1.0, validate_args=False)),
    "NaN": lambda d: d.Normal(float("nan"), 1.0),
    "a text": lambda d: d.Normal("a", 1.0),
    "both": lambda d: d.Bernoulli(probs=tensor(d, 0.5), logits=tensor(d, 0.5)),
    "none": lambda d: d.Categorical(),
    "no categories": lambda d: d.Categorical(tensor(d, 0.5)),
    "probability above 1": lambda d: d.Bernoulli(1.5),
    "never": lambda d: d.Geometric(0.0),
    "high below low": lambda d: d.Uniform(1.0, 0.0),
    "too many dimensions": lambda d: d.Independent(d.Normal(0.0, 1.0), 1),
    "no trials": lambda d: d.Multinomial(tensor(d, [1.0]), tensor(d, [0.5, 0.5])),
    "no vectors": lambda d: d.MultivariateNormal(tensor(d, 0.0), tensor(d, [[1.0]])),
    "no matrix": lambda d: d.MultivariateNormal(tensor(d, [0.0]), tensor(d, [1.0])),
    "two matrices": lambda d: d.MultivariateNormal(tensor(d, [0.0]), tensor(d, [[1.0]]), tensor(d, [[1.0]])),
    "not definite": lambda d: d.MultivariateNormal(tensor(d, [0.0, 0.0]), tensor(d, [[1.0, 2.0], [2.0, 1.0]])),
    "mixture of a normal": lambda d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(tensor(d, [0.0]), 1.0)),
    "mixture of other sizes": lambda d: d.MixtureSameFamily(d.Categorical(tensor(d, [0.5, 0.5])), d.Normal(tensor(d, [0.0]), 1.0)),
    "no transform": lambda d: d.TransformedDistribution(d.Normal(0.0, 1.0), [1]),
    "transform of vectors": lambda d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    "value of another shape": lambda d: d.Normal(tensor(d, [0.0, 1.0]), 1.0).log_prob(tensor(d, [0.0, 1.0, 2.0])),
    "value of another event": lambda d: d.Dirichlet(tensor(d, [1.0, 1.0])).log_prob(tensor(d, [0.2, 0.3, 0.5])),
    "no transform to": lambda d: d.transform_to(d.constraints.boolean),
    "no bijection": lambda d: d.biject_to(d.constraints.lower_cholesky),
    "register what is none": lambda d: d.transform_to.register(3, lambda c: None),
    "cache of 2": lambda d: d.ExpTransform(cache_size=2),
    "reshape to another number": lambda d: d.ReshapeTransform((2,), (3,)),
    "not a triangle": lambda d: d.CorrCholeskyTransform().forward_shape((4,)),
    "no cdf": lambda d: d.Beta(1.0, 1.0).cdf(tensor(d, 0.5)),
    "default validation": lambda d: d.Distribution.set_default_validate_args(3),
    "LKJ of one": lambda d: d.LKJCholesky(1),
    "low df": lambda d: d.Wishart(1.0, tensor(d, SQUARE)),
    "a class without constraints": lambda d: type("Own", (d.Distribution,), {})((2,)).batch_shape,
    "a class without support": lambda d: type("Own", (d.Normal,), {"support": d.Distribution.support})(0.0, 1.0).log_prob(tensor(d, 1.0)),
    "base": lambda d: d.Distribution(validate_args=False).mean,
}

# What differs on purpose, with the reason.
_DOUBLE = "torch compares the concentration with a number of float32, and fails for float64"
_WISHART = "torch draws again what is not singular, and not what is; its gradients fail then"
_ENDS = "torch counts the ends of the interval as outside; the divergence is finite"
_GEOMETRIC = "one class gives all distributions with probabilities or log-odds this property"
WANTED: dict[str, str] = {
    "GeneralizedPareto 1: log_prob": _DOUBLE,
    "GeneralizedPareto 1: cdf": _DOUBLE,
    "GeneralizedPareto 1: gradients of log_prob": _DOUBLE,
    "GeneralizedPareto 1: support": "the text of a tensor names the node of its gradient otherwise",
    "Geometric 1: param shape": _GEOMETRIC,
    "Geometric 2: param shape": _GEOMETRIC,
    "kl ContinuousBernoulli from Uniform from 0 to 1": _ENDS,
    "kl Uniform from 0 to 1 from ContinuousBernoulli": _ENDS,
    "Kumaraswamy 1: mode": "torch takes the logarithm of a negative number, and has NaN for every mode",
    **{
        f"Wishart {number}: {what}": _WISHART
        for number in (1, 2)
        for what in ("sample", "samples", "rsample", "samples of expanded", "gradients of rsample")
    },
    "Wishart 2: gradients of log_prob": "torch has derivatives by the elements above the diagonal, which are not read",
}


SIDES = (torch.distributions, opgrid.distributions)


def run(show: str | None = None) -> int:
    """Compares all, and returns the exit status."""
    compare = Comparison("distributions", SIDES, WANTED, show, TOLERANCES)
    for place, (name, parameters) in enumerate(PARAMETERS):
        number = [earlier for earlier, _ in PARAMETERS[: place + 1]].count(name)
        compare_distribution(compare, f"{name} {number}", maker(name, parameters))
    for title, program in COMPOSED.items():
        compare_distribution(compare, title, lambda d, program=program: (program(d), []))
    divergences(compare)
    for title, (program, inputs) in TRANSFORMS.items():
        for place, value in enumerate(inputs):
            for fact, ask in OF_TRANSFORMS.items():
                compare(f"{title} {place}: {fact}", lambda d: ask(program(d), tensor(d, value)))
    for title, (program, values) in CONSTRAINTS.items():
        for fact, ask in {"repr": repr, "discrete": lambda c: c.is_discrete, "event dim": lambda c: c.event_dim}.items():
            compare(f"{title}: {fact}", lambda d: ask(program(d.constraints)))
        for place, value in enumerate(values):
            compare(f"{title}: check {place}", lambda d: program(d.constraints).check(tensor(d, value)))
            for to in ("biject_to", "transform_to"):
                compare(f"{title}: {to} {place}", lambda d: getattr(d, to)(program(d.constraints))(tensor(d, value)))
    for title, program in MISTAKES.items():
        compare(title, program)
    for name in torch.distributions.__all__:
        compare(f"name {name}", lambda d: hasattr(d, name))
    return compare.status()
