"""Mixed precision: regions in which operators compute in lower precision, and scaled losses for float16.

>>> import opgrid as og
>>> layer = og.nn.Linear(4, 2)
>>> with og.autocast("cpu", dtype=og.bfloat16):
...     y = layer(og.ones(3, 4))
>>> y.dtype
opgrid.bfloat16
>>> y.sum().backward()
>>> layer.weight.grad.dtype
opgrid.float32

The names and arguments are those of ``torch.amp``.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _opgrid
from ._opgrid import TensorBase
from ._opgrid import dtype as _dtype
from ._ops import ops
from .autograd import no_grad

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device."""
    return _opgrid._is_autocast_available(device_type)


def _is_absent(device_type: str) -> bool:
    """Whether a device of that type cannot be here: there is no backend for CUDA."""
    return device_type == "cuda"


class autocast:
    """A region in which autocast is on for a type of device, as a context manager or a decorator.

    Operators of torch's lists compute in ``dtype``, in float32, or in the widest dtype of their arguments; others in what they get.
    Without ``dtype`` it is that of the thread, bfloat16 for the CPU. With ``enabled=False`` autocast is off in the region. Weights
    are cast once in the outermost region, unless ``cache_enabled`` is false; one that is written is cast anew.

    One object may be entered any number of times, also inside of itself and on several threads. Regions that end in another order
    than that in which they were entered leave what the others said.
    """

    def __init__(
        self,
        device_type: str,
        dtype: _dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast(): found {type(device_type).__name__} as device_type, expected a string such as 'cpu'")
        self.fast_dtype = _opgrid.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self._cache_enabled = _opgrid.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and _is_absent(device_type):
            warnings.warn("CUDA is not available. Disabling autocast.", stacklevel=2)
            enabled = False
        supported = [_opgrid.bfloat16, _opgrid.float16]
        if enabled and self.fast_dtype not in supported:
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype {self.fast_dtype} is not supported. Disabling autocast.\n"
                f"{name} autocast only supports dtypes of {', '.join(map(str, supported))}.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        _opgrid._enter_autocast(self, self.device, self.fast_dtype, self._enabled, self._cache_enabled)
        return self

    def __exit__(self, *_raised: object) -> None:
        _opgrid._leave_autocast(self)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}; to run a block, write `with autocast(...):`"
            )

        @functools.wraps(func)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return within


