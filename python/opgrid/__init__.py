"""An operator dispatcher for tensor libraries, and tensors that it works on.

``opgrid.add(x, y)``, ``x.add(y)`` and ``opgrid.ops.aten.add.Tensor(x, y)`` call one operator; functions and methods are
those of the registry, also of operators that are registered later. ``opgrid.library`` defines operators and gives them
kernels; ``opgrid.explain`` says which kernel a call runs and why.
"""

from __future__ import annotations

from . import _platform as _platform
from . import _opgrid, errors
from ._opgrid import (
    DispatchKey,
    DispatchKeySet,
    FunctionSchema,
    Generator,
    OpOverload,
    OpOverloadPacket,
    Plugin,
    Profile,
    Registration,
    Storage,
    Tensor,
    TensorBase,
    asarray,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    backend,
    below_adinplace_or_view,
    below_autograd,
    can_cast,
    check_invariants,
    clear_autocast_cache,
    dangling_implementations,
    device,
    dtype,
    exclude,
    finfo,
    force,
    from_dlpack,
    from_numpy,
    frombuffer,
    get_autocast_dtype,
    get_default_device,
    get_default_dtype,
    get_num_threads,
    get_printoptions,
    get_rng_state,
    iinfo,
    include,
    initial_seed,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    layer,
    layout,
    local_keys,
    manual_seed,
    memory_format,
    preserve,
    promote_types,
    registrations_for,
    reset_stats,
    result_type,
    seed,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_default_device,
    set_default_dtype,
    set_num_threads,
    set_printoptions,
    set_rng_state,
    tensor,
)
from ._functional import (
    as_tensor,
    broadcast_shapes,
    einsum,
    is_storage,
    is_tensor,
    stft,
    typename,
    unique,
    unique_consecutive,
    unravel_index,
)
from . import _tensor_methods as _tensor_methods
from ._ops import ops
from ._size import Size
from .errors import OpgridError

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Importing it takes longer than all of this package.
    from typing import Any

__version__: str = _opgrid.__version__

# The names of dtypes, layouts and memory formats are those that the dispatcher has.
for _name, _value in vars(_opgrid).items():
    if isinstance(_value, (dtype, layout, memory_format)):
        globals()[_name] = _value
        _value = None
half = _opgrid.float16
float = _opgrid.float32
double = _opgrid.float64
legacy_contiguous_format = _opgrid.contiguous_format
short = _opgrid.int16
int = _opgrid.int32
long = _opgrid.int64
cfloat = _opgrid.complex64
cdouble = _opgrid.complex128
del _name, _value



def _array_namespace(self: TensorBase, /, *, api_version: str | None = None) -> Any:
    """The namespace of the array API standard."""
    from ._array_api import array_namespace

    return array_namespace(self, api_version=api_version)


def _to_device(self: TensorBase, device: Any, /, *, stream: Any = None) -> TensorBase:
    """The tensor on a device, as the array API standard asks for it."""
    from ._array_api import to_device

    return to_device(self, device, stream=stream)


def _copy(self: TensorBase) -> TensorBase:
    """Another object on the same memory."""
    from ._copies import shallow

    return shallow(self)


def _deepcopy(self: TensorBase, memo: dict[Any, Any]) -> TensorBase:
    """A copy with memory of its own."""
    from ._copies import deep

    return deep(self, memo)


def _reduce_ex(self: TensorBase, protocol: Any) -> Any:
    """What a pickle keeps of a tensor."""
    from ._copies import reduced

    return reduced(self, protocol)


setattr(TensorBase, "__copy__", _copy)
setattr(TensorBase, "__deepcopy__", _deepcopy)
setattr(TensorBase, "__reduce_ex__", _reduce_ex)
setattr(TensorBase, "__array_namespace__", _array_namespace)
setattr(TensorBase, "to_device", _to_device)
def _make_wrapper_subclass(cls: type[Tensor], size: Any, **options: Any) -> Tensor:
    """An object of the class that looks like a tensor, and has no elements; see ``_modes.make_wrapper_subclass``."""
    from ._modes import make_wrapper_subclass

    return make_wrapper_subclass(cls, size, **options)


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """The tensor as an object of the class."""
    from ._modes import make_subclass

    return make_subclass(cls, data, require_grad)


