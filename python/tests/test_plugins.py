"""Plugins in C, and extensions of Python that are plugins."""

import os
import pathlib
import subprocess
import sys
import sysconfig
import time
import warnings

import pytest

import opgrid as og

ROOT = pathlib.Path(__file__).parents[2]


def build(source: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    compiler = ["cc", "-shared", "-fPIC", f"-I{og.get_include()}", "-o", str(target), str(source)]
    subprocess.run(compiler, check=True)
    return target


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    return build(ROOT / "examples/plugin-c/plugin.c", folder / "libplugin_c.so")


def test_a_plugin_in_c(plugin, capfd):
    loaded = og.ops.load_library(plugin)
    assert (loaded.name, loaded.version, loaded.namespaces) == ("plugin_c", "0.1.0", ["demo_c"])
    assert og.ops.load_library(str(plugin)) is loaded
    x, y = og.tensor([1.0, 2.0, 3.0]), og.tensor([10.0, 20.0, 30.0])
    assert og.ops.demo_c.scale_add(x, y, 2.0).tolist() == [21.0, 42.0, 63.0]
    with og.include("TESTING_ONLY_GenericMode"):
        og.ops.demo_c.scale_add(x, y, 2.0)
    assert capfd.readouterr().out == "hook: demo_c::scale_add with 3 arguments\n"
    with pytest.raises(og.OpgridError, match="expected two tensors of one shape"):
        og.ops.demo_c.scale_add(x, og.tensor([1.0]), 2.0)
    loaded.drop()
    assert not loaded.is_loaded and "Plugin(plugin_c 0.1.0" in repr(loaded)
    with pytest.raises(AttributeError):
        og.ops.demo_c.scale_add(x, y, 2.0)
    assert og.ops.load_library(plugin) is not loaded
    assert og.ops.demo_c.scale_add(x, y, 0.0).tolist() == [1.0, 2.0, 3.0]


SAYS = """
#include "opgrid.h"

OPGRID_PLUGIN("says", "0.1.0", "says", "CPU");
static const OpgridApi *api;
static OpgridLibrary *library;

static int32_t work(void *context, size_t start, size_t end, OpgridError **error) {
    (void)context, (void)start, (void)end, (void)error;
    api->log(library, OPGRID_LOG_WARNING, (OpgridText){"from a thread", 13});
    return OPGRID_OK;
}

static int32_t say(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments, size_t count,
                   OpgridResults *results, OpgridError **error) {
    (void)context, (void)op, (void)keys, (void)arguments, (void)count, (void)results;
    api->log(library, OPGRID_LOG_NOTE, (OpgridText){"100 % of it", 11});
    /* More pieces than threads, so that others than this one work. */
    return api->parallel_for(8, 1, work, NULL, error);
}

__attribute__((destructor)) static void ends(void) {
    if (api) api->log(library, OPGRID_LOG_WARNING, (OpgridText){"the end", 7});
}

int32_t opgrid_plugin_init(const OpgridApi *host, OpgridLibrary *own) {
    api = host, library = own;
    OpgridBlock *block = NULL;
    OpgridError *error = NULL;
    const OpgridDefinition definition = {
        .struct_size = sizeof definition, .schema = "say() -> ()", .documentation = "Says something."};
    const OpgridKernel kernel = {.struct_size = sizeof kernel, .key = "CompositeExplicitAutograd", .kernel = say};
    int32_t status = api->block_open(library, OPGRID_BLOCK_LIBRARY, "says", NULL, NULL, 0, &block, &error);
    if (!status) status = api->define(block, &definition, &error);
    if (!status) status = api->implement(block, "say", &kernel, &error);
    if (status) api->library_fail(library, error);
    return status;
}
"""


def test_what_a_plugin_says(tmp_path, caplog, monkeypatch):
    (tmp_path / "says.c").write_text(SAYS, encoding="utf-8")
    loaded = og.ops.load_library(build(tmp_path / "says.c", tmp_path / "libsays.so"))
    assert "Says something." in og.ops.says.say.__doc__
    # Nobody waits for the interpreter's lock, which this thread holds meanwhile: the warnings come afterwards.
    with caplog.at_level("INFO", logger="opgrid"), pytest.warns(og.errors.PluginWarning) as warned:
        og.ops.says.say()
        for _ in range(100):
            if len(warned) == 8:
                break
            time.sleep(0.01)
    assert [str(warning.message) for warning in warned] == ["plugin `says`: from a thread"] * 8
    assert caplog.messages == ["plugin `says`: 100 % of it"]
    # A warning that is made an error has nobody to be raised for: the call has taken place.
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: raised.append(one.exc_type))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        og.ops.says.say()
        for _ in range(100):
            if len(raised) == 8:
                break
            time.sleep(0.01)
    assert raised == [og.errors.PluginWarning] * 8
    loaded.drop()
    # When the process ends there is no interpreter any more.
    text = f"import opgrid as og; og.ops.load_library({str(loaded.path)!r}); og.ops.says.say()"
    path = str(pathlib.Path(og.__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert ended.returncode == 0 and ended.stderr.count("from a thread") > 0, ended.stderr
    assert ended.stderr.splitlines()[-1].endswith(": the end"), ended.stderr


def test_a_plugin_by_name(plugin, monkeypatch):
    monkeypatch.setenv("OPGRID_PLUGIN_PATH", str(plugin.parent))
    assert og.ops.load_library("plugin_c").name == "plugin_c"
    with pytest.raises(og.errors.FileError, match="no_such_plugin"):
        og.ops.load_library("no_such_plugin")
    with pytest.raises(og.errors.FileError, match="found a file of another kind"):
        og.ops.load_library(__file__)


MY_TEST = """
import opgrid as og, my_test
x = og.tensor([1.0, 2.0, 3.0])
print(my_test.add_1(x))
my_test.enable_hook(True)
y = my_test.add_1(x)
y = y + 1
my_test.enable_hook(False)
print(y)
"""

PRINTED = """\
tensor([2., 3., 4.])
Custom hook called 0 times
  Operator: aten::add_1
Custom hook called 1 times
  Operator: aten::add
tensor([3., 4., 5.])
"""

MORE = """
import opgrid as og, my_test
assert my_test.hello_world(3) == "3"
meta = og.tensor([1.0]).to("meta")
for call in (my_test.add_1, og.ops.aten.add_1):
    try:
        call(meta)
    except og.errors.NotSupportedError as error:
        print(error)
try:
    my_test.add_1(og.tensor([1]))
except og.OpgridError as error:
    print("dtype" in str(error))
try:
    my_test.add_1(1)
except TypeError:
    print("TypeError")
assert og.ops.load_library("my_test") is og.ops.load_library(my_test._C.__file__)
"""

MORE_PRINTED = """\
Hello World! 3
aten::add_1 has a kernel for the CPU alone; move the tensor to the CPU
aten::add_1 has a kernel for the CPU alone; move the tensor to the CPU
True
TypeError
"""

UNGUARDED = """
import opgrid as og, my_test
my_test.enable_hook(True)
try:
    my_test.add_1(og.tensor([1.0]))
except og.errors.DepthError as error:
    my_test.enable_hook(False)
    print("DepthError")
"""


def run(text: str, *folders: pathlib.Path) -> str:
    package = pathlib.Path(og.__file__).parents[1]
    path = os.pathsep.join(map(str, (*folders, package)))
    ran = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def install(source: pathlib.Path, target: pathlib.Path) -> None:
    package = pathlib.Path(og.__file__).parents[1]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(
        [*command, "--no-build-isolation", "--target", str(target), str(source)],
        check=True,
        env={**os.environ, "PYTHONPATH": str(package)},
    )


def test_the_extension_my_test_in_cpp(tmp_path):
    # A copy, because setuptools writes beside its sources.
    source, target = tmp_path / "source", tmp_path / "installed"
    subprocess.run(["cp", "-r", str(ROOT / "examples/my-test-cpp"), str(source)], check=True)
    install(source, target)
    assert run(MY_TEST, target) == PRINTED
    assert run(MORE, target) == MORE_PRINTED

    # Without its guard the hook meets itself, until the nesting limit is an error.
    code = (source / "my_test.cpp").read_text(encoding="utf-8")
    guard = '    const opgrid::ExcludeGuard guard(opgrid::keys("TESTING_ONLY_GenericMode"));\n'
    assert code.count(guard) == 1
    (source / "my_test.cpp").write_text(code.replace(guard, ""), encoding="utf-8")
    unguarded = tmp_path / "unguarded"
    install(source, unguarded)
    assert run(UNGUARDED, unguarded).splitlines()[-1] == "DepthError"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert (unguarded / "my_test" / f"_C{suffix}").is_file()


KEPT = """
#include <opgrid.hpp>
#include <optional>

OPGRID_MODULE("kept", "0.1.0", "kept", "TESTING_ONLY_GenericMode")

OPGRID_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
    m.fallback([](const opgrid::Call& call) {
        const opgrid::ExcludeGuard guard(opgrid::keys("TESTING_ONLY_GenericMode"));
        call.redispatch_anew();
    });
}

OPGRID_LIBRARY(kept, m) {
    m.def("hook", [](bool on) {
        static std::optional<opgrid::IncludeGuard> guard;
        if (on) {
            guard.emplace(opgrid::keys("TESTING_ONLY_GenericMode"));
        } else {
            guard.reset();
        }
        return on;
    });
}
"""


KEEPING = """
import opgrid as og

og.ops.load_library(path)
hook, start = og.ops.kept.hook, og.local_keys()
hook(True)
with og.no_grad():
    assert not og.is_grad_enabled()
    hook(False)
    assert not og.is_grad_enabled()
assert og.is_grad_enabled() and og.local_keys() == start
with og.no_grad():
    hook(True)
assert og.is_grad_enabled()
assert og.local_keys()[0].has("TESTING_ONLY_GenericMode")
hook(False)
assert og.is_grad_enabled() and og.local_keys() == start
print("kept")
"""


def test_a_guard_that_an_extension_keeps_leaves_recording_alone(tmp_path):
    source, target = tmp_path / "kept.cpp", tmp_path / "libkept.so"
    source.write_text(KEPT, encoding="utf-8")
    compiler = ["c++", "-std=c++17", "-shared", "-fPIC", f"-I{og.get_include()}", "-o", str(target), str(source)]
    subprocess.run(compiler, check=True)
    assert run(f"path = {str(target)!r}{KEEPING}") == "kept\n"
