"""The stubs are those of the registry, and a user's file passes the strictest checks with them."""

import pathlib
import subprocess
import sys

import opgrid as og
import pytest

PYTHON = pathlib.Path(__file__).parents[1]

SAMPLE = '''
from __future__ import annotations

import opgrid as og
from opgrid import Tensor, library
from opgrid.library import Library


def norm(x: Tensor) -> float:
    squares: Tensor = x * x
    return float(og.sum(squares))


def double(op: og.OpOverload, *args: object) -> object:
    with og.exclude("CPU"):
        return op(*args)


x = og.zeros(2, 3, dtype=og.float32)
y: Tensor = og.add(x, 1, alpha=2).relu().view(3, 2)
shape: og.Size = y.shape
size: int = y.size(0)
lib = Library("mypy_sample", "FRAGMENT")
name: str = lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: x + x, "CPU")
keys: og.DispatchKeySet = og.DispatchKeySet("CPU") | og.DispatchKey("Meta")
explanation: og.Explanation = og.explain("aten::add.Tensor", x, x)
explanation = og.call_explained(og.add, x, x)[1]
schema: str = library.infer_schema(norm, mutates_args=())
y += 1
'''

PROGRAM = '''
from __future__ import annotations

import opgrid as og
from opgrid import Tensor
from opgrid.library import custom_op
from opgrid.nn import functional as F


@custom_op("user::scaled", mutates_args=())
def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
    return x * factor


@scaled.register_fake
def _(x: Tensor, factor: float = 2.0) -> Tensor:
    return og.empty_like(x)


def setup(ctx: og.autograd.function.FunctionCtx, inputs: tuple[Tensor, float], output: Tensor) -> None:
    ctx.factor = inputs[1]


def backward(ctx: og.autograd.function.FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
    return grad * ctx.factor, None


scaled.register_autograd(backward, setup_context=setup)
y: Tensor = scaled(og.ones(2), 3.0)


class Net(og.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = og.nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.layer(x))


net = Net()
optimizer = og.optim.Adam(net.parameters(), lr=1e-2)
data = og.utils.data.TensorDataset(og.ones(8, 4), og.zeros(8, dtype=og.int64))
loader = og.utils.data.DataLoader(data, batch_size=4, shuffle=True)
for inputs, target in loader:
    optimizer.zero_grad()
    loss: Tensor = og.nn.CrossEntropyLoss()(net(inputs), target)
    loss.backward()
    optimizer.step()
    print(f"{loss:.3f}", loss.item())
with og.no_grad():
    predicted = net(og.ones(1, 4)).argmax(dim=1)
values, places = og.ones(3).max(dim=0)
grads = og.func.grad(lambda x: (x**2).sum())(og.ones(3))
state = net.state_dict()
og.save(state, "net.pt")
net.load_state_dict(og.load("net.pt"))
normal = og.distributions.Normal(0.0, 1.0)
sample: Tensor = normal.rsample((3,))
for finding in og.inspect.lint():
    print(finding.fault)
numbers: list[float] = og.ones(3).tolist()
first: Tensor = og.ones(3, 3)[0, :2]
device: og.device = first.device
'''

WRONG = """
import opgrid as og

size: str = og.zeros(2).numel()
og.add("a")
og.zeros(2).view("a")
"""


def test_stubs_are_those_of_the_registry():
    checked = subprocess.run(
        [sys.executable, str(PYTHON / "stubs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Checks a text as a file of its own, or another path."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("mypy")

    def check(text, path="sample.py"):
        (folder / "sample.py").write_text(text)
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), str(path)]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    return check


@pytest.mark.parametrize("text", [SAMPLE, PROGRAM], ids=["calls", "training"])
def test_a_users_file_passes_strict_checks(mypy, text):
    checked = mypy(text)
    assert checked.returncode == 0, checked.stdout


def test_the_package_passes_strict_checks(mypy):
    checked = mypy("", pathlib.Path(og.__file__).parent)
    assert checked.returncode == 0, checked.stdout


def test_mistakes_are_found(mypy):
    checked = mypy(WRONG)
    assert checked.stdout.count("error:") >= 3, checked.stdout
