"""Distributions: densities and draws by numbers that torch computed, divergences and transforms by what they must satisfy."""

import copy
import math
import pickle

import opgrid as og
import opgrid.distributions as d
import pytest
from opgrid.distributions import constraints, transforms

# By torch 2.15 in float64: log_prob of a value, and `sample((2,))` after `manual_seed(7)`.
EXPECTED = [
    ("Bernoulli", {"probs": [0.2, 0.7]}, [1.0, 0.0], [-1.609437912, -1.203972804], [[0.0, 1.0], [0.0, 1.0]]),
    ("Beta", {"concentration1": [0.5, 2.0], "concentration0": [1.5, 3.0]}, [0.2, 0.7], [0.2415644753, -0.2797139028], [[0.08580619641, 0.5803581812], [0.06363677113, 0.3118664533]]),
    ("Binomial", {"total_count": 5, "probs": [0.2, 0.7]}, [1.0, 4.0], [-0.8925742053, -1.021234668], [[0.0, 3.0], [2.0, 2.0]]),
    ("Categorical", {"logits": [[0.2, -1.0, 0.7], [1.5, 0.1, -0.4]]}, [2.0, 0.0], [-0.58177652, -0.3337296099], [[0.0, 1.0], [0.0, 0.0]]),
    ("Cauchy", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}, [0.2, 0.7], [-1.230907582, -2.441099539], [[-0.330555775, -3.153007639], [2.661892228, 0.3407083244]]),
    ("Chi2", {"df": [1.0, 3.5]}, [0.2, 0.7], [-0.214219577, -1.746112653], [[0.9097369362, 10.57762416], [0.04238573722, 6.896000226]]),
    ("ContinuousBernoulli", {"probs": [0.1, 0.4995]}, [0.2, 0.7], [0.4655331284, -0.0004001668001], [[0.1299224212, 0.2736937137], [0.6616245901, 0.6566884306]]),
    ("Dirichlet", {"concentration": [0.5, 2.0, 3.0]}, [0.2, 0.3, 0.5], 0.9067536349, [[0.04720366102, 0.5934468298, 0.3593495092], [0.006222012256, 0.4195733411, 0.5742046467]]),
    ("Exponential", {"rate": [0.5, 2.0]}, [0.2, 0.7], [-0.7931471806, -0.7068528194], [[0.655287846, 0.1598917356], [3.962350909, 0.5345584392]]),
    ("FisherSnedecor", {"df1": [1.0, 5.0], "df2": [1.5, 7.0]}, [0.2, 0.7], [-0.4283852573, -0.5071483861], [[0.3377747487, 2.572644166], [0.2334500922, 0.8457863237]]),
    ("Gamma", {"concentration": [0.5, 4.0], "rate": [1.0, 0.5]}, [0.2, 0.7], [0.03235401329, -5.984373023], [[0.4548684681, 17.75085092], [0.02119286861, 13.13793313]]),
    ("GeneralizedPareto", {"loc": [0.0, 0.5], "scale": [1.0, 0.5], "concentration": [0.3, -0.5]}, [0.2, 0.7], [-0.2524986019, 0.4700036292], [[0.3442873191, 0.6477639492], [2.706192114, 0.9140720442]]),
    ("Geometric", {"probs": [0.2, 0.7]}, [1.0, 0.0], [-1.832581464, -0.3566749439], [[5.0, 1.0], [0.0, 0.0]]),
    ("Gumbel", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}, [0.2, 0.7], [-1.049858808, -2.102907724], [[0.2569119664, -1.647715766], [2.407896711, 1.165505887]]),
    ("HalfCauchy", {"scale": [1.0, 2.5]}, [0.2, 0.7], [-0.4908034184, -1.443351898], [[0.830555775, 2.153007639], [2.161892228, 1.340708324]]),
    ("HalfNormal", {"scale": [1.0, 2.5]}, [0.2, 0.7], [-0.2457913526, -1.181282085], [[0.1467950975, 1.965353247], [0.946821609, 2.785860053]]),
    ("InverseGamma", {"concentration": [0.5, 4.0], "rate": [1.0, 0.5]}, [0.2, 0.7], [-3.158208074, -3.495259186], [[2.198437724, 0.0563353275], [47.18568394, 0.07611547343]]),
    ("Kumaraswamy", {"concentration1": [0.5, 2.0], "concentration0": [1.5, 3.0]}, [0.2, 0.7], [0.2206450834, 0.08839541876], [[0.3279126813, 0.5922293262], [0.008872166579, 0.3616626308]]),
    ("LKJCholesky", {"dim": 2, "concentration": 0.5}, [[1.0, 0.0], [0.6, 0.8]], -0.9215863345, [[[1.0, 0.0], [0.3584732763, 0.9335399885]], [[1.0, 0.0], [-0.9866720533, 0.1627214158]]]),
    ("Laplace", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}, [0.2, 0.7], [-0.9931471806, -2.289437912], [[-0.08203369734, -2.506496127], [1.788028274, -0.06007575515]]),
    ("LogNormal", {"loc": [0.5, -1.0], "scale": [1.0, 0.5]}, [0.2, 0.7], [-1.534364774, -0.6968506642], [[1.423622817, 0.5450218733], [4.249586181, 0.2107311749]]),
    ("LogisticNormal", {"loc": [0.5, -1.0], "scale": [1.0, 0.5]}, [0.2, 0.3, 0.5], 1.171444774, [[0.4158234985, 0.2060740865, 0.378102415], [0.6799788111, 0.05570059029, 0.2643205986]]),
    ("LowRankMultivariateNormal", {"loc": [0.5, -1.0], "cov_factor": [[1.0], [0.5]], "cov_diag": [0.5, 1.0]}, [0.2, 0.7], -3.60601559, [[1.022708883, -2.18774157], [2.481710462, -1.50175723]]),
    ("Multinomial", {"total_count": 6, "probs": [0.2, 0.5, 0.3]}, [1.0, 3.0, 2.0], -2.002480501, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]]),
    ("MultivariateNormal", {"loc": [0.5, -1.0], "covariance_matrix": [[2.0, 0.3], [0.3, 1.5]]}, [0.2, 0.7], -3.440853951, [[0.2924003822, -0.08286973013], [1.839007961, -2.143308238]]),
    ("NegativeBinomial", {"total_count": 4, "logits": [0.2, -1.0]}, [1.0, 3.0], [-2.404399986, -2.197099539], [[3.0, 1.0], [9.0, 4.0]]),
    ("Normal", {"loc": [0.5, -1.0], "scale": [1.0, 2.5]}, [0.2, 0.7], [-0.9639385332, -2.066429265], [[0.3532049025, 0.9653532468], [1.446821609, -3.785860053]]),
    ("OneHotCategorical", {"probs": [0.2, 0.5, 0.3]}, [0.0, 1.0, 0.0], -0.6931471806, [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]),
    ("OneHotCategoricalStraightThrough", {"probs": [0.2, 0.5, 0.3]}, [0.0, 1.0, 0.0], -0.6931471806, [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]),
    ("Pareto", {"scale": [0.1, 0.5], "alpha": [1.5, 3.0]}, [0.2, 0.7], [0.9751822497, 0.4458705227], [[0.1244121032, 0.5562415202], [0.3746356007, 0.7140695676]]),
    ("Poisson", {"rate": [0.5, 3.0]}, [1.0, 2.0], [-1.193147181, -1.495922603], [[0.0, 5.0], [0.0, 2.0]]),
    ("RelaxedBernoulli", {"temperature": [0.7], "probs": [0.2, 0.7]}, [0.2, 0.7], [0.046679468, -0.1984313138], [[0.03442154312, 0.4541774004], [0.6542653248, 0.8944435496]]),
    ("RelaxedOneHotCategorical", {"temperature": [0.7], "probs": [0.2, 0.5, 0.3]}, [0.2, 0.3, 0.5], [-0.01938810886], [[0.02316251726, 0.08381964616, 0.8930178366], [0.02153298665, 0.8438807276, 0.1345862858]]),
    ("StudentT", {"df": [1.5, 4.0], "loc": [0.0, 1.0], "scale": [1.0, 2.0]}, [0.2, 0.7], [-1.10954692, -1.68799953], [[-0.4926649081, 3.330194979], [1.566969571, -1.321004775]]),
    ("Uniform", {"low": [0.0, -1.0], "high": [1.0, 2.5]}, [0.2, 0.7], [0.0, -1.252762968], [[0.2793804299, -0.04207200222], [0.8620929614, 1.298409507]]),
    ("VonMises", {"loc": [0.5, -1.0], "concentration": [1.0, 4.5]}, [0.2, 0.7], [-1.118454912, -5.2788017], [[0.948440571, -0.7850149295], [-1.790973213, -1.749357824]]),
    ("Weibull", {"scale": [1.0, 2.5], "concentration": [1.5, 3.0]}, [0.2, 0.7], [-0.4886965672, -2.385561795], [[0.4752638095, 1.709590173], [1.57742466, 2.556319134]]),
    ("Wishart", {"df": 4.5, "covariance_matrix": [[2.0, 0.3], [0.3, 1.5]]}, [[2.0, 0.5], [0.5, 1.0]], -6.523190578, None),
]  # fmt: skip


