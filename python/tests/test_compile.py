"""Compiled functions and modules give what they give as they are, and say what ran how."""

import pytest

import opgrid as og


def same(found, expected):
    assert found.dtype == expected.dtype and found.stride() == expected.stride()
    assert og.equal(found, expected)


def chain(x, y, *, scale=1.5):
    return {"out": (og.sigmoid(x * y) + scale).tanh(), "both": [x - y]}


def test_results_are_those_of_the_function_for_all_dtypes_and_strides():
    for dtype in (og.float32, og.float64, og.bfloat16, og.float16):
        compiled, x = og.compile(chain), og.randn(4, 6).to(dtype)
        for a, b in [(x, x[0]), (x.t(), og.ones(4, dtype=dtype)), (x[:, ::2], x[:, 1::2])]:
            found, expected = compiled(a, b), chain(a, b)
            same(found["out"], expected["out"])
            same(found["both"][0], expected["both"][0])
        assert compiled.report().compiled_calls == 3 and compiled.__name__ == "chain"


def test_values_are_part_of_what_a_program_is_for():
    compiled = og.compile(chain)
    x = og.randn(3)
    same(compiled(x, x, scale=2.0)["out"], chain(x, x, scale=2.0)["out"])
    same(compiled(x, x, scale=-1)["out"], chain(x, x, scale=-1)["out"])
    report = compiled.report()
    assert (report.compiled_calls, report.eager_calls, len(report.programs)) == (2, 0, 2)
    assert "aten::mul.Tensor aten::sigmoid aten::add.Tensor aten::tanh" in report.programs[0]


def test_modules_keep_their_state_and_see_its_changes():
    module = og.nn.Sequential(og.nn.Linear(4, 4), og.nn.GELU(), og.nn.Tanh()).eval()
    compiled = og.compile(module)
    assert isinstance(compiled, og.nn.Module) and list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    x = og.randn(2, 4)
    with og.no_grad():
        same(compiled(x), module(x))
        module[0].weight.mul_(2)
        same(compiled(x), module(x))
        module[0].bias = og.nn.Parameter(og.ones(4))
        same(compiled(x), module(x))
    report = compiled.report()
    assert report.compiled_calls == 3 and "aten::gelu aten::tanh" in report.programs[0]


def test_gradients_are_recorded_by_the_function_itself():
    module = og.nn.Sequential(og.nn.Linear(3, 3), og.nn.Tanh())
    compiled = og.compile(module)
    compiled(og.ones(2, 3)).sum().backward()
    assert module[0].weight.grad is not None
    assert compiled.report().reasons == {"gradients are recorded": 1}
    x = og.ones(2, requires_grad=True)
    double = og.compile(lambda x: x * 2, fullgraph=True)
    double(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_code_that_looks_at_elements_runs_as_it_is_and_says_why():
    @og.compile
    def absolute(x):
        return x if x.sum() > 0 else -x

    assert absolute(og.tensor([-1.0])).item() == 1 and absolute(og.tensor([2.0])).item() == 2
    (reason,) = absolute.report().reasons
    assert absolute.report().eager_calls == 2 and "reads a value from a tensor" in reason
    with pytest.raises(RuntimeError, match="does not become one program"):
        og.compile(lambda x: x.item(), fullgraph=True)(og.ones(1))


def test_tracing_computes_nothing_and_writes_nothing():
    module = og.nn.Sequential(og.nn.BatchNorm1d(3), og.nn.Dropout(0.5))
    other = og.nn.Sequential(og.nn.BatchNorm1d(3), og.nn.Dropout(0.5))
    compiled, x = og.compile(module), og.randn(5, 3)
    with og.no_grad():
        for _ in range(2):
            og.manual_seed(5)
            found = compiled(x)
            og.manual_seed(5)
            same(found, other(x))
    for found, expected in zip(module.buffers(), other.buffers()):
        same(found, expected)
    assert compiled.report().compiled_calls == 2
    count = og.zeros(1)

    @og.compile
    def counted(x):
        count.add_(1)
        return x + count

    assert [counted(og.zeros(1)).item() for _ in range(3)] == [1, 2, 3]


def test_arguments_that_are_written_are_written():
    def write(x, y):
        x.add_(y * 2)
        return x

    a, b, y = og.ones(3), og.ones(3), og.randn(3)
    result = og.compile(write)(a, y)
    same(a, write(b, y))
    same(result, a)


def test_the_number_of_programs_is_bounded():
    compiled = og.compile(lambda x: x.exp() + 1)
    with pytest.warns(UserWarning, match="traced for 8 kinds of arguments"):
        for size in range(1, 11):
            same(compiled(og.ones(size)), og.ones(size).exp() + 1)
    report = compiled.report()
    assert (report.compiled_calls, report.eager_calls, len(report.programs)) == (8, 2, 8)
    assert "2 eager: it is traced for 8 other kinds of arguments" in str(report)


def test_globals_closures_and_attributes_are_looked_at_before_each_call():
    factor = 2.0

    @og.compile
    def scaled(x):
        return x * factor + 1

    assert scaled(og.ones(1)).item() == 3
    factor = 3.0
    assert scaled(og.ones(1)).item() == 4

    class Scale(og.nn.Module):
        by = 2.0

        def forward(self, x):
            return x * self.by + 1

    module = Scale()
    compiled = og.compile(module)
    module.by = 2.0
    assert compiled(og.ones(1)).item() == 3
    module.by = 5.0
    assert compiled(og.ones(1)).item() == 6


def test_arguments_are_checked_as_in_torch():
    with pytest.raises(RuntimeError, match="either `mode` or `options`"):
        og.compile(abs, mode="default", options={})
    with pytest.raises(TypeError, match="expected a function or a module"):
        og.compile(3)
    assert og.compile(abs, disable=True) is abs and og.compile(abs, backend="eager") is abs
    assert og.compile(dynamic=True, fullgraph=True)(lambda x: x + 1)(og.ones(1)).item() == 2


def test_what_code_names_is_looked_at_before_each_call():
    x = og.ones(3)
    weight, scales = og.ones(3), [2.0]

    def helper(x):
        return [x * weight for _ in range(1)][0] * scales[0]

    f = og.compile(lambda x: helper(x) + 1)
    for number in range(6):
        # The object of the last one is free, and may lie where the next one does.
        del weight
        weight = og.full((3,), float(number))
        assert f(x).tolist() == [2.0 * number + 1] * 3
    scales[0] = 3.0
    assert f(x).tolist() == [16.0] * 3
    assert f.report().eager_calls == 0


def test_objects_that_may_change_run_as_they_are():
    class Settings:
        scale = 2.0

    settings = Settings()
    f = og.compile(lambda x: x * settings.scale)
    assert f(og.ones(1)).tolist() == [2.0]
    settings.scale = 3.0
    assert f(og.ones(1)).tolist() == [3.0]
    assert list(f.report().reasons) == ["its code reads an object of class Settings, which may change between calls"]
