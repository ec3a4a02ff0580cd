"""Layers of networks by numbers that torch computed: first parameters, results and gradients."""

import copy
import math
import pickle
import warnings

import opgrid as og
import pytest
from opgrid import nn
from opgrid.nn import functional as F
from opgrid.nn.utils import rnn

# A constructor, and shapes of inputs; lists are inputs of whole numbers, what is quoted are lengths of packed sequences. By torch 2.15
# on a CPU: `figures_of(torch, line)`.
LAYERS = {
    "Bilinear(3, 4, 2) | (5, 3), (5, 4)": [6.35745637864, 0.415204642685, 5.1377002971],
    "PReLU(4) | (3, 4, 2)": [1, 5.34504358301, 10.3141828837],
    "ELU(0.5) | (3, 4)": [0, 2.75812468572, 4.63912496231],
    "CELU(0.5) | (3, 4)": [0, 2.8597431317, 5.10473023124],
    "SELU() | (3, 4)": [0, 3.65956895646, 7.36137557546],
    "Mish() | (3, 4)": [0, 2.29238581742, 4.37510897626],
    "Hardswish() | (3, 4)": [0, 1.87166228011, 3.63429121098],
    "Softplus(2.0, 1.0) | (3, 4)": [0, 2.70224994891, 3.9614868365],
    "Softshrink(0.4) | (3, 4)": [0, 1.65103216791, 4.96205064326],
    "Threshold(0.1, 20.0) | (3, 4)": [0, -19.4073721641, 3.63038648212],
    "GLU(1) | (3, 4)": [0, -0.615246416697, -0.0904072595092],
    "Softmin(1) | (3, 4)": [0, 0.390411512959, -0.234745828997],
    "Softmax2d() | (1, 3, 4, 2)": [0, 0.764393020632, 0.951439357119],
    "LogSigmoid() | (3, 4)": [0, -0.140254967586, 3.09444256179],
    "Conv3d(2, 4, (1, 2, 3), (1, 2, 1), (0, 1, 2), 2, 2) | (1, 2, 5, 6, 5)": [5.24377977033, 0.155348029536, 4.48269609884],
    'Conv3d(1, 2, 3, padding=1, padding_mode="replicate") | (1, 1, 3, 3, 3)': [5.41305841121, 125.426791377, 173.629456018],
    "ConvTranspose1d(4, 6, 3, 2, 1, 1, 2) | (2, 4, 5)": [6.8881024383, 0.770730740385, 5.04735403021],
    "ConvTranspose2d(2, 3, 3, (2, 1), dilation=2, bias=False) | (2, 2, 4, 3)": [5.17070819053, 0.406691458707, 0.508003123993],
    "ConvTranspose3d(2, 4, 2, 2, groups=2) | (1, 2, 2, 3, 2)": [4.43120053411, -6.32025947236, -41.1982088268],
    "Unfold((2, 3), 1, 1, 2) | (2, 2, 5, 4)": [0, -0.0987484462111, 0.0454257886421],
    "Fold((4, 5), (2, 2)) | (2, 8, 12)": [0, -31.6196458217, 2.52834680701],
    "AvgPool1d(3, 2, 1) | (2, 2, 7)": [0, -0.630856065506, 0.669596321228],
    "AvgPool3d(2, 1, 1) | (1, 2, 3, 4, 3)": [0, 0.095386777266, -2.00799012671],
    "LPPool1d(2, 3) | (2, 2, 7)": [0, -0.28792888963, -0.150600487524],
    "LPPool2d(4, (2, 3), 2) | (1, 2, 6, 6)": [0, 3.14526778859, 1.67354968903],
    "LPPool3d(2, 2) | (1, 1, 4, 4, 4)": [0, -0.596689124222, -0.338730567537],
    "AdaptiveAvgPool1d(3) | (2, 2, 7)": [0, -0.639640898253, -0.519288371127],
    "AdaptiveAvgPool3d((2, None, 1)) | (1, 2, 5, 3, 4)": [0, 0.00142939804925, 0.00677008614447],
    "AdaptiveMaxPool1d(3) | (2, 2, 7)": [0, 0.268416533902, -0.860704244934],
    "AdaptiveMaxPool2d((2, None)) | (1, 2, 5, 3)": [0, 2.02143593423, 0.610900270432],
    "AdaptiveMaxPool3d(2) | (1, 2, 5, 3, 4)": [0, 0.0293195003156, -0.177636340319],
    "CircularPad2d((1, 2, 0, 1)) | (1, 2, 4, 3)": [0, 3.5581527969, 6.58197623216],
    "ReflectionPad3d(1) | (1, 2, 4, 3, 2)": [0, -7.4483121792, -0.673020297905],
    "ReplicationPad1d((2, 1)) | (2, 4)": [0, 2.09255828908, -0.149121497503],
    "ConstantPad2d((1, -1, 0, 2), 0.5) | (1, 2, 4, 3)": [0, -1.21010585248, 3.96282720935],
    "ZeroPad3d(1) | (1, 2, 4, 3, 2)": [0, -1.11820979755, -0.361168655432],
    "PixelShuffle(2) | (1, 8, 2, 3)": [0, -0.987101452284, -1.83431051877],
    "PixelUnshuffle(2) | (1, 2, 4, 6)": [0, -0.987101452284, -1.83431051877],
    "ChannelShuffle(2) | (1, 6, 2, 2)": [0, 1.81610214852, 3.34476230852],
    "Upsample(scale_factor=2) | (1, 2, 3, 4)": [0, 2.59079874611, 2.31721552668],
    'Upsample((5, 6), mode="bicubic", align_corners=True) | (1, 2, 3, 4)': [0, 5.72202065977, 10.4164211022],
    "UpsamplingBilinear2d((5, 6)) | (1, 2, 3, 4)": [0, 6.13848834324, 11.1787365184],
    "BatchNorm3d(2, bias=False) | (3, 2, 2, 2, 2)": [2, 3.08623719357, 38.1339539066],
    "InstanceNorm1d(3, affine=True) | (2, 3, 4)": [3, 0.971770382984, 8.00182235204],
    "InstanceNorm3d(3) | (2, 3, 4, 2, 2)": [0, 37.4549035456, 47.6132187144],
    "LocalResponseNorm(3, 0.1, 0.5, 2) | (2, 5, 3, 2)": [0, 11.808763206, 21.2247066911],
    "EmbeddingBag(4, 3) | [[0, 1, 3], [3, 3, 2]]": [10.2074095607, 0.317783572173, 0.170526084796],
    'EmbeddingBag(4, 3, mode="max", padding_idx=1) | [0, 1, 3, 3, 2], [0, 3]': [7.15586048365, -0.0170586765113, 0.92648348193],
    'RNN(3, 4, 2, "relu", batch_first=True, bidirectional=True) | (2, 5, 3), (4, 2, 4)': [46.4197615981, -1.07298831306, -38.9669853048],
    "RNN(3, 4) | (5, 3)": [8.86240106821, 0.531428935246, -6.6265637612],
    "GRU(3, 4, 2, bidirectional=True) | (5, 2, 3)": [140.225220621, 0.243284564494, -45.6457817375],
    'GRU(3, 4) | "4 2 3"': [28.2329949737, -0.43209680612, -7.28200331355],
    "LSTM(3, 4, 2, bidirectional=True) | (5, 2, 3)": [188.403224766, 0.337851911873, -24.4007812439],
    "LSTM(3, 4, proj_size=2, batch_first=True) | (2, 5, 3)": [30.6978583932, -0.0391395122499, 1.37338602193],
    'LSTM(3, 4, 2, bidirectional=True) | "2 4 1 4"': [188.403224766, -0.589275392709, -14.4942325331],
    'LSTM(3, 4, 2, proj_size=2) | "3 1"': [55.3430531025, 0.0244363528341, 0.978737288466],
    "RNNCell(3, 4) | (2, 3)": [8.86240106821, 0.716969033729, -1.6996237052],
    "GRUCell(3, 4) | (2, 3), (2, 4)": [28.2329949737, -0.843132784218, 16.8830639447],
    "LSTMCell(3, 4, bias=False) | (2, 3)": [28.8370712399, 0.12255659767, 0.40682694027],
    "MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True) | (3, 2, 4), (5, 2, 4), (5, 2, 4)": [20.9474369325, -1.07434406545, 15.4259485269],
    "TransformerDecoderLayer(4, 2, 8, 0.0) | (3, 2, 4), (5, 2, 4)": [66.3039777358, -0.433355760068, 46.2514163339],
    "Transformer(4, 2, 1, 2, 8, 0.0, norm_first=True) | (5, 2, 4), (3, 2, 4)": [227.234355801, -1.6252555842, 208.026346852],
    "AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6]) | (5, 8), [0, 4, 11, 7, 3]": [12.0840946883, -8.95113374167, -38.2315615929],
    "PairwiseDistance(keepdim=True) | (3, 4), (3, 4)": [0, 3.5848382076, -3.72440620591],
    "CosineSimilarity(0) | (3, 4), (3, 4)": [0, 0.371681949082, 2.74266326665],
    "SmoothL1Loss(beta=0.5) | (3, 4), (3, 4)": [0, 0.361978695131, -0.557690788379],
    'HuberLoss("none", 0.5) | (3, 4), (3, 4)': [0, 0.722077993625, -1.05351990959],
    "LinearCrossEntropyLoss(5, 4, bias=True) | (3, 5), [0, 3, 2]": [4.80505974567, 1.42855095314, -3.40170932239],
    'KLDivLoss(reduction="batchmean", log_target=True) | (3, 4), (3, 4)': [0, 0.17148236622, -3.7686435493],
    "PoissonNLLLoss() | (3, 4), (3, 4)": [0, 0.952487588014, 0.205772179659],
    "GaussianNLLLoss(full=True) | (3, 4), (3, 4), 0.5": [0, 0.910831720752, -0.892161605252],
    "MarginRankingLoss(0.3) | (4,), (4,), [1, -1, 1, 1]": [0, 0.304965588219, -0.199867060921],
    "HingeEmbeddingLoss() | (4,), [1, -1, 1, -1]": [0, 0.640496906464, 0.101752500099],
    "CosineEmbeddingLoss(0.2) | (3, 4), (3, 4), [1, -1, 1]": [0, 0.367125421872, -0.245001244926],
    "SoftMarginLoss() | (4,), [1, -1, 1, -1]": [0, 0.518030717163, -0.00196513442778],
    "TripletMarginLoss(swap=True) | (3, 4), (3, 4), (3, 4)": [0, 0.93699400416, -0.467596747942],
    "TripletMarginWithDistanceLoss(margin=2.0) | (3, 4), (3, 4), (3, 4)": [0, 0.836655443216, 1.06197405007],
    "LazyLinear(4) | (2, 3)": [3.5254416899, 0.294458858228, 1.14599836193],
    "LazyConv2d(4, 3) | (2, 4, 5, 5)": [11.7650959775, -2.21278677317, 25.8210177555],
    "LazyConvTranspose1d(4, 3) | (2, 4, 5)": [6.52919961822, -4.10555175793, 12.6405790228],
    "LazyBatchNorm1d() | (5, 3)": [3, 2.3052525979, 16.2987401889],
}