def tensor(value, grad=False):
    return og.tensor(value, dtype=og.float64, requires_grad=grad)


def made(name, parameters):
    return getattr(d, name)(**{key: tensor(value) if isinstance(value, list) else value for key, value in parameters.items()})


@pytest.fixture(autouse=True)
def double():
    og.set_default_dtype(og.float64)
    yield
    og.set_default_dtype(og.float32)


def close(found, expected, tolerance=1e-8):
    expected = expected if isinstance(expected, og.Tensor) else tensor(expected)
    assert tuple(found.shape) == tuple(expected.shape)
    assert og.allclose(found.to(og.float64), expected.to(og.float64), rtol=tolerance, atol=tolerance, equal_nan=True), (found, expected)


@pytest.mark.parametrize("name, parameters, value, log_prob, drawn", EXPECTED, ids=[row[0] for row in EXPECTED])
def test_a_distribution_has_the_numbers_of_torch(name, parameters, value, log_prob, drawn):
    distribution = made(name, parameters)
    # torch approximates Bessel functions by polynomials.
    close(distribution.log_prob(tensor(value)), log_prob, 1e-6 if name == "VonMises" else 1e-8)
    if drawn is not None:
        og.manual_seed(7)
        close(distribution.sample((2,)), drawn)


@pytest.mark.parametrize("name, parameters, value, log_prob, drawn", EXPECTED, ids=[row[0] for row in EXPECTED])
def test_a_distribution_expands_copies_and_checks(name, parameters, value, log_prob, drawn):
    distribution = made(name, parameters)
    wide = distribution.expand((3, *distribution.batch_shape))
    assert type(wide) is type(distribution) and tuple(wide.event_shape) == tuple(distribution.event_shape)
    assert tuple(wide.sample((2,)).shape) == (2, 3, *distribution.batch_shape, *distribution.event_shape)
    assert tuple(wide.log_prob(tensor(value)).shape) == (3, *distribution.batch_shape)
    assert not distribution.sample().requires_grad
    assert wide.support.check(wide.sample()).all()
    for same in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
        close(same.log_prob(tensor(value)), distribution.log_prob(tensor(value)))
    with pytest.raises(ValueError, match="within the support|does not broadcast|last dimensions"):
        distribution.log_prob(og.full((*distribution.batch_shape, *distribution.event_shape), math.nan))


