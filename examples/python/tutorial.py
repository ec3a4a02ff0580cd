"""The dispatcher's story from Python, ten lines each: define, implement, hook, add a layer, explain."""

# %% Operators are called as functions, as methods, and by their full names.
import opgrid as og
from opgrid.library import Library

x = og.tensor([1.0, 2.0, 3.0])
print(og.add(x, 1), x.add(1), og.ops.aten.add.Tensor(x, 1))
print(og.ops.aten.add.overloads())

# %% An operator of one's own: a schema, then kernels by dispatch key.
lib = Library("tutorial", "DEF")
lib.define("scale(Tensor self, float by=2) -> Tensor", kind="pointwise unary")


def scale_cpu(x, by=2.0):
    return x * by


lib.impl("scale", scale_cpu, "CPU")
lib.impl("scale", lambda x, by=2.0: og.empty(x.shape, dtype=x.dtype, device="meta"), "Meta")
print(og.ops.tutorial.scale(x, 3), og.ops.tutorial.scale(x.to("meta")).shape)

# %% A call that no kernel serves says which there are.
try:
    og.ops.tutorial.scale.default.redispatch(og.DispatchKeySet("CUDA"), x)
except NotImplementedError as error:
    print(type(error).__name__, error.op, error.keys)

# %% A hook sees every operator while its key is included, and calls on without it.
HOOK = "TESTING_ONLY_GenericMode"


def hook(op, *args, **kwargs):
    print("  called", op.name())
    with og.exclude(HOOK):
        return op(*args, **kwargs)


hooks = Library("_", "IMPL")
hooks.fallback(hook, HOOK)
with og.include(HOOK):
    (x + 1).mul_(2)

# %% A layer has a key of its own, with a place between others, and redispatches below itself.
TIMES_TEN = og.layer("TutorialTimesTen", above="Autograd")


def times_ten(keys, op, *args, **kwargs):
    return 10 * op.redispatch(keys & og.DispatchKeySet.full_after(TIMES_TEN), *args, **kwargs)


lib.impl("scale", lambda keys, *args: times_ten(keys, og.ops.tutorial.scale.default, *args),
         str(TIMES_TEN), with_keyset=True)  # fmt: skip
with og.include(TIMES_TEN):
    print(og.ops.tutorial.scale(x))

# %% A mode is a handler with a stack of its own.


class Count(og.DispatchMode):
    calls = 0

    def __opgrid_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        return func(*args, **(kwargs or {}))


with Count() as count:
    og.ops.tutorial.scale(x + x)
print(count.calls, "operators")

# %% Everything says why it is so: which kernel, by which rule, registered where.
explanation = og.explain(og.ops.tutorial.scale.default, x)
print([hop["reason"] for hop in explanation.as_dict()["hops"]])
print([kernel.title for kernels in og.registered_kernels(og.ops.tutorial.scale.default).values() for kernel in kernels])
explanation  # notebooks show it as a table

# %% Providers are several kernels for one key; one may be put first for a block.
lib.define("twice(Tensor self) -> Tensor")


@og.provider("tutorial::twice", "small", "cpu", when=lambda x: x.numel() < 3, lib=lib)
def twice_small(x):
    print("  small", x.numel())
    return x + x


@og.provider("tutorial::twice", "any", "cpu", lib=lib)
def twice_any(x):
    print("  any", x.numel())
    return 2 * x


og.ops.tutorial.twice(og.ones(2))
og.ops.tutorial.twice(og.ones(3))
with og.prefer("tutorial::twice", "any"):
    og.ops.tutorial.twice(og.ones(2))

# %% Libraries that work with any array find the standard's functions.
xp = x.__array_namespace__()
print(xp.mean(x, axis=0, keepdims=True), xp.result_type(xp.int32, xp.uint8))

# %% What was registered goes when its library does.
hooks._destroy()
lib._destroy()