def ramp(t, count, start):
    return t.arange(count, dtype=t.float64).mul(0.7).add(start).sin()


def weighted(t, x):
    return (x * ramp(t, x.numel(), 1.0).view(x.shape)).sum()


def given(t, place, what):
    """The input that a case describes, and the leaves that it is of."""
    if isinstance(what, str):
        steps = [ramp(t, int(n) * 3, float(k)).view(int(n), 3).requires_grad_() for k, n in enumerate(what.split())]
        return t.nn.utils.rnn.pack_sequence(steps, enforce_sorted=False), steps
    if isinstance(what, tuple):
        leaf = ramp(t, math.prod(what), 2.0 + place).view(what).requires_grad_()
        return leaf, [leaf]
    return (t.tensor(what) if isinstance(what, list) else what), []


def figures_of(t, line):
    """The sum of a layer's first parameters, that of its results with weights, and that of all gradients with weights."""
    made, _, shapes = line.partition(" | ")
    t.manual_seed(0)
    layer = eval(made, vars(t.nn))
    inputs, leaves = zip(*(given(t, place, what) for place, what in enumerate(eval(f"[{shapes}]"))))
    layer.double()
    if made.startswith("Lazy"):
        layer(*inputs)
    drawn = float(sum(p.detach().abs().sum() for p in layer.parameters())) if list(layer.parameters()) else 0.0
    with t.no_grad():
        for place, parameter in enumerate(layer.parameters()):
            parameter.copy_(ramp(t, parameter.numel(), place).mul(0.5).view(parameter.shape))
    result = layer(*inputs)
    while isinstance(result, tuple):
        result = result[0]
    total = weighted(t, result)
    total.backward()
    every = [x for x in [*sum(leaves, []), *layer.parameters()] if x.grad is not None]
    return [drawn, float(total), sum(float(weighted(t, x.grad)) * (place + 1) for place, x in enumerate(every))]