def moments(distribution, count=40000):
    og.manual_seed(1)
    drawn = distribution.sample((count,))
    return drawn.mean(0), drawn.var(0)


@pytest.mark.parametrize(
    "name",
    "Bernoulli Beta Binomial ContinuousBernoulli Dirichlet Exponential Gamma Geometric Gumbel HalfNormal Kumaraswamy Laplace LogNormal "
    "LowRankMultivariateNormal Multinomial MultivariateNormal NegativeBinomial Normal OneHotCategorical Poisson Uniform Weibull "
    "Wishart".split(),
)
def test_draws_have_the_mean_and_the_variance(name):
    distribution = made(*next(row[:2] for row in EXPECTED if row[0] == name))
    mean, variance = moments(distribution)
    assert (mean - distribution.mean).abs().max() < 0.03 * (1 + distribution.stddev.max())
    assert ((variance / distribution.variance) - 1).abs().max() < 0.1


@pytest.mark.parametrize("name", "Bernoulli Binomial Categorical OneHotCategorical".split())
def test_values_that_can_be_listed_have_the_probability_one(name):
    distribution = made(*next(row[:2] for row in EXPECTED if row[0] == name))
    values = distribution.enumerate_support()
    probs = distribution.log_prob(values).exp()
    close(probs.sum(0), og.ones(distribution.batch_shape))
    close(-(probs * probs.log()).sum(0), distribution.entropy())


