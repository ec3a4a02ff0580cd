"""Feature extraction and Grad-CAM by hooks, parametrized weights, weight and spectral norm, a lazy layer, hooks of optimizers."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import parametrizations


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class CayleyMap(nn.Module):
    """Skew-symmetric to orthogonal matrices."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("Id", torch.eye(n))

    def forward(self, X):
        A = X.triu(1) - X.triu(1).transpose(-1, -2)
        return torch.linalg.solve(self.Id - A, self.Id + A)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = parametrizations.weight_norm(nn.Conv2d(2, 6, 3, padding=1), name="weight", dim=0)
        self.conv2 = parametrizations.spectral_norm(nn.Conv2d(6, 6, 3, padding=1))
        self.mix = nn.Linear(6, 6, bias=False)
        self.symmetric = nn.Linear(6, 6)
        self.head = nn.LazyLinear(3)
        parametrize.register_parametrization(self.mix, "weight", CayleyMap(6))
        parametrize.register_parametrization(self.symmetric, "weight", Symmetric())

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.adaptive_avg_pool2d(x, (2, 2)).mean(dim=(2, 3))
        return self.head(torch.tanh(self.symmetric(self.mix(x))))


class FeatureExtractor:
    """Keeps what layers gave and the gradients that came back."""

    def __init__(self, model, layers):
        self.features, self.gradients, self.handles = {}, {}, []
        modules = dict(model.named_modules())
        for layer in layers:
            self.handles.append(modules[layer].register_forward_hook(self.forward_hook(layer)))
            self.handles.append(modules[layer].register_full_backward_hook(self.backward_hook(layer)))

    def forward_hook(self, layer):
        def hook(module, args, output):
            self.features[layer] = output

        return hook

    def backward_hook(self, layer):
        def hook(module, grad_input, grad_output):
            self.gradients[layer] = grad_output[0].detach()

        return hook

    def remove(self):
        for handle in self.handles:
            handle.remove()


def grad_cam(extractor, layer, logits, label):
    logits[:, label].sum().backward()
    weights = extractor.gradients[layer].mean(dim=(2, 3), keepdim=True)
    cam = F.relu((weights * extractor.features[layer]).sum(dim=1))
    return cam / cam.amax(dim=(1, 2), keepdim=True).clamp_min(1e-8)


def main(record):
    torch.manual_seed(85)
    torch.set_default_dtype(torch.float64)
    model = Net()
    prototypes = torch.randn(3, 2, 6, 6)
    model(prototypes)
    record("start", keys=list(model.state_dict()), head=repr(model.head), parametrized=parametrize.is_parametrized(model.mix, "weight"))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    calls = []
    optimizer.register_step_post_hook(lambda opt, args, kwargs: calls.append("step"))
    seen = []
    handle = model.symmetric.register_forward_pre_hook(lambda module, args: seen.append(args[0].shape[0]))
    for parameter in model.head.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: calls.append(tuple(p.shape)))
    clipped = model.head.weight.register_hook(lambda grad: grad.clamp(-0.05, 0.05))
    for step in range(20):
        labels = torch.randint(3, (12,))
        loss = F.cross_entropy(model(prototypes[labels] + 0.3 * torch.randn(12, 2, 6, 6)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), largest=model.head.weight.grad.abs().max().item(), calls=len(calls))
    handle.remove(), clipped.remove()
    model.eval()
    Q, S = model.mix.weight, model.symmetric.weight
    record("weights", orthogonal=torch.allclose(Q @ Q.T, torch.eye(6)), symmetric=torch.equal(S, S.T), sigma=torch.linalg.matrix_norm(model.conv2.weight.flatten(1), ord=2))
    extractor = FeatureExtractor(model, ["conv1", "conv2", "head"])
    logits = model(prototypes)
    record("features", norms={name: round(f.norm().item(), 6) for name, f in extractor.features.items()}, logits=logits)
    record("features", cam=grad_cam(extractor, "conv2", logits, 1)[0], head=extractor.gradients["head"])
    extractor.remove()
    with parametrize.cached():
        record("cached", same=model.mix.weight is model.mix.weight)
    parametrize.remove_parametrizations(model.mix, "weight", leave_parametrized=True)
    with torch.no_grad():
        model.symmetric.weight = torch.ones(6, 6)
    record("removed", same=torch.allclose(model.mix.weight, Q), kind=type(model.mix).__name__, ones=model.symmetric.weight.sum(), batches=seen[-1], count=len(seen))
    activations = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: activations.append(t.numel()) or t, lambda t: t):
        model(prototypes).sum().backward()
    order = nn.modules.module.register_module_forward_hook(lambda m, i, o: activations.append(type(m).__name__))
    model(prototypes)
    order.remove()
    record("global", names=[a for a in activations if isinstance(a, str)], saved=len(activations) > 10)