setattr(TensorBase, "_make_wrapper_subclass", staticmethod(_make_wrapper_subclass))
setattr(TensorBase, "_make_subclass", staticmethod(_make_subclass))
setattr(TensorBase, "stft", stft)
setattr(TensorBase, "unique", unique)
setattr(TensorBase, "unique_consecutive", unique_consecutive)

inf = 1e999
nan = inf - inf
pi = 3.141592653589793
e = 2.718281828459045
newaxis = None

_OWN = frozenset(_opgrid.function_names())
_MODULES = frozenset(
    "_C accelerator amp as_torch autograd backends compiler cpu cuda distributed distributions export fft func functional futures "
    "inspect jit library linalg mps mtia multiprocessing nn optim overrides profiler random return_types signal special storage "
    "testing torch types utils version xpu".split()
)
_LAZY = {
    name: module
    for module, names in {
        "_files": "load save",
        "_legacy": "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor "
        "set_default_tensor_type",
        "_queries": "compiled_with_cxx11_abi dequantize dsmm get_device get_device_module get_file_path has_lapack has_mkl has_openmp has_spectral "
        "is_distributed is_inference is_vulkan_available prepare_multiprocessing_environment spmm to_dlpack unsafe_split_with_sizes",
        "_settings": "are_deterministic_algorithms_enabled get_autocast_cpu_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype "
        "get_autocast_xla_dtype get_deterministic_debug_mode get_float32_matmul_precision get_num_interop_threads init_num_threads "
        "is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cpu_enabled is_autocast_ipu_enabled is_autocast_xla_enabled "
        "is_deterministic_algorithms_warn_only_enabled is_inference_mode_enabled is_warn_always_enabled set_anomaly_enabled "
        "set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled "
        "set_autocast_xla_dtype set_autocast_xla_enabled set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal "
        "set_num_interop_threads set_warn_always use_deterministic_algorithms",
        "_storage": "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage "
        "HalfStorage IntStorage LongStorage ShortStorage TypedStorage",
        "_symbolic": "sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum",
        "_symint": "SymInt",
        "compiler": "compile",
        "_devices": "Event Stream",
        "errors": "AcceleratorError JITException OutOfMemoryError",
        "functional": "cdist cholesky cond eig from_file lobpcg lstsq lu matrix_rank norm pca_lowrank qr solve svd_lowrank symeig tensordot while_loop",
        "futures": "Future",
        "signal": "windows",
        "jit": "fork wait",
        "overrides": "DisableTorchFunction DisableTorchFunctionSubclass",
        "random": "default_generator thread_safe_generator",
        "storage": "UntypedStorage",
        "_inspect": "Explanation Stats Table call_explained dump explain keys registered_fallbacks registered_kernels schema stats table",
        "_modes": "DispatchMode current_mode",
        "_providers": "prefer provider",
        "_segments": "segment_reduce",
        "_strict": "strict",
        "amp": "GradScaler autocast",
        "func": "vmap",
        "autograd": "enable_grad inference_mode is_grad_enabled no_grad set_grad_enabled",
    }.items()
    for name in names.split()
}
"""Where the names are that come with modules of their own."""


def get_include() -> str:
    """The folder with the headers of the plugin interface: ``opgrid.h``, ``opgrid.hpp``, ``opgrid_pybind.hpp``."""
    import os

    return os.path.join(os.path.dirname(__file__), "include")


def __getattr__(name: str) -> Any:
    """What comes with a module of its own is imported when it is asked for. Functions are operators of the registry: those of the
    package itself stay, others are looked up each time, since they may go."""
    if name in _MODULES:
        return _module(name)
    if name in _LAZY:
        value = globals()[name] = getattr(_module(_LAZY[name]), name)
        return value
    function = _opgrid.function(name)
    if name in _OWN:
        globals()[name] = function
    return function


def _module(name: str) -> Any:
    import importlib

    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_LAZY, *_opgrid.function_names()})