CONTINUOUS = "Beta Cauchy ContinuousBernoulli Exponential Gamma Gumbel HalfNormal InverseGamma Kumaraswamy Laplace LogNormal Normal StudentT"


@pytest.mark.parametrize("name", [*CONTINUOUS.split(), "VonMises", "Weibull", "Uniform"])
def test_a_density_integrates_to_one(name):
    distribution = made(*next(row[:2] for row in EXPECTED if row[0] == name))
    # An interval by a map from the real numbers onto the support.
    angle = name == "VonMises"
    to = d.biject_to(constraints.interval(-math.pi, math.pi) if angle else distribution.support)
    u = og.linspace(-40.0, 40.0, 200001).unsqueeze(-1).expand(200001, 2)
    x = to(u)
    density = (distribution.log_prob(x) + to.log_abs_det_jacobian(u, x)).exp()
    total = density[1:-1].sum(0) * (80.0 / 200000)
    heavy = name in ("Cauchy", "StudentT")
    assert ((total - 1).abs() < (0.06 if heavy else 1e-3)).all(), total


@pytest.mark.parametrize(
    "name",
    "Cauchy ContinuousBernoulli Exponential GeneralizedPareto Gumbel HalfCauchy HalfNormal Kumaraswamy Laplace LogNormal Normal Pareto "
    "Uniform Weibull".split(),
)
def test_quantiles_invert_the_distribution_function(name):
    distribution = made(*next(row[:2] for row in EXPECTED if row[0] == name))
    levels = tensor([[0.1, 0.1], [0.45, 0.45], [0.9, 0.9]])
    close(distribution.cdf(distribution.icdf(levels)), levels, 1e-7)
    # The distribution function is linear where the parameter is near 0.5.
    if name == "ContinuousBernoulli":
        distribution = d.ContinuousBernoulli(tensor([0.1, 0.8]))
    x = distribution.icdf(levels).detach().requires_grad_()
    (density,) = og.autograd.grad(distribution.cdf(x).sum(), [x])
    close(density.log(), distribution.log_prob(x).detach(), 1e-6)


