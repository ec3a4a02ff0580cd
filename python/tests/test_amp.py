"""Autocast and scaled losses under torch's names."""

import pathlib
import pickle
import threading

import pytest

import opgrid as og
from opgrid import library

x = og.ones(2, 2)


def product():
    return (x @ x).dtype


def test_a_region_is_a_block_or_a_decorator():
    assert product() == og.float32
    with og.autocast("cpu") as region:
        assert isinstance(region, og.amp.autocast)
        assert product() == og.bfloat16 == og.get_autocast_dtype("cpu")
        assert og.is_autocast_enabled("cpu") and not og.is_autocast_enabled("cuda")
        with og.autocast("cpu", enabled=False):
            assert product() == og.float32
        with og.autocast("cpu", dtype=og.float16):
            assert product() == og.float16
            assert og.autocast("cpu").fast_dtype == og.float16
        assert og.nn.functional.mse_loss(x.bfloat16(), x).dtype == og.float32
        assert x.bfloat16().exp().dtype == og.bfloat16
    assert product() == og.float32 and not og.is_autocast_enabled("cpu")

    @og.autocast("cpu", dtype=og.float16)
    def within(depth=1):
        """What it does."""
        return within(depth - 1) if depth else product()

    assert within() == og.float16 and within.__doc__ == "What it does."
    assert product() == og.float32


def test_what_raises_leaves_its_region():
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), og.autocast("cpu"):
            1 / 0
    assert product() == og.float32


def test_regions_end_in_any_order():
    outer, inner = og.autocast("cpu", dtype=og.float16), og.autocast("cpu", dtype=og.bfloat16)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert product() == og.bfloat16
    inner.__exit__(None, None, None)
    assert product() == og.float32 and og.autocast_increment_nesting() == 1
    assert og.autocast_decrement_nesting() == 0
    with pytest.raises(RuntimeError, match="not entered on this thread"):
        outer.__exit__(None, None, None)


def test_a_region_ends_where_it_began():
    region, found = og.autocast("cpu"), []

    def elsewhere():
        found.append(product())
        try:
            region.__exit__(None, None, None)
        except RuntimeError as error:
            found.append(str(error))
        with region:
            found.append(product())

    with region:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert product() == og.bfloat16
    assert found[0] == og.float32 and "not entered on this thread" in found[1] and found[2] == og.bfloat16
    assert product() == og.float32


def test_what_cannot_be_is_said():
    for dtype in (og.float32, og.float64, og.int8):
        with pytest.warns(UserWarning, match="the target dtype .* is not supported. Disabling autocast"):
            region = og.autocast("cpu", dtype=dtype)
        with region:
            assert product() == og.float32
    with pytest.warns(UserWarning, match="CUDA is not available"):
        og.autocast("cuda")
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        og.autocast("meta", dtype=og.float16)
    with pytest.raises(RuntimeError, match="device type at start of device string: foo"):
        og.autocast("foo")
    with pytest.raises(ValueError, match="expected a string"):
        og.autocast(x)
    with pytest.raises(TypeError, match="requires a callable"):
        og.autocast("cpu")(3)
    with og.autocast("cpu"), pytest.raises(RuntimeError, match="found a tensor of float16, expected bfloat16"):
        og.cat([x.half(), x])


def test_settings_of_the_thread():
    og.set_autocast_enabled("cpu", True)
    try:
        og.set_autocast_dtype("cpu", og.float16)
        assert product() == og.float16
        with og.autocast("cpu", dtype=og.bfloat16):
            og.set_autocast_enabled("cpu", False)
            assert product() == og.float32
        assert product() == og.float16
    finally:
        og.set_autocast_enabled("cpu", False)
        og.set_autocast_dtype("cpu", og.bfloat16)
    with og.autocast("cpu", cache_enabled=False):
        assert not og.is_autocast_cache_enabled()
    assert og.is_autocast_cache_enabled()
    og.set_autocast_cache_enabled(False)
    assert not og.autocast("cpu")._cache_enabled
    og.set_autocast_cache_enabled(True)
    og.clear_autocast_cache()


