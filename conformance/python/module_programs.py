"""Programs and mistakes that `modules.py` runs with torch and with opgrid, and the differences that are decided."""

from __future__ import annotations

import textwrap

_PROGRAMS = """
R = nn.utils.rnn
p = R.pack_padded_sequence(x(4, 3, 2).detach(), [4, 2, 1])
seen += [p, p.data, p.batch_sizes, *R.pad_packed_sequence(p), *R.pad_packed_sequence(p, True, 7.0, 6)]
p = R.pack_padded_sequence(x(3, 4, 2), m.tensor([2, 4, 1]), batch_first=True, enforce_sorted=False)
seen += [*p, *R.pad_packed_sequence(p), *R.unpack_sequence(p), p.to(m.float64).data, p.double().data, p.is_cuda, p.is_pinned()]
seen += [R.pad_sequence([x(3), x(2)], True), *R.unpad_sequence(x(4, 2, 3).detach(), m.tensor([4, 1])), R.invert_permutation(m.tensor([2, 0, 1]))]
seen += [R.PackedSequence(x(3), m.tensor([2, 1])).unsorted_indices, R.PackedSequence((x(3), m.tensor([2, 1]))).data]
---
lstm = nn.LSTM(3, 4, 2)
seen += [[tuple(w.shape) for w in ws] for ws in lstm.all_weights] + [lstm.flatten_parameters(), len(lstm._flat_weights)]
seen += [*nn.utils.rnn.pad_packed_sequence(lstm(nn.utils.rnn.pack_sequence([x(4, 3), x(2, 3)]))[0])]
---
P = nn.utils.parametrize
class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).T
    def right_inverse(self, w):
        return w.triu()
class Double(nn.Module):
    def forward(self, w):
        return 2 * w
linear = P.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
seen += [linear, linear.weight, P.is_parametrized(linear), P.is_parametrized(linear, "bias"), list(linear.state_dict()), P.type_before_parametrizations(linear) is nn.Linear]
P.register_parametrization(linear, "weight", Double(), unsafe=True)
seen += [linear.weight, linear(x(2, 3)), len(linear.parametrizations.weight)]
with P.cached():
    seen += [linear.weight is linear.weight]
linear(x(2, 3)).sum().backward()
seen += [linear.parametrizations.weight.original.grad]
P.remove_parametrizations(linear, "weight")
seen += [linear, linear.weight, type(linear) is nn.Linear]
other = P.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
other.weight = x(3, 3)
seen += [other.weight, other.parametrizations.weight.original, P.transfer_parametrizations_and_params(other, nn.Linear(3, 3)).weight]
P.remove_parametrizations(other, "weight", leave_parametrized=False)
seen += [other.weight]
---
import copy
N = nn.utils.parametrizations
linear = N.weight_norm(nn.Linear(3, 4))
seen += [linear, linear.weight, list(linear.state_dict()), linear(x(2, 3)), copy.deepcopy(linear).weight]
linear(x(2, 3)).square().sum().backward()
seen += [p.grad for p in linear.parameters()]
old = nn.utils.weight_norm(nn.Linear(3, 4), dim=1)
seen += [old, old.weight, list(old.state_dict()), old(x(2, 3)), linear.load_state_dict(nn.utils.weight_norm(nn.Linear(3, 4)).state_dict()), linear.weight]
seen += [nn.utils.remove_weight_norm(old).weight, list(old.state_dict()), isinstance(old.weight, nn.Parameter)]
seen += [N.weight_norm(nn.Conv1d(2, 3, 2), dim=None).parametrizations.weight.original0]
---
N = nn.utils.parametrizations
linear = N.spectral_norm(nn.Linear(3, 4))
seen += [linear, linear.weight, linear(x(2, 3)), list(linear.state_dict()), linear.eval()(x(2, 3)), linear.parametrizations.weight[0]._u]
linear(x(2, 3)).square().sum().backward()
seen += [p.grad for p in linear.parameters()]
seen += [N.spectral_norm(nn.ConvTranspose1d(2, 3, 2), n_power_iterations=3).weight, N.spectral_norm(nn.Linear(3, 4), "bias").bias]
old = nn.utils.spectral_norm(nn.Conv2d(2, 3, 2))
seen += [old, old(x(1, 2, 3, 3)), list(old.state_dict()), old.weight_u, old.eval()(x(1, 2, 3, 3))]
old(x(1, 2, 3, 3)).square().sum().backward()
seen += [p.grad for p in old.parameters()] + [nn.utils.remove_spectral_norm(old).weight, list(old.state_dict())]
---
N = nn.utils.parametrizations
for layer in (nn.Linear(3, 3), nn.Linear(3, 5), nn.Linear(5, 3)):
    for how in ("matrix_exp", "cayley", "householder"):
        made = N.orthogonal(nn.Linear(layer.in_features, layer.out_features), orthogonal_map=how)
        seen += [made.weight, made]
        made(x(2, layer.in_features)).square().sum().backward()
        seen += [made.parametrizations.weight.original.grad]
seen += [N.orthogonal(nn.Linear(4, 4)).weight, N.orthogonal(nn.Linear(4, 3), use_trivialization=False).weight]
---
conv, bn = nn.Conv2d(2, 3, 2).eval(), nn.BatchNorm2d(3).eval()
bn.running_mean.uniform_(), bn.running_var.uniform_()
fused = nn.utils.fuse_conv_bn_eval(conv, bn)
seen += [fused, fused.weight, fused.bias, fused(x(1, 2, 3, 3)), bn(conv(x(1, 2, 3, 3)))]
fused = nn.utils.fuse_conv_bn_eval(nn.ConvTranspose2d(2, 3, 2, bias=False).eval(), bn, True)
seen += [fused.weight, fused.bias]
fused = nn.utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval())
seen += [fused.weight, fused.bias, nn.utils.skip_init(nn.Linear, 3, 4), *nn.utils.fuse_linear_bn_weights(x(3, 2), None, x(3), u(3), 1e-5, x(3), x(3))]
---
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
net(x(5, 3)).square().sum().backward()
grads = [p.grad for p in net.parameters()]
seen += [nn.utils.get_total_norm(grads), nn.utils.get_total_norm(grads, float("inf"))]
seen += [nn.utils.clip_grad_norm_(net.parameters(), 0.5), *(g + 0 for g in grads), nn.utils.clip_grad_value_(net.parameters(), 0.05)] + [g + 0 for g in grads]
seen += [nn.utils.clip_grads_with_norm_(net.parameters(), 0.1, m.tensor(2.0)), nn.utils.parameters_to_vector(net.parameters())]
nn.utils.vector_to_parameters(m.arange(26.0), net.parameters())
seen += [*net.parameters()]
---
trace = []
layer = nn.Linear(3, 2)
layer.register_forward_pre_hook(lambda module, args, kwargs: (args, {**kwargs}), with_kwargs=True)
layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
layer.register_forward_hook(lambda module, args, result: result + 1)
layer.register_forward_hook(lambda module, args, kwargs, result: trace.append(result) or result * 2, with_kwargs=True, prepend=True)
layer.register_full_backward_pre_hook(lambda module, grads: trace.append(grads[0]) or (grads[0] * 3,))
layer.register_full_backward_hook(lambda module, into, out: trace.extend([*into, *out]) or (into[0] * 5,))
given = x(4, 3)
result = layer(given)
result.square().sum().backward()
seen += [result, given.grad, layer.weight.grad, len(trace), *trace]
layer = nn.Bilinear(2, 3, 2)
handle = layer.register_full_backward_hook(lambda module, into, out: trace.append([into[0] is None, into[1].shape, len(out)]))
layer(x(4, 2).detach(), x(4, 3)).sum().backward()
handle.remove()
layer(x(4, 2), x(4, 3)).sum().backward()
seen += [len(trace), trace[-1]]
with layer.register_full_backward_hook(lambda module, into, out: trace.append(into)):
    layer(x(4, 2).detach(), x(4, 3).detach()).sum().backward()
seen += [trace[-1]]
layer.register_forward_hook(lambda module, args, result: trace.append(result), always_call=True)
try:
    layer(x(1), x(1))
except RuntimeError:
    seen += [trace[-1]]
---
net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
net.set_submodule("1.0", nn.Tanh())
net.add_module("last", nn.Identity())
net.apply(lambda module: seen.append(type(module).__name__))
seen += [net, net.get_submodule("1.0"), [name for name, _ in net.named_modules()], net.requires_grad_(False)(x(1, 2)).requires_grad, net.type(m.float32)[0].weight + 0]
net.register_buffer("buffer", m.ones(2), persistent=False)
net.state = nn.Buffer(m.zeros(2))
net.hidden = nn.Buffer(m.zeros(2), persistent=False)
net.register_parameter("none", None)
seen += [list(net.state_dict()), [name for name, _ in net.named_buffers()], isinstance(net.state, nn.Buffer), net.to_empty(device="cpu") is net]
net.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update({prefix + "more": 1}))
net.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append(prefix))
net.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("more", None))
net.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
seen += [list(net.state_dict()), net.load_state_dict({"more": 2})]
---
params = nn.ParameterList([m.ones(2), nn.Parameter(m.zeros(1, 2)), 3])
params.append(m.ones(1))
params[0] = m.zeros(3)
params += [m.ones(4)]
seen += [params, len(params), list(params.state_dict()), params[1:3], params[-1], [type(p).__name__ for p in params][2]]
named = nn.ParameterDict({"b": m.ones(2), "a": nn.Parameter(m.zeros(1, 2))})
named["c"] = m.ones(1)
named.update([("d", 4)])
seen += [list(named.keys()), list(named.state_dict()), named.pop("b"), named.popitem()[0], "a" in named, named.get("z", 5), named.setdefault("y", m.ones(1)), list((named | nn.ParameterDict({"q": m.ones(1)})).keys()), list(reversed(named)), len(named.copy()), list(named.fromkeys(["k"], m.ones(1)).items())]
named.clear()
seen += [len(named)]
---
seen += [nn.ParameterDict({"b": m.ones(2), "a": 3})]
---
lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d(), nn.LazyLinear(2, bias=False))
seen += [lazy, isinstance(lazy[0].weight, nn.UninitializedParameter), isinstance(lazy[1].running_mean, nn.UninitializedBuffer), lazy[0].has_uninitialized_params()]
seen += [lazy(x(4, 5)), lazy, list(lazy.state_dict()), isinstance(lazy[0].weight, nn.UninitializedParameter)]
lazy = nn.LazyLinear(3)
lazy.load_state_dict(nn.Linear(4, 3).state_dict())
seen += [lazy.weight, lazy(x(2, 4)), type(lazy) is nn.Linear]
---
model = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6])
seen += [model.log_prob(x(5, 8)), model.predict(x(5, 8)), model(x(5, 8), i(12, 5)).loss]
---
bags = nn.EmbeddingBag.from_pretrained(x(4, 3).detach(), mode="sum", padding_idx=1)
seen += [bags, bags(i(4, 2, 3)), bags.weight.requires_grad, nn.Embedding.from_pretrained(x(4, 3).detach(), freeze=False, max_norm=1.0)]
sync = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
seen += [sync, sync(x(4, 2)), list(sync.state_dict())]
"""