def test_reparameterized_draws_have_gradients():
    loc, scale = tensor([0.5, -1.0], True), tensor([1.0, 2.0], True)
    og.manual_seed(0)
    x = d.Normal(loc, scale).rsample()
    x.sum().backward()
    close(loc.grad, [1.0, 1.0])
    close(scale.grad, ((x - loc) / scale).detach())
    shape = tensor([2.0, 3.0], True)
    mean = d.Gamma(shape, tensor([1.0, 2.0])).rsample((20000,)).mean(0)
    mean.sum().backward()
    # The derivative of the mean, shape / rate.
    close(shape.grad, [1.0, 0.5], 0.05)
    logits = tensor([0.1, 0.2, 0.7], True)
    d.OneHotCategoricalStraightThrough(logits=logits).rsample().mul(tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().sum() > 0


PAIRS = {
    "Bernoulli": {"probs": [0.3]},
    "Beta": {"concentration1": [2.0], "concentration0": [3.0]},
    "ContinuousBernoulli": {"probs": [0.3]},
    "Exponential": {"rate": [1.5]},
    "Gamma": {"concentration": [2.0], "rate": [1.5]},
    "Gumbel": {"loc": [0.5], "scale": [2.0]},
    "Laplace": {"loc": [0.5], "scale": [1.5]},
    "Normal": {"loc": [0.5], "scale": [1.5]},
    "Pareto": {"scale": [0.5], "alpha": [5.0]},
    "Poisson": {"rate": [1.5]},
    "Uniform": {"low": [0.6], "high": [0.9]},
}


@pytest.mark.parametrize("p_name", PAIRS)
@pytest.mark.parametrize("q_name", PAIRS)
def test_a_divergence_is_the_mean_difference_of_log_probabilities(p_name, q_name):
    p, q = made(p_name, PAIRS[p_name]), made(q_name, PAIRS[q_name])
    try:
        divergence = d.kl_divergence(p, q)
    except NotImplementedError:
        assert {p_name, q_name} & {"Bernoulli", "Laplace", "Gumbel", "Poisson", "ContinuousBernoulli", "Pareto"}
        return
    og.manual_seed(2)
    x = p.sample((200000,))
    inside = q.support.check(x) if {p_name, q_name} != {"Poisson", "Bernoulli"} or p_name == "Bernoulli" else x < 2
    if not inside.all():
        close(divergence, [math.inf])
        return
    expected = (p.log_prob(x) - q.log_prob(x)).mean(0)
    assert (divergence - expected).abs().max() < 0.02 * (1 + divergence.abs().max()), (divergence, expected)


def test_divergences_of_vectors():
    loc, matrix = tensor([0.5, -1.0]), tensor([[2.0, 0.3], [0.3, 1.5]])
    factor, diagonal = tensor([[1.0], [0.5]]), tensor([0.5, 1.0])
    low = d.LowRankMultivariateNormal(loc, factor, diagonal)
    full = d.MultivariateNormal(loc, covariance_matrix=low.covariance_matrix)
    other = d.MultivariateNormal(tensor([[0.0, 0.0], [1.0, 2.0]]), precision_matrix=matrix)
    close(d.kl_divergence(low, full), 0.0)
    close(d.kl_divergence(full, low), 0.0)
    close(d.kl_divergence(low, other), d.kl_divergence(full, other))
    close(d.kl_divergence(other, low), d.kl_divergence(other, full))
    # A diagonal covariance gives the sum over independent normal variables.
    p, q = (d.Independent(d.Normal(tensor(a), tensor(b)), 1) for a, b in (([0.5, 1.0], [1.0, 2.0]), ([0.0, 0.0], [2.0, 0.5])))
    as_vectors = [d.MultivariateNormal(x.base_dist.loc, scale_tril=x.base_dist.scale.diag_embed()) for x in (p, q)]
    close(d.kl_divergence(p, q), d.kl_divergence(*as_vectors))


def test_divergences_of_families_follow_from_their_normalizers():
    for name in ("Gamma", "Normal", "Beta", "Exponential"):
        parameters = PAIRS[name]
        p, q = made(name, parameters), made(name, {key: [value[0] + 0.5] for key, value in parameters.items()})
        close(p._bregman_divergence(q), d.kl_divergence(p, q).detach())
        if name != "Beta":
            close(d.ExponentialFamily.entropy(p), p.entropy())


def test_the_nearest_divergence_is_chosen():
    class Own(d.Normal):
        pass

    p = Own(0.0, 1.0)
    close(d.kl_divergence(p, d.Normal(1.0, 1.0)), 0.5)

    @d.register_kl(Own, d.Normal)
    def divergence(p, q):
        return og.tensor(3.0)

    close(d.kl_divergence(p, p), 3.0)

    @d.register_kl(d.Normal, Own)
    def another(p, q):
        return og.tensor(4.0)

    with pytest.warns(RuntimeWarning, match="ambiguous"):
        d.kl_divergence(p, p)
    with pytest.raises(NotImplementedError, match="Cauchy from Normal"):
        d.kl_divergence(d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0))
    with pytest.raises(TypeError, match="class of distributions as type_q"):
        d.register_kl(d.Normal, int)