def test_gradients_have_the_dtype_of_their_parameters():
    layer = og.nn.Linear(2, 2)
    seen = []
    with og.autocast("cpu"):
        y = layer(x)
        y.register_hook(lambda grad: seen.append((grad.dtype, (grad @ x.bfloat16()).dtype)))
    y.sum().backward()
    assert layer.weight.grad.dtype == og.float32 and seen == [(og.bfloat16, og.bfloat16)]
    with og.autocast("cpu"):
        layer(x).sum().backward()
    assert layer.weight.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_a_written_weight_is_cast_anew():
    weight = og.ones(2, 2, requires_grad=True)
    with og.autocast("cpu"):
        assert (x @ weight).tolist() == [[2.0, 2.0], [2.0, 2.0]]
        with og.no_grad():
            weight.mul_(3)
        assert (x @ weight).tolist() == [[6.0, 6.0], [6.0, 6.0]]
        weight.data = og.zeros(2, 2)
        assert (x @ weight).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        weight.data = og.ones(2, 2)
        assert (x @ weight).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_checkpoints_run_again_as_they_ran():
    from opgrid.utils.checkpoint import checkpoint

    layer, seen = og.nn.Linear(2, 2), []

    def block(x):
        seen.append((y := layer(x)).dtype)
        return y

    with og.autocast("cpu"):
        y = checkpoint(block, x, use_reentrant=False)
    y.sum().backward()
    assert seen == [og.bfloat16] * 2


@pytest.mark.parametrize("around", [True, False])
def test_transforms_nest_with_regions(around):
    weight = og.tensor([[1.0, 2.0], [3.0, 4.0]])

    def linear(row):
        return og.nn.functional.linear(row, weight)

    def transformed(transform, function):
        if not around:
            return transform(og.autocast("cpu")(function))
        return og.autocast("cpu")(transform(function))

    rows = og.tensor([[0.5, 1.5], [2.5, 3.5]])
    with og.autocast("cpu"):
        expected = linear(rows)
    found = transformed(og.func.vmap, linear)(rows)
    assert found.dtype == og.bfloat16 and found.tolist() == expected.tolist()
    gradient = transformed(og.func.grad, lambda row: linear(row).float().sum())(rows)
    assert gradient.dtype == og.float32 and gradient.tolist() == [[4.0, 6.0], [4.0, 6.0]]
    nested = transformed(lambda f: og.func.vmap(og.func.grad(f)), lambda row: linear(row).float().sum())(rows)
    assert nested.tolist() == gradient.tolist()


def test_policies_of_ones_own():
    @library.custom_op("pytest_amp::square", mutates_args=())
    def square(x: og.Tensor, by: list[og.Tensor]) -> og.Tensor:
        seen.append((x.dtype, by[0].dtype, og.is_autocast_enabled("cpu")))
        return x @ by[0]

    seen = []
    square.register_autocast("cpu", og.float16)
    square(x, [x])
    with og.autocast("cpu"):
        assert square(x.double().float(), [x.bfloat16()]).dtype == og.float16
        square(x.double(), [x.double()])
        library.register_autocast("pytest_amp::square", "cpu", og.float32)
        square(x.bfloat16(), [x])
    assert seen == [
        (og.float32, og.float32, False),
        (og.float16, og.float16, False),
        (og.float64, og.float64, False),
        (og.float32, og.float32, False),
    ]
    with pytest.raises(ValueError, match="'meta' does not support autocast"):
        library.register_autocast("pytest_amp::square", "meta", og.float16)


def test_functions_of_ones_own():
    class Product(og.autograd.Function):
        @staticmethod
        @og.amp.custom_fwd(device_type="cpu", cast_inputs=og.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, og.is_autocast_enabled("cpu")))
            return a @ b

        @staticmethod
        @og.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((grad.dtype, og.is_autocast_enabled("cpu")))
            return grad @ b.t(), a.t() @ grad

    class Plain(Product):
        @staticmethod
        @og.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

    seen = []
    weight = og.ones(2, 2, requires_grad=True)
    with og.autocast("cpu"):
        y = Product.apply(x.bfloat16(), weight)
    y.sum().backward()
    assert seen == [(og.float32, False), (og.float32, False)] and y.dtype == og.float32
    seen.clear()
    with og.autocast("cpu"):
        y = Plain.apply(x, weight)
    y.sum().backward()
    assert seen == [(og.bfloat16, True)]


def scaled(**options):
    model = og.nn.Linear(2, 1)
    optimizer = og.optim.SGD(model.parameters(), lr=0.25)
    return model, optimizer, og.amp.GradScaler("cpu", **options)