@pytest.mark.parametrize("line", LAYERS)
def test_figures_are_those_of_torch(line):
    found = figures_of(og, line)
    assert found[0] == pytest.approx(LAYERS[line][0], rel=1e-5)
    assert found[1:] == pytest.approx(LAYERS[line][1:], rel=1e-9, abs=1e-9)


def test_packing_and_padding():
    steps = [og.tensor([1.0, 2.0]), og.tensor([3.0, 4.0, 5.0]), og.tensor([6.0])]
    packed = rnn.pack_sequence(steps, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)
    assert padded.tolist() == [[1, 2, -1, -1], [3, 4, 5, -1], [6, -1, -1, -1]] and lengths.tolist() == [2, 3, 1]
    assert [x.tolist() for x in rnn.unpack_sequence(packed)] == [x.tolist() for x in steps]
    again = rnn.pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
    assert again.data.tolist() == packed.data.tolist() and again.double().data.dtype is og.float64
    assert [x.tolist() for x in rnn.unpad_sequence(padded, lengths, batch_first=True)] == [x.tolist() for x in steps]
    with pytest.raises(RuntimeError, match="in decreasing order; pass enforce_sorted=False"):
        rnn.pack_sequence(steps)
    with pytest.raises(ValueError, match="total_length is 2, expected at least 3"):
        rnn.pad_packed_sequence(packed, total_length=2)