def _cast(value: Any, device_type: str, to: _dtype) -> Any:
    """The value with its floating-point tensors on the device in another dtype, also those in collections."""
    if isinstance(value, TensorBase):
        is_castable = value.is_floating_point() and value.device.type == device_type and value.dtype != _opgrid.float64
        return value.to(to) if is_castable else value
    if isinstance(value, (str, bytes)) or type(value).__module__ == "numpy":
        return value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, to): _cast(item, device_type, to) for key, item in value.items()}
    if isinstance(value, Iterable):
        items = [_cast(item, device_type, to) for item in value]
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: _dtype | None = None
) -> Callable[..., Any]:
    """For ``forward`` of an `autograd.Function`: remembers for ``backward`` whether autocast was on.

    With ``cast_inputs``, in a region with autocast, the floating-point tensors that it gets are cast to that dtype, and it runs with
    autocast off.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"custom_fwd(): found {type(device_type).__name__} as device_type, expected a string such as 'cpu'")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx, is_on = args[0], _opgrid.is_autocast_enabled(device_type)
        ctx._dtype = _opgrid.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            given = [_cast(arg, device_type, cast_inputs) for arg in args[1:]]
            return fwd(ctx, *given, **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """For ``backward`` of an `autograd.Function`: runs it with autocast as it was in ``forward``, which has `custom_fwd`."""
    if not isinstance(device_type, str):
        raise ValueError(f"custom_bwd(): found {type(device_type).__name__} as device_type, expected a string such as 'cpu'")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward


class _State:
    """What an optimizer has done since the scale was updated."""

    def __init__(self, optimizer: Any) -> None:
        # As long as it is here, its address is that of no other optimizer.
        self.optimizer = optimizer
        self.stage = "ready"
        self.found_inf: dict[Any, Any] = {}


class GradScaler:
    """Multiplies losses by a scale, so that gradients of float16 do not vanish, and divides gradients by it before the step.

    A step whose gradients are not finite is left out, and the scale is multiplied by ``backoff_factor``. After ``growth_interval``
    steps without that it is multiplied by ``growth_factor``.

    >>> import opgrid as og
    >>> model = og.nn.Linear(2, 1)
    >>> optimizer = og.optim.SGD(model.parameters(), lr=0.1)
    >>> scaler = og.amp.GradScaler("cpu")
    >>> with og.autocast("cpu", dtype=og.float16):
    ...     loss = og.nn.functional.mse_loss(model(og.ones(4, 2)), og.zeros(4, 1))
    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> scaler.get_scale()
    65536.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and _is_absent(device):
            warnings.warn("GradScaler is enabled for CUDA, which is not available. Disabling.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(f"GradScaler(): found the growth factor {growth_factor}, which must be > 1.0")
        if backoff_factor >= 1.0:
            raise AssertionError(f"GradScaler(): found the backoff factor {backoff_factor}, which must be < 1.0")
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        # They are made on the device of the first loss.
        self._scale: Any = None
        self._growth_tracker: Any = None
        self._states: dict[int, _State] = {}

    def _check_scaled(self, name: str) -> None:
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but there is no scale yet; call scaler.scale(loss) earlier in the iteration")

    def _scale_on(self, device: Any) -> Any:
        if self._scale is None:
            full = _opgrid.function("full")
            self._scale = full((), self._init_scale, dtype=_opgrid.float32, device=device)
            self._growth_tracker = full((), self._init_growth_tracker, dtype=_opgrid.int32, device=device)
        return self._scale.to(device)

    def scale(self, outputs: Any) -> Any:
        """A loss, or all tensors of lists and tuples, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            return outputs * self._scale_on(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(f"scale(): found {type(outputs).__name__}, outputs must be a tensor or an iterable of tensors")

    def _state_of(self, optimizer: Any) -> _State:
        return self._states.setdefault(id(optimizer), _State(optimizer))

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale, to look at or clip them before the step."""
        if not self._enabled:
            return
        self._check_scaled("unscale_")
        state = self._state_of(optimizer)
        if state.stage == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update()")
        if state.stage == "stepped":
            raise RuntimeError("unscale_() is being called after step()")
        grads: dict[Any, dict[Any, list[Any]]] = {}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.dtype == _opgrid.float16:
                    raise ValueError(
                        "Attempting to unscale FP16 gradients; keep parameters in float32, autocast casts them where it computes"
                    )
                grads.setdefault(grad.device, {}).setdefault(grad.dtype, []).append(grad)
        inverse = self._scale.double().reciprocal().float()
        found_inf: dict[Any, Any] = {}
        for device, by_dtype in grads.items():
            found = found_inf[device] = _opgrid.function("zeros")((), dtype=_opgrid.float32, device=device)
            with no_grad():
                for tensors in by_dtype.values():
                    ops.aten._amp_foreach_non_finite_check_and_unscale_(tensors, found, inverse.to(device))
        state.found_inf = found_inf
        state.stage = "unscaled"

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscales the gradients, where that is not done yet, and has the optimizer take a step if all of them are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("step(): closures are not supported where GradScaler is enabled")
        self._check_scaled("step")
        state = self._state_of(optimizer)
        if state.stage == "stepped":
            raise RuntimeError("step() has already been called since the last update()")
        if state.stage == "ready":
            self.unscale_(optimizer)
        if not state.found_inf:
            raise AssertionError("No inf checks were recorded for this optimizer: none of its parameters has a gradient")
        result = None
        if not any(found.item() for found in state.found_inf.values()):
            result = optimizer.step(*args, **kwargs)
        state.stage = "stepped"
        return result

    def update(self, new_scale: float | TensorBase | None = None) -> None:
        """Changes the scale at the end of an iteration, after the steps of all optimizers; or sets it."""
        if not self._enabled:
            return
        self._check_scaled("update")
        if isinstance(new_scale, TensorBase):
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError("update(): new_scale should be a float, or a tensor of one element that requires no gradient")
            self._scale.copy_(new_scale.reshape(()))
        elif new_scale is not None:
            self._scale.fill_(new_scale)
        else:
            found = [found for state in self._states.values() for found in state.found_inf.values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update(); call step() or unscale_() before")
            combined = sum((one.to(self._scale.device) for one in found[1:]), start=found[0].to(self._scale.device))
            ops.aten._amp_update_scale_(
                self._scale, self._growth_tracker, combined, self._growth_factor, self._backoff_factor, self._growth_interval
            )
        self._states = {}

    def get_scale(self) -> float:
        """The scale; 1 where scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by when gradients are not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by when gradients are not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row with finite gradients the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many steps in a row with finite gradients the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes, after `update`; empty where scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the state of another scaler; nothing where scaling is disabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "load_state_dict(): the state is empty, possibly because it was saved from a disabled instance of GradScaler"
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        if not self._enabled:
            return self.__dict__
        if self._states:
            raise AssertionError("a GradScaler is pickled at the beginning of an iteration, or at the end after scaler.update()")
        scale, tracker = self.get_scale(), self._get_growth_tracker()
        kept = {"_init_scale": scale, "_init_growth_tracker": tracker, "_scale": None, "_growth_tracker": None}
        return {**self.__dict__, **kept}
