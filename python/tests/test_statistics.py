"""Histograms, slopes and random numbers, compared with numpy."""

import numpy as np
import pytest

import opgrid as og


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_are_those_of_numpy(density, weighted):
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    w = rng.random(200) if weighted else None
    weight = None if w is None else og.from_numpy(w)
    hist, edges = og.histogram(og.from_numpy(x), 7, weight=weight, density=density)
    expected, at = np.histogram(x, 7, weights=w, density=density)
    np.testing.assert_allclose(hist.numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(edges.numpy(), at, rtol=1e-12)
    own = np.array([-1.0, -0.5, 0.75, 2.0])
    hist, edges = og.histogram(og.from_numpy(x), og.from_numpy(own), weight=weight, density=density)
    np.testing.assert_allclose(hist.numpy(), np.histogram(x, own, weights=w, density=density)[0], rtol=1e-12)
    points = rng.normal(size=(100, 2))
    w = None if w is None else w[:100]
    weight = None if w is None else og.from_numpy(w)
    hist, edges = og.histogramdd(og.from_numpy(points), [3, 4], weight=weight, density=density)
    expected, at = np.histogramdd(points, [3, 4], weights=w, density=density)
    np.testing.assert_allclose(hist.numpy(), expected, rtol=1e-12)
    for ours, theirs in zip(edges, at):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)


def test_histograms_of_a_weight_that_learns():
    weight = og.ones(4, requires_grad=True)
    hist, _ = og.histogram(og.tensor([0.0, 1.0, 2.0, 9.0]), og.tensor([0.0, 1.5, 3.0]), weight=weight)
    (hist * og.tensor([2.0, 3.0])).sum().backward()
    assert weight.grad.tolist() == [2.0, 2.0, 3.0, 0.0]


def test_slopes_are_those_of_numpy():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(5, 6))
    ours = og.gradient(og.from_numpy(x), spacing=[2.0, 0.5], edge_order=2)
    for found, expected in zip(ours, np.gradient(x, 2.0, 0.5, edge_order=2)):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)
    at = np.cumsum(rng.random(6) + 0.1)
    for order in (1, 2):
        (found,) = og.gradient(og.from_numpy(x), spacing=[og.from_numpy(at)], dim=1, edge_order=order)
        # numpy has parabolas at the ends for order 2 only, as here.
        np.testing.assert_allclose(found.numpy(), np.gradient(x, at, axis=1, edge_order=order), rtol=1e-9)
    (found,) = og.gradient(og.tensor([1, 4, 9, 16]), dim=0)
    assert found.tolist() == [3.0, 4.0, 6.0, 7.0]
    with pytest.raises(RuntimeError, match="expected 1 or 2"):
        og.gradient(og.ones(4), edge_order=3)


def test_distributions_have_their_moments():
    generator = og.Generator().manual_seed(5)
    rates = og.tensor([0.5, 4.0, 40.0], dtype=og.float64).expand(20000, 3)
    np.testing.assert_allclose(og.poisson(rates, generator=generator).mean(0).numpy(), [0.5, 4.0, 40.0], rtol=0.03)
    count, p = og.full((20000,), 30.0), og.tensor(0.7)
    assert og.binomial(count, p, generator=generator).mean().item() == pytest.approx(21.0, rel=0.01)
    with pytest.raises(RuntimeError, match="the rate -1"):
        og.poisson(og.tensor([-1.0]))


def test_gradients_of_gamma_and_dirichlet_samples_are_implicit():
    shape = og.full((4000,), 3.0, dtype=og.float64, requires_grad=True)
    og._standard_gamma(shape).sum().backward()
    # The mean of the distribution is its shape.
    assert shape.grad.mean().item() == pytest.approx(1.0, abs=0.1)
    alpha = og.tensor([1.0, 2.0, 3.0], dtype=og.float64, requires_grad=True)
    og._sample_dirichlet(alpha.expand(4000, 3))[:, 0].mean().backward()
    # The mean of the first element is `alpha[0] / alpha.sum()`.
    np.testing.assert_allclose(alpha.grad.numpy(), [5 / 36, -1 / 36, -1 / 36], atol=0.02)


def test_the_first_places_are_of_a_size_that_does_not_depend_on_data():
    x = og.tensor([[1, 0], [0, 1]])
    assert og.nonzero_static(x, size=3).tolist() == [[0, 0], [1, 1], [-1, -1]]
    assert og.nonzero_static(x, size=1, fill_value=7).tolist() == [[0, 0]]
    assert og.nonzero_static(x.to("meta"), size=3).shape == (3, 2)


def test_comparisons_have_long_names():
    a, b = og.tensor([1, 2, 3]), og.tensor([2, 2, 2])
    assert og.greater(a, b).tolist() == a.gt(b).tolist()
    assert og.less_equal(a, 2).tolist() == [True, True, False]
    assert og.not_equal(a, b).tolist() == [True, False, True]
    assert a.greater_equal(b).tolist() == [False, True, True]