@pytest.mark.parametrize("make", [nn.RNN, nn.GRU, nn.LSTM])
def test_packed_sequences_are_computed_each_by_itself(make):
    og.manual_seed(0)
    net = make(3, 4, 2, bidirectional=True).double()
    steps = [og.randn(length, 3, dtype=og.float64) for length in (2, 5, 1, 5)]
    packed, last = net(rnn.pack_sequence(steps, enforce_sorted=False))
    last = last if isinstance(last, tuple) else (last,)
    for place, (found, alone) in enumerate(zip(rnn.unpack_sequence(packed), steps, strict=True)):
        result, states = net(alone)
        states = states if isinstance(states, tuple) else (states,)
        assert og.allclose(found, result)
        assert all(og.allclose(state[:, place], own) for state, own in zip(last, states, strict=True))


def test_losses_take_the_older_arguments():
    x, y = og.tensor([1.0, 2.0]), og.tensor([0.0, 4.0])
    with pytest.warns(UserWarning, match="use reduction='sum' instead"):
        assert float(nn.MSELoss(size_average=False)(x, y)) == 5.0
    with pytest.warns(UserWarning, match="use reduction='none' instead"):
        assert F.l1_loss(x, y, None, False).tolist() == [1.0, 2.0]
    with pytest.warns(UserWarning, match="rarely what a loss is asked for"):
        F.mse_loss(x, y[:1])
    assert float(F.mse_loss(x, y, weight=og.tensor([1.0, 3.0]))) == 13.0 / 4


def test_softmax_without_a_dimension_warns():
    with pytest.warns(UserWarning, match="taken to be 1; say dim=1"):
        assert nn.Softmax()(og.zeros(2, 4)).tolist() == [[0.25] * 4] * 2


def test_transposed_convolutions_take_a_size():
    layer = nn.ConvTranspose1d(1, 1, 3, stride=2)
    assert layer(og.ones(1, 1, 4), output_size=[10]).shape == (1, 1, 10)
    with pytest.raises(ValueError, match=r"output_size is \[11\], expected 9 to 10 in dimension 0"):
        layer(og.ones(1, 1, 4), output_size=[11])


