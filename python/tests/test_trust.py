"""The native module trusts no object that Python code can replace; exceptions survive pickles and processes."""

import copy
import importlib
import inspect
import multiprocessing
import os
import pickle
import pkgutil
import subprocess
import sys
import textwrap

import opgrid as og
import pytest

# Each replacement is made in a child of a process that has imported the package and used nothing, so that nothing is kept from
# before. What a child may not do is end by a signal.
REPLACE = """
import importlib, os, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import opgrid as og

def use():
    def tried(call):
        try:
            call()
        except Exception:
            pass

    x = og._opgrid.tensor([[1.0, 2.0], [3.0, 4.0]])
    tried(lambda: [x.shape for _ in range(50)])
    tried(lambda: x.size())
    tried(lambda: x.shape[:1] + (1,))
    tried(lambda: og._opgrid.function("ones")(2, 3))
    tried(lambda: og._opgrid.function("max")(x, 0))
    tried(lambda: og._opgrid.function("mm")(x, x, x))
    tried(lambda: og._opgrid.function("mm")(x, og._opgrid.tensor([1])))
    tried(lambda: og._opgrid.packet("aten::no_such_operator"))
    tried(lambda: x[5])
    tried(lambda: x.sum().backward())
    tried(lambda: x.requires_grad_().sum().backward())
    tried(lambda: x.to("meta").numpy())
    tried(lambda: og._opgrid.overload_named("aten::mm").redispatch(og._opgrid.DispatchKeySet("XLA"), x, x))
    tried(lambda: __import__("pickle").loads(__import__("pickle").dumps(x.detach())))
    tried(lambda: __import__("inspect").signature(og._opgrid.packet("aten::mm").default))
    tried(lambda: repr(x))

    class Own(og._opgrid.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs)

    tried(lambda: x.detach().as_subclass(Own) + 1)
    tried(lambda: og._opgrid._wrapper(Own, [2], None, 0, None, None) + 1)

crashed = []
modules = [name for _, name, _ in pkgutil.walk_packages(og.__path__, "opgrid.") if not name.endswith("__main__")]
modules = ["opgrid"] + [name for name in modules if name.split(".")[1] not in ("nn", "optim")]
for name in modules:
    pid = os.fork()
    if pid:
        children = [pid]
    else:
        # One child for each module makes one for each attribute.
        try:
            module = importlib.import_module(name)
        except BaseException:
            os._exit(0)
        wrong = 0
        for attribute, value in list(vars(module).items()):
            is_own = getattr(value, "__module__", None) or ""
            if attribute.startswith("__") or not (callable(value) and str(is_own).startswith("opgrid")):
                continue
            # In modules that native code looks at, everything; elsewhere what is most like the objects that are there.
            looked_at = name.split(".")[-1] in ("_size", "errors", "return_types", "_modes", "_opgrid")
            for replacement in (list, None, object())[: 3 if looked_at else 1]:
                inner = os.fork()
                if inner == 0:
                    try:
                        setattr(module, attribute, replacement)
                        use()
                    except BaseException:
                        pass
                    os._exit(0)
                _, status = os.waitpid(inner, 0)
                if status != 0:
                    print("crashed:", name, attribute, replacement, status, flush=True)
                    wrong = 1
        os._exit(wrong)
    for child in children:
        _, status = os.waitpid(child, 0)
        if status:
            crashed.append((name, status))
print("done", crashed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork, with which each attribute gets a process of its own")
def test_replaced_attributes_crash_nothing():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(REPLACE)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.strip() == "done []", done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("replacement", ["list", "None", "object()", "type('Long', (tuple,), {'__slots__': ()})"])
def test_a_replaced_class_of_sizes(replacement):
    program = f"""
        import opgrid as og, opgrid._size
        own = opgrid._size.Size
        opgrid._size.Size = {replacement}
        kept = [og.ones(2, 3, 4).shape for _ in range(100)]
        assert all(type(shape) is own and shape == (2, 3, 4) for shape in kept)
        del kept
        print("end")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "end\n", done.stderr


def test_a_class_of_sizes_that_is_no_tuple_is_refused():
    program = """
        import sys, types
        fake = types.ModuleType("opgrid._size")
        fake.Size = list
        sys.modules["opgrid._size"] = fake
        try:
            import opgrid
        except TypeError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0 and "expected a class derived from tuple" in done.stdout, done.stdout + done.stderr


def exception_classes():
    found = set()
    for _, name, _ in pkgutil.walk_packages(og.__path__, "opgrid."):
        if name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__.startswith("opgrid") and not value.__name__.startswith("_"):
                found.add(value)
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))


def raised(call):
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def calls():
    x = og.ones(2)
    return {
        "shape": lambda: og.add(x, og.ones(3)),
        "packet": lambda: og.ops.aten.mm(x, x),
        "argument": lambda: og.add(x, "a"),
        "index": lambda: x[5],
        "no kernel": lambda: og.ops.aten.mm.default.redispatch(og.DispatchKeySet("XLA"), og.ones(2, 2), og.ones(2, 2)),
        "unknown": lambda: og._opgrid.overload_named("aten::nothing"),
        "schema": lambda: og.library.Library("trust", "FRAGMENT").define("f(Tensor x"),
        "dimension": lambda: x.sum(4),
        "leaf": lambda: og.ones(2, requires_grad=True).mul_(2),
    }


def fields(error):
    return type(error), error.args, str(error), vars(error)


@pytest.mark.parametrize("kind", exception_classes(), ids=lambda kind: kind.__qualname__)
def test_every_exception_class_survives(kind):
    error = kind("a message")
    if isinstance(error, og.OpgridError):
        error.op, error.keys, error._explanation = "aten::add.Tensor", og.DispatchKeySet("CPU", "AutogradCPU"), "why"
    error.add_note("a note") if hasattr(error, "add_note") else None
    for again in [copy.copy(error), copy.deepcopy(error)] + [
        pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]:
        assert fields(again) == fields(error)


@pytest.mark.parametrize("name", calls())
def test_what_calls_raise_survives(name):
    error = raised(calls()[name])
    assert isinstance(error, og.OpgridError)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert fields(again) == fields(error) and again.explain() == error.explain()
    assert fields(copy.deepcopy(error)) == fields(error)


def _fails(name):
    calls()[name]()


def test_exceptions_come_out_of_other_processes():
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        for name in ("shape", "no kernel", "argument"):
            expected = raised(calls()[name])
            error = raised(lambda: pool.apply(_fails, (name,)))
            assert (type(error), error.op, error.keys) == (type(expected), expected.op, expected.keys)
            # What else is registered differs from process to process.
            assert str(error).partition(": [")[0] == str(expected).partition(": [")[0]


def test_sets_of_keys_survive():
    every = [og.DispatchKeySet(key) for key in og.DispatchKey.all()] + [og.DispatchKeySet.full(), og.DispatchKeySet()]
    assert all(pickle.loads(pickle.dumps(keys)) == keys for keys in every)