TRANSFORMS = {
    "affine": (transforms.AffineTransform(1.0, -2.0), [0.3, -1.0]),
    "exp": (transforms.ExpTransform(), [0.3, -1.0]),
    "power": (transforms.PowerTransform(3.0), [0.3, 1.0]),
    "sigmoid": (transforms.SigmoidTransform(), [0.3, -1.0]),
    "softplus": (transforms.SoftplusTransform(), [0.3, -1.0]),
    "tanh": (transforms.TanhTransform(), [0.3, -1.0]),
    "compose": (transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(1.0, 2.0)]), [0.3, -1.0]),
    "independent": (transforms.IndependentTransform(transforms.ExpTransform(), 1), [0.3, -1.0]),
    "cat": (transforms.CatTransform([transforms.ExpTransform(), transforms.identity_transform], 0, [1, 2]), [0.3, -1.0, 2.0]),
    "stack": (transforms.StackTransform([transforms.ExpTransform(), transforms.TanhTransform()]), [0.3, -1.0]),
    "cumulative": (transforms.CumulativeDistributionTransform(d.Normal(0.5, 2.0)), [0.3, -1.0]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_has_an_inverse_and_a_jacobian(name):
    transform, value = TRANSFORMS[name]
    x = tensor(value, True)
    y = transform(x)
    close(transform.inv(y), x)
    (slope,) = og.autograd.grad(y.sum(), [x])
    jacobian = transform.log_abs_det_jacobian(x, y)
    close(jacobian.sum(), slope.abs().log().sum(), 1e-7)
    close(transform.inv.log_abs_det_jacobian(y, x), -jacobian)
    assert transform.inv.inv is transform and transform.bijective
    cached = transform.with_cache()
    if not isinstance(transform, transforms.ComposeTransform):
        assert cached.inv(cached(x)) is x


@pytest.mark.parametrize("transform, size", [(transforms.StickBreakingTransform(), 3), (transforms.CorrCholeskyTransform(), 3)])
def test_transforms_of_vectors_have_the_determinant_of_their_jacobian(transform, size):
    x = og.linspace(-1.0, 1.0, size)
    y = transform(x)
    assert transform.codomain.check(y)
    assert tuple(transform.forward_shape(x.shape)) == tuple(y.shape) and tuple(transform.inverse_shape(y.shape)) == tuple(x.shape)
    close(transform.inv(y), x)

    def free(x):
        y = transform(x)
        return y[:-1] if y.dim() == 1 else og.stack([y[1, 0], y[2, 0], y[2, 1]])

    matrix = og.autograd.functional.jacobian(free, x)
    close(transform.log_abs_det_jacobian(x, y), og.linalg.slogdet(matrix).logabsdet, 1e-7)


@pytest.mark.parametrize(
    "name",
    "corr_cholesky interval half_open_interval greater_than less_than lower_cholesky nonnegative positive positive_definite real "
    "real_vector simplex unit_interval".split(),
)
def test_every_constraint_is_reached_from_real_numbers(name):
    constraint = getattr(constraints, name)
    if isinstance(constraint, type):
        constraint = constraint(*{"interval": (-1.0, 2.0), "half_open_interval": (-1.0, 2.0)}.get(name, (1.0,)))
    x = og.linspace(-1.0, 1.0, 9).reshape(3, 3) if "definite" in name or name == "lower_cholesky" else og.linspace(-1.0, 1.0, 6)
    assert constraint.check(d.transform_to(constraint)(x)).all()
    if name not in ("lower_cholesky", "positive_definite"):
        to = d.biject_to(constraint)
        assert to.bijective and constraint.check(to(x)).all()
        close(to.inv(to(x)), x)
    else:
        with pytest.raises(NotImplementedError, match="no transform to"):
            d.biject_to(constraint)


def test_mixtures_and_independent_dimensions():
    weights, loc = tensor([0.3, 0.7]), tensor([-1.0, 2.0])
    mixture = d.MixtureSameFamily(d.Categorical(weights), d.Normal(loc, 0.5))
    x = tensor([0.0, 1.5])
    each = d.Normal(loc, 0.5).log_prob(x.unsqueeze(-1)).exp()
    close(mixture.log_prob(x).exp(), (each * weights).sum(-1))
    close(mixture.mean, 0.3 * -1.0 + 0.7 * 2.0)
    mean, variance = moments(mixture)
    assert (mean - mixture.mean).abs() < 0.05 and (variance - mixture.variance).abs() < 0.1
    vectors = d.Independent(d.Normal(og.zeros(4, 3), 1.0), 1)
    assert (tuple(vectors.batch_shape), tuple(vectors.event_shape)) == ((4,), (3,))
    assert repr(vectors) == "Independent(Normal(loc: opgrid.Size([4, 3]), scale: opgrid.Size([4, 3])), 1)"
    with pytest.raises(ValueError, match="expected at most 2"):
        d.Independent(d.Normal(og.zeros(4, 3), 1.0), 3)


def test_transformed_distributions():
    log_normal = d.TransformedDistribution(d.Normal(tensor([0.5, -1.0]), 0.5), [transforms.ExpTransform()])
    close(log_normal.log_prob(tensor([0.2, 0.7])), d.LogNormal(tensor([0.5, -1.0]), 0.5).log_prob(tensor([0.2, 0.7])))
    falling = d.TransformedDistribution(d.Normal(0.0, 1.0), transforms.AffineTransform(0.0, -1.0))
    close(falling.cdf(tensor(0.4)), d.Normal(0.0, 1.0).cdf(tensor(0.4)))
    close(falling.icdf(tensor(0.3)), d.Normal(0.0, 1.0).icdf(tensor(0.3)))
    wide = d.TransformedDistribution(d.Normal(0.0, 1.0), transforms.AffineTransform(tensor([0.0, 1.0]), 2.0))
    assert tuple(wide.batch_shape) == (2,) and tuple(wide.sample((3,)).shape) == (3, 2)


MESSAGES = {
    "to satisfy the constraint GreaterThan": lambda: d.Normal(0.0, -1.0),
    "scale .Tensor of shape .2,.*of distribution Normal": lambda: d.Normal(0.0, tensor([1.0, -1.0])),
    "exactly one of `probs`, `logits`, found `probs` and `logits`": lambda: d.Bernoulli(0.5, 0.5),
    "exactly one of `probs`, `logits`, found none": lambda: d.Categorical(),
    "`probs` has no dimensions": lambda: d.Categorical(tensor(0.5)),
    "within the support .Boolean": lambda: d.Bernoulli(0.5).log_prob(tensor(0.5)),
    "expected a Tensor as the value, found int": lambda: d.Normal(0.0, 1.0).log_prob(1),
    "does not broadcast with .2,": lambda: d.Normal(og.zeros(2), 1.0).log_prob(og.zeros(3)),
    "expected the last dimensions to be those of an event": lambda: d.Dirichlet(og.ones(3)).log_prob(og.ones(2)),
    "different numbers of elements": lambda: transforms.ReshapeTransform((2,), (3,)),
    "expected 0 or 1": lambda: transforms.ExpTransform(cache_size=2),
    "expected numbers and tensors, found str": lambda: d.Normal("a", 1.0),
    "above 0, without which no trial": lambda: d.Geometric(0.0),
    "is 1, expected an integer of 2 or more": lambda: d.LKJCholesky(1),
    "at least two dimensions": lambda: d.MultivariateNormal(og.zeros(1), scale_tril=og.ones(1)),
    "expected more than 1, the size": lambda: d.Wishart(1.0, og.eye(2)),
    "2 categories, expected 3": lambda: d.MixtureSameFamily(d.Categorical(og.ones(2)), d.Normal(og.zeros(3), 1.0)),
}


@pytest.mark.parametrize("text", MESSAGES)
def test_mistakes_are_named(text):
    with pytest.raises(ValueError, match=text):
        MESSAGES[text]()


def test_distributions_of_users():
    class Triangle(d.Distribution):
        arg_constraints = {"width": constraints.positive}
        has_rsample = True

        def __init__(self, width, validate_args=None):
            self.width = width
            super().__init__(width.shape, validate_args=validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(0.0, self.width)

        def rsample(self, sample_shape=()):
            return og.rand(self._extended_shape(sample_shape)).sqrt() * self.width

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return (2 * value / self.width**2).log()

    wide = Triangle(tensor([1.0, 2.0])).expand((3, 2))
    assert repr(wide) == "Triangle(width: opgrid.Size([3, 2]))" and tuple(wide.sample((4,)).shape) == (4, 3, 2)
    with pytest.raises(ValueError, match="within the support"):
        wide.log_prob(tensor(1.5))
    with pytest.raises(ValueError, match="parameter width"):
        Triangle(tensor([-1.0]))

    class Silent(d.Distribution):
        pass

    with pytest.warns(UserWarning, match="Silent has no `arg_constraints`, so that it is not checked"):
        Silent((2,))


def test_checks_can_be_left_out():
    assert repr(d.Normal(0.0, -1.0, validate_args=False)) == "Normal(loc: 0.0, scale: -1.0)"
    d.Distribution.set_default_validate_args(False)
    try:
        assert d.Bernoulli(0.5).log_prob(tensor(0.5)) < 0
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.raises(NotImplementedError, match=r"Beta has no cdf\(\)"):
        d.Beta(1.0, 2.0).cdf(tensor(0.5))
    assert [name for name in d.__all__ if not hasattr(d, name)] == [] and len(d.__all__) >= 67
