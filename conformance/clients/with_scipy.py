"""scipy with its support of the array API: special functions, statistics, and what is written for any array."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import cluster, constants, differentiate, fft, integrate, signal, special, stats
from scipy.optimize import elementwise
from steps import Make, step

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(6, 8))
POSITIVE = np.abs(X) + 0.1
UNIT = 1.0 / (1.0 + np.exp(-X))


@step
def special_functions(array: Make) -> Any:
    x, positive, unit = array(X), array(POSITIVE), array(UNIT)
    one = "erf erfc expit ndtr log_ndtr i0 i0e i1 i1e".split()
    results = {name: getattr(special, name)(x) for name in one}
    results |= {name: getattr(special, name)(positive) for name in "gammaln entr".split()}
    results |= {name: getattr(special, name)(unit) for name in "logit ndtri".split()}
    results |= {name: getattr(special, name)(positive, positive + 1) for name in "gammainc gammaincc xlogy rel_entr".split()}
    return results


@step
def special_reductions(array: Make) -> Any:
    x = array(X)
    return special.logsumexp(x, axis=1), special.softmax(x, axis=1), special.log_softmax(x, axis=0)


@step
def moments(array: Make) -> Any:
    x = array(X)
    results = {name: getattr(stats, name)(x, axis=1) for name in ("skew", "kurtosis", "sem", "variation")}
    return results | {"moment": stats.moment(x, order=3, axis=0), "zscore": stats.zscore(x, axis=1)}


@step
def means(array: Make) -> Any:
    x = array(POSITIVE)
    return stats.gmean(x, axis=1), stats.hmean(x, axis=1), stats.pmean(x, 3, axis=1), stats.tmean(x, limits=(0.2, 1.5), axis=1)


@step
def entropy(array: Make) -> Any:
    return stats.entropy(array(POSITIVE), axis=1), stats.differential_entropy(array(X), axis=1)


@step
def describe(array: Make) -> Any:
    found = stats.describe(array(X), axis=1)
    return found.minmax, found.mean, found.variance, found.skewness, found.kurtosis


@step
def tests_of_means(array: Make) -> Any:
    x = array(X)
    one, two, related = stats.ttest_1samp(x, 0.0, axis=1), stats.ttest_ind(x, x + 0.5, axis=1), stats.ttest_rel(x, x**2, axis=1)
    return [(found.statistic, found.pvalue) for found in (one, two, related)]


@step
def tests_of_shapes(array: Make) -> Any:
    x = array(np.concatenate([X, X**2], axis=1))
    found = stats.skewtest(x, axis=1), stats.jarque_bera(x, axis=1), stats.bartlett(x, x * 2.0, axis=1)
    return [(one.statistic, one.pvalue) for one in found]


@step
def correlations(array: Make) -> Any:
    found = stats.pearsonr(array(X), array(X**3), axis=1)
    return found.statistic, found.pvalue


@step
def test_of_counts(array: Make) -> Any:
    found = stats.chisquare(array([16.0, 18, 16, 14, 12, 12]), array([16.0, 16, 16, 16, 16, 8]))
    return found.statistic, found.pvalue


@step
def transforms(array: Make) -> Any:
    x = array(X)
    return fft.fft(x), fft.rfft(x, axis=0), fft.irfft(fft.rfft(x)), fft.fftn(x), fft.fftshift(x)


@step
def transforms_that_the_standard_lacks(array: Make) -> Any:
    return fft.dct(array(X)), fft.next_fast_len(17)


@step
def trapezoid(array: Make) -> Any:
    return integrate.trapezoid(array(X), axis=1)


@step
def quadrature(array: Make) -> Any:
    found = integrate.tanhsinh(lambda x: x**2, array(0.0), array(2.0))
    return found.integral, found.success


@step
def rootfinding(array: Make) -> Any:
    found = elementwise.find_root(lambda x, c: x**3 - c, (array(np.zeros(3)), array(np.full(3, 4.0))), args=(array([1.0, 8.0, 27.0]),))
    return found.x, found.success


@step
def derivative(array: Make) -> Any:
    return differentiate.derivative(lambda x: x**3, array([1.0, 2.0, 3.0])).df


@step
def vector_quantization(array: Make) -> Any:
    return cluster.vq.whiten(array(X)), cluster.vq.vq(array(X), array(X[:2]))


@step
def temperature(array: Make) -> Any:
    return constants.convert_temperature(array([-40.0, 40.0]), "Celsius", "Kelvin")


@step
def convolution(array: Make) -> Any:
    return signal.fftconvolve(array(X), array(X[:2, :2])), signal.detrend(array(X))
