"""The graph of gradients as a value, checkpoints, and the memory of training, from Python."""

from __future__ import annotations

import gc
import threading
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import opgrid as og
import pytest
from opgrid import _opgrid, autograd, nn
from opgrid.utils.checkpoint import checkpoint, checkpoint_sequential


def leaf(*sizes: int) -> og.Tensor:
    return og.randn(*sizes, dtype=og.float64).requires_grad_()


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Dropout(0.3), nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))


def test_a_graph_is_text_and_figures() -> None:
    w = leaf(2, 3)
    y = (w * w).sum()
    g = autograd.get_graph(y, names={"w": w})
    assert (g.calls, g.leaves, g.saved_bytes, g.hidden) == (2, 1, 48, 0)
    assert repr(g) == "<Graph calls=2 leaves=1 saved_bytes=48>"
    assert str(g).splitlines()[-2] == "    [2] leaf `w` float64 [2, 3]"
    first, second, third = g.nodes
    assert first["name"] == "aten::sum" and first["next"] == [(1, 0)] and not first["is_leaf"]
    assert second["saved"] == [{"name": "self", "shape": (2, 3), "dtype": og.float64, "bytes": 48, "is_recomputed": False}]
    assert third["is_leaf"] and third["results"] == [{"name": "w", "shape": (2, 3), "dtype": og.float64}]
    y.backward()
    assert g.saved_bytes == 48 and autograd.get_graph(y).saved_bytes == 0
    assert autograd.get_graph([y, y.detach().requires_grad_()], limit=1).hidden == 3
    with pytest.raises(RuntimeError, match="result 0 requires no gradient"):
        autograd.get_graph(og.ones(1))


def test_places_of_calls_are_shown() -> None:
    with autograd.detect_anomaly():
        y = leaf(2).exp()
    (first, _) = autograd.get_graph(y).nodes
    assert "test_graph.py" in first["place"] and "test_graph.py" in autograd.get_graph(y).svg()


class Balanced(HTMLParser):
    """Refuses tags that are not closed, and counts them."""

    EMPTY = ("meta",)

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()


@pytest.mark.parametrize("limit", [200, 7, 1, 0])
def test_pictures_are_well_formed(limit: int) -> None:
    model = network()
    x, side = leaf(3, 4), leaf(4)
    hidden = model(x.float() * side.float())
    top, places = hidden.reshape(-1).topk(2)
    y = top.sum() + hidden.sum()
    names = {**dict(model.named_parameters()), "<b>&\"'\x00": side, "x": x}
    g = autograd.get_graph(y, names=names, limit=limit)
    svg = ElementTree.fromstring(g.svg())
    space = "{http://www.w3.org/2000/svg}"
    boxes = svg.findall(f".//{space}g/{space}rect")
    assert len(boxes) == len(g.nodes) + (1 if 0 < limit < 200 else 0)
    assert svg.find(f".//{space}script") is None
    if limit == 200:
        texts = ["".join(text.itertext()) for text in svg.iter(f"{space}text")]
        assert "<b>&\"'\ufffd" in texts and "0.weight" in texts
    for page in (g.html(), g._repr_html_()):
        parser = Balanced()
        parser.feed(page)
        parser.close()
        assert parser.open == [] and parser.counts["svg"] == 1
    assert g.dot().count("{") == g.dot().count("}") == 1


def losses(run: Any, steps: int = 5) -> tuple[list[float], list[Any]]:
    og.manual_seed(4)
    model = network()
    x, y = og.randn(8, 4), og.randn(8, 1)
    optimizer = og.optim.SGD(model.parameters(), lr=0.05)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((run(model, x) - y) ** 2).mean()
        found.append(float(loss))
        loss.backward()
        optimizer.step()
    return found, [p.detach().tolist() for p in model.parameters()]


def test_checkpoints_train_alike() -> None:
    plain = losses(lambda model, x: model(x))
    assert plain == losses(lambda model, x: checkpoint(model, x, use_reentrant=False))
    assert plain == losses(lambda model, x: checkpoint(lambda x: checkpoint(model, x), x))
    assert plain == losses(lambda model, x: checkpoint_sequential(model, 3, x, use_reentrant=False))
    with pytest.raises(ValueError, match="found 9 segments for 7 functions"):
        checkpoint_sequential(network(), 9, og.ones(1, 4))


def test_a_checkpoint_keeps_its_inputs_only() -> None:
    model, x = network(), og.randn(8, 4)
    assert autograd.get_graph(checkpoint(model, x).sum()).saved_bytes == 8 * 4 * 4
    assert autograd.get_graph(model(x).sum()).saved_bytes > 4000
    calls: list[og.Tensor] = []

    def function(a: og.Tensor, n: int, *, b: og.Tensor) -> dict[str, Any]:
        calls.append(a)
        return {"sum": a.exp() * b, "n": n + 1}

    a, b = leaf(3), leaf(3)
    found = checkpoint(function, a, 4, b=b)
    assert found["n"] == 5 and calls[0] is a
    # The gradients of gradients, by what has a checkpoint.
    (first,) = autograd.grad(found["sum"].sum(), a, create_graph=True)
    assert len(calls) == 2
    (second,) = autograd.grad(first.sum(), b)
    assert second.tolist() == a.detach().exp().tolist()
    assert checkpoint(lambda: 3) == 3
    with og.no_grad():
        assert not checkpoint(function, a, 4, b=b)["sum"].requires_grad