def test_scaled_steps_are_plain_steps():
    og.manual_seed(0)
    plain, optimizer, _ = scaled()
    model, other, scaler = scaled(init_scale=8.0)
    model.load_state_dict(plain.state_dict())
    for _ in range(3):
        for network, step in [(plain, optimizer), (model, other)]:
            step.zero_grad()
            loss = network(x).pow(2).sum()
            if network is plain:
                loss.backward()
                step.step()
            else:
                scaler.scale(loss).backward()
                scaler.unscale_(step)
                scaler.step(step)
                scaler.update()
    assert plain.weight.tolist() == model.weight.tolist()


def test_scales_grow_and_back_off():
    model, optimizer, scaler = scaled(init_scale=4.0, growth_interval=2)
    scales, before = [], model.weight.tolist()
    for factor in (1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale(model(x).sum() * factor * 0).backward()
        assert scaler.step(optimizer) is None
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [4.0, 8.0, 4.0, 4.0] and model.weight.tolist() == before
    state = scaler.state_dict()
    assert state == {"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1}
    other = og.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state == pickle.loads(pickle.dumps(scaler)).state_dict()
    scaler.update(new_scale=32.0)
    assert scaler.get_scale() == 32.0
    scaler.update(og.tensor(16.0))
    assert scaler.get_scale() == 16.0
    assert [y.item() for y in scaler.scale([og.ones(()), og.ones(())])] == [16.0, 16.0]


def test_scalers_say_what_is_in_the_wrong_order():
    model, optimizer, scaler = scaled()
    for call in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), scaler.update):
        with pytest.raises(AssertionError, match="there is no scale yet"):
            call()
    loss = scaler.scale(model(x).sum())
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    scaler = og.amp.GradScaler("cpu")
    scaler.scale(model(x).sum()).backward()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="closures are not supported"):
        scaler.step(optimizer, closure=lambda: loss)
    with pytest.raises(AssertionError, match="pickled at the beginning"):
        pickle.dumps(scaler)
    scaler.update()
    half = og.nn.Linear(2, 1).half()
    scaler.scale(half(x.half()).sum()).backward()
    with pytest.raises(ValueError, match="unscale FP16 gradients"):
        scaler.unscale_(og.optim.SGD(half.parameters(), lr=0.1))
    with pytest.raises(AssertionError, match="must be > 1.0"):
        og.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="must be < 1.0"):
        og.amp.GradScaler("cpu", backoff_factor=1.0)
    with pytest.raises(RuntimeError, match="saved from a disabled instance"):
        scaler.load_state_dict({})


def test_disabled_scalers_do_nothing():
    with pytest.warns(UserWarning, match="CUDA, which is not available"):
        assert not og.amp.GradScaler().is_enabled()
    model, optimizer, scaler = scaled(enabled=False)
    loss = model(x).sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(optimizer)
    before = model.bias.tolist()
    scaler.step(optimizer)
    scaler.update()
    assert model.bias.tolist() != before


def digits():
    """Images of handwritten digits, with their labels."""
    digits = og.load(pathlib.Path(__file__).parents[2] / "examples/data/digits.npz")
    # They are ordered by writer.
    og.manual_seed(0)
    order = og.randperm(len(digits["labels"]))
    return digits["images"][order].reshape(len(order), 64) / 16, digits["labels"][order]


def test_training_in_lower_precision_is_as_good():
    images, labels = digits()
    tested, accuracies = 360, []
    for lower in (None, og.bfloat16, og.float16):
        og.manual_seed(3)
        model = og.nn.Sequential(og.nn.Linear(64, 64), og.nn.ReLU(), og.nn.Linear(64, 10))
        optimizer = og.optim.AdamW(model.parameters(), lr=1e-2)
        scaler = og.amp.GradScaler("cpu", enabled=lower is og.float16)
        for _ in range(12):
            for batch in (tested + og.randperm(len(images) - tested)).split(64):
                optimizer.zero_grad()
                with og.autocast("cpu", dtype=lower or og.bfloat16, enabled=lower is not None):
                    loss = og.nn.functional.cross_entropy(model(images[batch]), labels[batch])
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
        with og.no_grad():
            found = model(images[:tested]).argmax(1)
        accuracies.append((found == labels[:tested]).float().mean().item())
    assert accuracies[0] > 0.9 and all(abs(found - accuracies[0]) <= 0.01 for found in accuracies[1:]), accuracies