def test_response_norm_over_maps():
    # The sums of torch: each over the neighbours, and from the third channel on over the first one as well.
    x = og.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 4, 1, 1)
    sums = og.tensor([5.0, 14.0, 29.0 + 1, 25.0 + 1])
    expected = x.flatten() * (sums * (0.5 / 3) + 2).pow(-0.75)
    assert nn.CrossMapLRN2d(3, 0.5, 0.75, 2)(x).flatten().tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize("how", ["copied", "pickled", "loaded"])
def test_lazy_modules(how):
    lazy = nn.LazyLinear(2)
    assert isinstance(lazy.weight, nn.UninitializedParameter) and lazy.has_uninitialized_params()
    kept = lazy.weight
    if how == "copied":
        lazy = copy.deepcopy(lazy)
    elif how == "pickled":
        lazy = pickle.loads(pickle.dumps(lazy))
    else:
        lazy.load_state_dict(nn.Linear(3, 2).state_dict())
        assert lazy.weight is kept and not lazy.has_uninitialized_params()
    own = lazy.weight
    assert lazy(og.ones(4, 3)).shape == (4, 2) and type(lazy) is nn.Linear and lazy.in_features == 3
    assert lazy.weight is own and own.shape == (2, 3) and not isinstance(own, nn.UninitializedParameter)
    assert lazy(og.ones(1, 3)).shape == (1, 2)


def test_lazy_modules_are_converted_before_they_have_elements():
    lazy = nn.LazyBatchNorm1d().double()
    assert lazy(og.ones(2, 3, dtype=og.float64)).dtype is og.float64
    assert lazy.running_mean.dtype is og.float64 and lazy.running_mean.shape == (3,)


def test_containers_of_parameters():
    params = nn.ParameterList([og.ones(2), 3])
    params.append(og.zeros(1))
    assert isinstance(params[0], nn.Parameter) and params[1] == 3 and len(params) == 3 and len(params[:2]) == 2
    assert list(params.state_dict()) == ["0", "2"] and "(1): Object of type: int" in repr(params)
    named = nn.ParameterDict({"b": og.ones(2), "a": og.ones(1)})
    assert list(named) == ["a", "b"] and list(named | {"c": og.ones(1)}) == ["a", "b", "c"]
    assert named.pop("a").shape == (1,) and list(named.state_dict()) == ["b"] and named.get("a") is None
    with pytest.raises(RuntimeError, match="ParameterDict should not be called"):
        named(1)
    with pytest.raises(TypeError, match="expected keys of class str, found int"):
        named[3] = og.ones(1)


@pytest.mark.parametrize(
    ("fill", "holds"),
    [
        (lambda x: nn.init.orthogonal_(x, 2.0), lambda x: og.allclose(x @ x.T, 4 * og.eye(3), atol=1e-5)),
        (lambda x: nn.init.sparse_(x, 0.5), lambda x: (x == 0).sum(0).tolist() == [2] * 5),
        (lambda x: nn.init.trunc_normal_(x, 0.0, 1.0, -0.5, 2.0), lambda x: bool(((x >= -0.5) & (x <= 2.0)).all())),
        (lambda x: nn.init.trunc_normal_(x, 0.0, 1.0, 2.0, 3.0), lambda x: bool(((x >= 2.0) & (x <= 3.0)).all())),
        (lambda x: nn.init.eye(x), lambda x: x.tolist() == og.eye(3, 5).tolist()),
    ],
)
def test_initializers(fill, holds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = fill(og.empty(3, 5))
    assert holds(x)


def test_dirac_keeps_channels():
    layer = nn.Conv1d(2, 4, 3, padding=1, bias=False)
    nn.init.dirac_(layer.weight, 1)
    x = og.arange(8.0).view(1, 2, 4)
    assert layer(x)[0, :2].tolist() == x[0].tolist() and layer(x)[0, 2:].abs().sum() == 0


def test_adaptive_softmax_predicts():
    og.manual_seed(0)
    model = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6])
    x = og.randn(20, 8)
    scores = model.log_prob(x)
    assert og.allclose(scores.exp().sum(1), og.ones(20)) and model.predict(x).tolist() == scores.argmax(1).tolist()
    target = og.arange(20) % 12
    assert og.allclose(model(x, target).output, scores.gather(1, target.unsqueeze(1)).squeeze(1), atol=1e-6)
    with pytest.raises(RuntimeError, match="targets are 0 to 12, expected 0 to 11"):
        model(x[:2], og.tensor([0, 12]))