def test_nothing_of_a_checkpoint_stays() -> None:
    gc.collect()
    before = _opgrid._nodes_alive()
    model, x = network(), og.randn(8, 4)
    held = [object()]

    class Held:
        gone = 0

        def __del__(self) -> None:
            Held.gone += 1

    def run() -> None:
        kept = Held()

        def function(x: Any) -> Any:
            assert kept is not None
            return model(x)

        checkpoint(function, x).sum().backward()
        checkpoint(function, x)

    run()
    gc.collect()
    assert Held.gone == 1 and len(held) == 1
    assert _opgrid._nodes_alive() == before


def test_errors_of_the_second_run_say_so() -> None:
    is_second = False

    def function(x: og.Tensor) -> og.Tensor:
        if is_second:
            raise KeyError("lost")
        return x.exp()

    x = leaf(3)
    y = checkpoint(function, x)
    is_second = True
    with pytest.raises(KeyError, match="lost") as caught:
        y.sum().backward()
    if hasattr(caught.value, "__notes__"):
        assert "second run" in caught.value.__notes__[0]
    other = checkpoint(lambda x: x.exp().sin() if is_second else x.exp(), x)
    is_second = False
    with pytest.raises(RuntimeError, match="saved 1 tensors for its gradients, expected 2"):
        other.sum().backward()


def test_a_checkpoint_goes_back_on_another_thread() -> None:
    model, x = network().double(), leaf(8, 4)
    og.manual_seed(1)
    y = checkpoint(model, x).sum()
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    found = x.grad
    x.grad = None
    og.manual_seed(1)
    model(x).sum().backward()
    assert found is not None and x.grad is not None and found.tolist() == x.grad.tolist()


def test_data_is_replaced() -> None:
    p = nn.Parameter(og.tensor([1.0, 2.0]))
    loss = (p * p).sum()
    w = og.tensor([5.0, 6.0, 7.0])
    p.data = w
    assert p.data_ptr() == w.data_ptr() and p.is_leaf and p.requires_grad and p.tolist() == [5, 6, 7]
    loss.backward()
    assert p.grad is not None and p.grad.tolist() == [2, 4], "the graph keeps what it saw"
    p.data.copy_(og.zeros(3))
    assert w.tolist() == [0, 0, 0] and p.grad_fn is None
    # What is seen elsewhere is not written.
    before = p.data
    p.data = p.data + 1
    assert p.tolist() == [1, 1, 1] and before.tolist() == [0, 0, 0]
    p.data = before
    assert p.data_ptr() == before.data_ptr()
    for wrong, message in ((3, "Variable data has to be a tensor, but got int"), (None, "NoneType")):
        with pytest.raises(TypeError, match=message):
            p.data = wrong  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="found elements of int64 for a tensor that requires a gradient"):
        p.data = og.ones(3, dtype=og.int64)
    with pytest.raises(RuntimeError, match="found float32 on meta for a tensor of float32 on cpu"):
        p.data = og.ones(3, device="meta")
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del p.data


def test_a_view_that_was_given_other_memory_is_no_view_any_more() -> None:
    x, y = leaf(4), leaf(2)
    base = x * 1.0
    view = base[:2]
    view.data = og.zeros(2, dtype=og.float64)
    with pytest.raises(RuntimeError, match="has other memory"):
        view.mul_(y)
    assert base.tolist() == x.tolist()


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("assigns", [False, True])
def test_training_keeps_memory_flat(assigns: bool) -> None:
    """Ten thousand steps in all; a graph that is not dropped would be 80 MB at the end, a parameter 40 MB."""
    try:
        resident_bytes()
    except OSError:
        pytest.skip("the system does not tell resident memory")
    og.manual_seed(0)
    gc.collect()
    before = _opgrid._nodes_alive()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = og.optim.Adam(model.parameters(), lr=1e-3)
    x = og.randn(16, 8)
    target = (x * x).sum(1, keepdim=True) * 0.1

    def step() -> float:
        loss = nn.functional.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        if assigns:
            for p in model.parameters():
                assert p.grad is not None
                p.data = p.data - 0.02 * p.grad
        else:
            optimizer.step()
        return loss.item()

    first = step()
    for _ in range(500):
        step()
    gc.collect()
    start = resident_bytes()
    last = first
    for _ in range(4500):
        last = step()
    gc.collect()
    assert last < first / 2
    assert _opgrid._nodes_alive() == before
    assert resident_bytes() - start < 4 << 20