PROGRAMS = [textwrap.dedent(program).strip() for program in _PROGRAMS.split("---\n")]
"""Programs put what is compared into ``seen``."""

MISTAKES = """
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(3, 4, 3, groups=0)
nn.Conv2d(3, 4, 3, padding="full")
nn.Conv1d(3, 4, 3, 2, padding="same")
nn.Conv1d(3, 4, 3, padding_mode="none")
nn.Conv3d(1, 1, 2)(m.ones(2, 2))
nn.ConvTranspose1d(2, 2, 3, padding_mode="reflect")
nn.ConvTranspose1d(2, 3, 3, stride=2)(m.ones(2, 2, 4), output_size=[20])
nn.ConvTranspose1d(2, 3, 3, stride=2)(m.ones(2, 2, 4), output_size=[2, 3])
nn.LSTM(0, 2)
nn.LSTM(2.0, 2)
nn.LSTM(2, 2, dropout=2.0)
nn.LSTM(2, 2, proj_size=3)
nn.LSTM(2, 2, bias=1)
nn.LSTM(2, 2, num_layers=0)
nn.GRU(2, 2, proj_size=1)
nn.RNN(2, 2, nonlinearity="sin")
nn.LSTM(2, 2)(m.ones(3))
nn.LSTM(2, 2)(m.ones(3, 1, 3))
nn.LSTM(2, 2)(m.ones(3, 1, 2, dtype=m.float64))
nn.LSTM(2, 2)(m.ones(3, 1, 2), (m.ones(1, 2, 2), m.ones(1, 1, 2)))
nn.LSTM(2, 2)(m.ones(3, 1, 2), (m.ones(1, 2), m.ones(1, 2)))
nn.GRU(2, 2)(m.ones(3, 2), m.ones(1, 1, 2))
nn.GRU(2, 2)(m.ones(3, 1, 2), m.ones(2, 1, 2))
nn.LSTMCell(2, 2)(m.ones(3, 1, 2))
nn.GRUCell(2, 2)(m.ones(3, 3))
nn.RNNCell(2, 2, nonlinearity="sin")(m.ones(3, 2))
nn.RNNBase("LSTN", 2, 2)
nn.utils.rnn.pack_padded_sequence(m.ones(3, 2, 1), [1, 3])
nn.utils.rnn.pack_padded_sequence(m.ones(3, 2, 1), [3, 0])
nn.utils.rnn.pack_padded_sequence(m.ones(3, 2, 1), [4, 1])
nn.utils.rnn.pack_padded_sequence(m.ones(3, 2, 1), [3])
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([m.ones(3)]), total_length=2)
nn.utils.rnn.pad_sequence(3)
nn.BatchNorm3d(3)(m.ones(2, 3))
nn.BatchNorm1d(3)(m.ones(1, 3))
nn.SyncBatchNorm(3)(m.ones(3))
nn.InstanceNorm1d(3)(m.ones(2, 3, 1))
nn.InstanceNorm2d(3)(m.ones(2, 3))
nn.InstanceNorm1d(3, affine=True)(m.ones(2, 4, 5))
nn.GroupNorm(2, 3)
nn.LocalResponseNorm(2)(m.ones(2, 3))
nn.Embedding(3, 2, padding_idx=3)
nn.EmbeddingBag(3, 2, padding_idx=-4)
nn.EmbeddingBag(3, 2)(m.tensor([0, 1]))
nn.EmbeddingBag(3, 2)(m.tensor([[0, 1]]), m.tensor([0]))
nn.EmbeddingBag(3, 2, mode="most")(m.tensor([[0, 1]]))
nn.EmbeddingBag(3, 2)(m.tensor([[0, 1]]), per_sample_weights=m.ones(1, 2))
nn.EmbeddingBag(3, 2, mode="max", scale_grad_by_freq=True)(m.tensor([[0, 1]]))
nn.Dropout(1.5)
nn.Hardtanh(1.0, -1.0)
nn.Softmax2d()(m.ones(2))
nn.GLU()(m.ones(3))
nn.Bilinear(0, 2, 3)
nn.LPPool1d(0, 2)(m.ones(1, 1, 4))
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, output_ratio=2.0)
nn.MaxUnpool2d(2)(m.ones(1, 1, 2, 2), m.zeros(1, 1, 2, 2, dtype=m.int64), output_size=(9, 9))
nn.AdaptiveAvgPool2d((2, 2))(m.ones(2))
nn.CircularPad2d(1)(m.ones(2))
nn.ReflectionPad1d(4)(m.ones(1, 1, 3))
nn.PixelShuffle(2)(m.ones(1, 3, 2, 2))
nn.PixelUnshuffle(2)(m.ones(1, 3, 3, 2))
nn.Fold(4, 2)(m.ones(1, 3, 9))
nn.Upsample(2, mode="linear")(m.ones(1, 1, 2, 2))
nn.Upsample()(m.ones(1, 1, 2))
nn.Upsample(2, 2.0)(m.ones(1, 1, 2))
nn.Upsample(2, mode="nearest", align_corners=True)(m.ones(1, 1, 2))
nn.functional.interpolate(m.ones(1, 1, 2), (2, 3))
nn.functional.interpolate(m.ones(1, 1, 2), 2.5)
nn.functional.interpolate(m.ones(1, 1, 2), size=2, recompute_scale_factor=True)
nn.functional.interpolate(m.ones(1, 1, 2), 2, antialias=True)
nn.functional.grid_sample(m.ones(1, 1, 2, 2), m.ones(1, 2, 2, 2), "linear")
nn.functional.grid_sample(m.ones(1, 1, 2, 2), m.ones(1, 2, 2, 2), padding_mode="none")
nn.functional.affine_grid(m.ones(1, 2, 3), (1, 1, 2))
nn.functional.affine_grid(m.ones(1, 3, 3), (1, 1, 2, 2))
nn.functional.affine_grid(m.ones(1, 2, 3, dtype=m.int64), (1, 1, 2, 2))
nn.functional.hardtanh(m.ones(2), 2.0, 1.0)
nn.functional.dropout(m.ones(2), -1.0)
nn.functional.multi_margin_loss(m.ones(2, 3), m.tensor([0, 1]), p=3)
nn.functional.embedding_bag(m.tensor([[[0]]]), m.ones(2, 2))
nn.functional.mse_loss(m.ones(2), m.ones(2), reduction="all")
nn.functional.mse_loss(m.ones(2), m.ones(2), weight=m.ones(3))
nn.MSELoss(reduction="all")
nn.BCELoss()(m.ones(2), m.ones(3))
nn.BCEWithLogitsLoss()(m.ones(2), m.ones(3))
nn.GaussianNLLLoss()(m.ones(2, 3), m.ones(2, 3), -m.ones(2, 3))
nn.GaussianNLLLoss()(m.ones(2, 3), m.ones(2, 3), m.ones(4))
nn.GaussianNLLLoss(reduction="all")(m.ones(2), m.ones(2), m.ones(2))
nn.MarginRankingLoss()(m.ones(2), m.ones(2, 2), m.ones(2))
nn.MultiMarginLoss(3)
nn.TripletMarginLoss(margin=-1.0)
nn.TripletMarginWithDistanceLoss(margin=-1.0)
nn.TripletMarginWithDistanceLoss()(m.ones(2, 2), m.ones(2), m.ones(2, 2))
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [])
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2])
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(m.ones(2, 4), m.tensor([0, 5]))
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(m.ones(2, 4), m.tensor([0]))
nn.LinearCrossEntropyLoss(2, 3, weight=m.ones(2))
nn.LinearCrossEntropyOptions(acc_policy="all")
nn.MultiheadAttention(6, 4)
nn.MultiheadAttention(0, 4)
nn.MultiheadAttention(4, 2)(*[m.ones(2, 3)] * 3)
nn.MultiheadAttention(4, 2)(*[m.ones(3, 2, 4)] * 3, attn_mask=m.zeros(2, 3))
nn.MultiheadAttention(4, 2)(*[m.ones(3, 2, 4)] * 3, attn_mask=m.zeros(3, 3, dtype=m.int64))
nn.MultiheadAttention(4, 2)(*[m.ones(3, 2, 4)] * 3, is_causal=True)
nn.MultiheadAttention(4, 2)(m.ones(3, 2, 4), m.ones(3, 4), m.ones(3, 4))
nn.MultiheadAttention(4, 2)(*[m.ones(3, 2, 4)] * 3, key_padding_mask=m.zeros(3, 3, dtype=m.bool))
nn.TransformerEncoderLayer(4, 2, activation="tan")
nn.Transformer(4, 2, 1, 1, 4)(m.ones(3, 2, 4), m.ones(3, 1, 4))
nn.Transformer(4, 2, 1, 1, 4)(m.ones(3, 2, 3), m.ones(3, 2, 3))
nn.ModuleList()[0]
nn.ParameterList([m.ones(1)])[1]
nn.ParameterList(m.ones(1))
nn.ParameterList([m.ones(1)])(m.ones(1))
nn.ParameterDict({3: m.ones(1)})
nn.ParameterDict([(1, 2, 3)])
nn.LazyConv1d(4, 3, groups=3)(m.ones(1, 2, 5))
nn.LazyConv1d(4, 3)(m.ones(2))
nn.LazyLinear(2).weight + 1
nn.Module()(3)
nn.Module().register_parameter("a.b", None)
nn.Module().register_parameter("a", m.ones(1))
nn.Module().register_buffer("", m.ones(1))
nn.Module().register_buffer("a", 3)
nn.Module().add_module("a", 3)
nn.Module().get_submodule("a")
nn.Module().get_parameter("a")
nn.Module().set_submodule("", nn.Module())
nn.Module().set_submodule("a", nn.Module(), strict=True)
nn.Linear(2, 2).load_state_dict({})
nn.Linear(2, 2).train(3)
nn.Linear(2, 2).weight.materialize((3,))
nn.init.xavier_uniform_(m.ones(2))
nn.init.eye_(m.ones(2))
nn.init.dirac_(m.ones(2))
nn.init.dirac_(m.ones(3, 2, 2), 2)
nn.init.orthogonal_(m.ones(2))
nn.init.sparse_(m.ones(2), 0.5)
nn.init.calculate_gain("tan")
nn.init.calculate_gain("leaky_relu", "a")
nn.init.kaiming_uniform_(m.ones(2, 2), mode="fan")
nn.utils.weight_norm(nn.Linear(2, 2), "bia")
nn.utils.remove_weight_norm(nn.Linear(2, 2))
nn.utils.remove_spectral_norm(nn.Linear(2, 2))
nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(2, 2)))
nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2), dim=5)
nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2), "w")
nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), "bias")
nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="exp")
nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "w", nn.Identity())
nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Flatten(0))
nn.utils.parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")
nn.utils.parametrize.remove_parametrizations(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), "weight", False)
nn.utils.fuse_conv_bn_eval(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1))
nn.utils.fuse_linear_bn_eval(nn.Linear(2, 2).eval(), nn.BatchNorm1d(3).eval())
nn.utils.skip_init(nn.ReLU)
nn.utils.skip_init(int)
nn.utils.clip_grad_norm_(nn.Linear(2, 2).weight, 1.0)
nn.utils.vector_to_parameters(3, [m.ones(2)])
import pickle; pickle.dumps(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)))
layer = nn.Linear(2, 2); layer.weight = m.ones(2, 2)
layer = nn.Linear(2, 2); layer.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True); layer(m.ones(1, 2))
"""
"""Expressions that raise; statements before them end with a semicolon."""

DIFFERENCES = {
    "Hardsigmoid() <- x(3, 4) * 3": "torch's slope in float64 is the float32 number next to 1/6",
    "nn.GRU(2, 2, proj_size=1)": "the argument is not there, and Python says so",
    "nn.LazyLinear(2).weight + 1": "a parameter without a size is a tensor without elements, and can be added to",
}
"""Cases that end differently on purpose, and why."""
