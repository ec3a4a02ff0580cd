"""The calls that names are compared by: those of single names, and those that are tried for all others.

``m`` is the library. A call of several statements has them separated by ``; ``.
"""

from __future__ import annotations

VALUES = {
    "x": "m.tensor([[0.5, 0.25], [0.75, 0.125]])",
    "y": "m.tensor([[0.3, 0.6], [0.9, 0.2]])",
    "v": "m.tensor([0.5, 0.25, 0.75])",
    "i": "m.tensor([[1, 0], [0, 1]])",
    "j": "m.tensor([1, 0, 1])",
    "b": "m.tensor([[True, False], [True, True]])",
    "z": "m.tensor([1 + 2j, 3 - 1j])",
    "s": "m.tensor([[2.0, 1.0], [1.0, 3.0]])",
    "n": "m.arange(16.0).reshape(1, 1, 4, 4) / 16",
    "w": "m.arange(9.0).reshape(1, 1, 3, 3) / 9",
    "c": "m.arange(8.0).reshape(1, 2, 4) / 8",
}
"""What calls are made with."""

TRIED = [
    "x",
    "x, x",
    "x, y, x",
    "i",
    "i, i",
    "x, 1",
    "x, 0.5",
    "x, 0, 1",
    "x, 0",
    "v, 1",
    "v",
    "v, v",
    "s",
    "z",
    "b",
    "[x, y]",
    "[v, v]",
    "x, (2, 2)",
    "x, [0]",
    "x, 0, i, x",
    "x, 0, i, 1.0",
    "x, 0, i",
    "x, 0, j, y",
    "x, 0, m.tensor([0]), 1.0",
    "x, b, 1.0",
    "x, b",
    "x, 0, 1, 1",
    "x, m.float64",
    "2",
    "(2, 2)",
    "x, (0,), (1,)",
    "x, 1, 0, 1",
    "x, v, v",
    "c",
    "n",
    "n, 2",
    "c, 2",
    "n, w",
    "c, 1, 2",
    "v, 2, 1",
    "n, (2, 2)",
    "m.ones(1, 2, 4, 4, 4), 2",
    "m.ones(1, 2, 4, 4, 4), (2, 2, 2)",
    "c[0], c[0]",
    "c, c",
    "c, c.mT",
    "c, c, c",
    "z, z",
    "m.float32",
    "x, lambda e: e + 1",
    "x, y, lambda e, f: e + f",
    "",
]
"""Arguments that are tried in turn; of methods, the first one is the tensor."""



def by_name(rows: str) -> dict[str, str]:
    """The calls of rows that begin with a name and a colon."""
    return dict(row.split(": ", 1) for row in rows.strip().splitlines())

TORCH = r"""
BFloat16Storage: m.BFloat16Storage([1, 2]).tolist()
BFloat16Tensor: m.BFloat16Tensor([1, 2])
BoolStorage: m.BoolStorage([True, False]).tolist()
ByteStorage: m.ByteStorage([1, 2]).tolist()
ByteTensor: m.ByteTensor([1, 2]), isinstance(x.byte(), m.ByteTensor), isinstance(x, m.ByteTensor)
CharStorage: m.CharStorage([1, 2]).tolist()
CharTensor: m.CharTensor([1, 2])
ComplexDoubleStorage: m.ComplexDoubleStorage([1j, 2]).tolist()
ComplexFloatStorage: m.ComplexFloatStorage([1j, 2]).tolist()
DispatchKeySet: m.DispatchKeySet(m.DispatchKey.CPU).has(m.DispatchKey.CPU)
DoubleStorage: m.DoubleStorage([1, 2]).tolist()
Event: m.cuda.Event(enable_timing=True).query()
FloatStorage: m.FloatStorage([1, 2]).tolist(), x.storage()[1], len(x.storage())
Future: f = m.futures.Future(); g = f.then(lambda done: done.value() + 1); f.set_result(2); g.wait(), m.futures.wait_all([f, g])
Generator: m.rand(3, generator=m.Generator().manual_seed(3))
GradScaler: m.GradScaler("cpu", enabled=False).scale(x)
HalfStorage: m.HalfStorage([1, 2]).tolist()
HalfTensor: m.HalfTensor([1, 2])
IntStorage: m.IntStorage([1, 2]).tolist()
IntTensor: m.IntTensor([1, 2]), m.IntTensor(2, 3).shape
LongStorage: m.LongStorage([1, 2]).tolist()
ShortStorage: m.ShortStorage([1, 2]).tolist()
ShortTensor: m.ShortTensor([1, 2])
DoubleTensor: m.DoubleTensor([1, 2]), isinstance(x.double(), m.DoubleTensor)
FloatTensor: m.FloatTensor([1, 2]), m.FloatTensor(2, 3).shape, isinstance(x, m.FloatTensor), m.FloatTensor(v.shape).shape
LongTensor: m.LongTensor([1, 2]), m.LongTensor([[1], [2]]).dtype, isinstance(i, m.LongTensor)
BoolTensor: m.BoolTensor([True, False])
Storage: m.is_storage(x.untyped_storage())
Stream: m.Stream()
SymInt: issubclass(m.SymInt, object)
TypedStorage: isinstance(x.storage(), m.storage.TypedStorage), x.storage().dtype
UntypedStorage: isinstance(x.untyped_storage(), m.UntypedStorage), len(x.untyped_storage()), x.untyped_storage().nbytes()
FunctionSchema: type(m.ops.aten.add.Tensor._schema) is m.FunctionSchema if hasattr(m, "FunctionSchema") else True
AcceleratorError: issubclass(m.AcceleratorError, RuntimeError)
OutOfMemoryError: issubclass(m.OutOfMemoryError, RuntimeError), m.OutOfMemoryError is m.cuda.OutOfMemoryError
JITException: issubclass(m.JITException, Exception), m.JITException is m.jit.Error
accelerator: m.accelerator.is_available(), m.accelerator.device_count()
addbmm: m.addbmm(x, c[:, :, :2], c[:, :, 2:])
addmv: m.addmv(v[:2], x, v[:2], alpha=2)
addmv_: v[:2].clone().addmv_(x, v[:2])
addr: m.addr(x, v[:2], v[:2])
affine_grid_generator: m.affine_grid_generator(m.ones(1, 2, 3), [1, 1, 2, 2], False)
alpha_dropout: m.alpha_dropout(x, 0.5, False)
alpha_dropout_: m.alpha_dropout_(x, 0.5, False)
amp: m.amp.autocast("cpu", enabled=False) is not None, m.amp.is_autocast_available("cpu")
are_deterministic_algorithms_enabled: m.use_deterministic_algorithms(True); r = m.are_deterministic_algorithms_enabled(); m.use_deterministic_algorithms(False); r, m.are_deterministic_algorithms_enabled()
as_strided_scatter: m.as_strided_scatter(x, v[:2], (2,), (1,))
autocast: m.autocast("cpu", enabled=False).__enter__() is not None, m.is_autocast_enabled("cpu")
autocast_decrement_nesting: m.autocast_increment_nesting(); m.autocast_decrement_nesting()
autocast_increment_nesting: r = m.autocast_increment_nesting(); m.autocast_decrement_nesting(); r
autograd: m.autograd.grad((s.requires_grad_() ** 2).sum(), s)
backends: m.backends.mps.is_available(), m.backends.cudnn.deterministic, m.backends.cudnn.benchmark, m.backends.cuda.matmul.allow_tf32 in (True, False)
baddbmm: m.baddbmm(x, c[:, :, :2], c[:, :, 2:], beta=2)
bartlett_window: m.bartlett_window(5)
batch_norm: m.batch_norm(c, None, None, v[:2], v[:2], True, 0.1, 1e-5, False)
bilinear: m.bilinear(x, y, m.ones(3, 2, 2), v)
bincount: m.bincount(j)
binary_cross_entropy_with_logits: m.binary_cross_entropy_with_logits(x, y, None, None, 1)
block_diag: m.block_diag(x, y), m.block_diag(x)
broadcast_tensors: m.broadcast_tensors(x, v[:2])
can_cast: m.can_cast(m.int32, m.float32), m.can_cast(m.float32, m.int32)
cartesian_prod: m.cartesian_prod(v, v), m.cartesian_prod(v)
chain_matmul: m.chain_matmul(x, y, x)
cholesky: m.cholesky(s)
clear_autocast_cache: m.clear_autocast_cache()
compile: m.compile(lambda e: e + 1, disable=True)(x)
compiled_with_cxx11_abi: m.compiled_with_cxx11_abi()
compiler: m.compiler.is_compiling(), m.compiler.disable(lambda e: e)(1), m.compiler.allow_in_graph(abs)(-1)
cond: m.cond(True, lambda e: e + 1, lambda e: e, (1,))
conv3d: m.conv3d(m.ones(1, 1, 2, 2, 2), m.ones(1, 1, 2, 2, 2))
conv_transpose1d: m.conv_transpose1d(c, m.ones(2, 1, 2))
conv_transpose3d: m.conv_transpose3d(m.ones(1, 1, 2, 2, 2), m.ones(1, 1, 2, 2, 2))
convolution: m.convolution(n, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
cpu: m.cpu.is_available(), m.cpu.device_count(), m.cpu.current_device()
cuda: m.cuda.is_available(), m.cuda.device_count(), m.cuda.memory_allocated(), m.cuda.manual_seed_all(0), m.cuda.empty_cache(), m.cuda.is_initialized(), m.cuda.is_bf16_supported()
default_generator: g = m.default_generator; g.manual_seed(5); m.rand(3), m.initial_seed()
dequantize: m.dequantize(x)
device: m.device("cuda", 1), m.device("cpu").type, m.device("cuda:1").index, m.device(type="cpu")
diagonal_scatter: m.diagonal_scatter(x, v[:2])
distributions: m.distributions.Normal(0.0, 1.0).log_prob(x)
distributed: m.distributed.is_initialized()
dropout: m.dropout(x, 0.5, True)
dropout_: m.dropout_(x, 0.5, True)
dtype: isinstance(m.float32, m.dtype)
eig: m.eig(s)
einsum: m.einsum("ij,jk", x, y), m.einsum("ij,jk->ki", [x, y])
embedding_bag: m.embedding_bag(x, m.tensor([0, 1, 1]), m.tensor([0, 1]))
embedding_renorm_: m.embedding_renorm_(x, m.tensor([0]), 0.1, 2.0)
empty: m.empty(2, 3).shape, m.empty((2,), dtype=m.int8).dtype
empty_like: m.empty_like(x).shape, m.empty_like(x).dtype
empty_permuted: m.empty_permuted((2, 3), (1, 0)).stride()
empty_strided: m.empty_strided((2, 3), (1, 2)).stride()
enable_grad: m.enable_grad()(lambda: m.is_grad_enabled())()
export: callable(m.export.export)
feature_alpha_dropout: m.feature_alpha_dropout(n, 0.5, False)
feature_alpha_dropout_: m.feature_alpha_dropout_(n, 0.5, False)
feature_dropout: m.feature_dropout(c, 0.5, True)
feature_dropout_: m.feature_dropout_(c, 0.5, True)
fft: m.fft.fft(v)
fork: m.jit.wait(m.jit.fork(lambda e: e + 1, 2))
from_file: import tempfile; f = tempfile.NamedTemporaryFile(); r = f.write(bytes(8)), f.flush(); t = m.from_file(f.name, shared=True, size=2); t.fill_(1), open(f.name, "rb").read()
from_numpy: import numpy; m.from_numpy(numpy.arange(3.0))
frombuffer: m.frombuffer(bytearray(8), dtype=m.int32)
full: m.full((2, 2), 1.5), m.full((2,), True), m.full((), 2)
func: m.func.grad(lambda e: (e * e).sum())(v)
functional: m.functional.tensordot(x, y, 1), m.functional.norm(x)
futures: m.futures.collect_all([]).wait()
get_autocast_cpu_dtype: m.get_autocast_cpu_dtype()
get_autocast_dtype: m.get_autocast_dtype("cuda")
get_autocast_gpu_dtype: m.get_autocast_gpu_dtype()
get_autocast_ipu_dtype: m.get_autocast_ipu_dtype()
get_autocast_xla_dtype: m.get_autocast_xla_dtype()
get_default_device: m.get_default_device()
get_deterministic_debug_mode: m.set_deterministic_debug_mode("warn"); r = m.get_deterministic_debug_mode(); m.set_deterministic_debug_mode(0); r
get_device_module: m.get_device_module("cpu") is m.cpu, m.get_device_module("cuda") is m.cuda
get_file_path: m.get_file_path("a", "b").endswith("a/b")
get_num_interop_threads: m.get_num_interop_threads() > 0
get_num_threads: m.get_num_threads() > 0
get_rng_state: r = m.get_rng_state(); a = m.rand(2); m.set_rng_state(r); m.equal(a, m.rand(2))
grid_sampler: m.grid_sampler(n, m.zeros(1, 2, 2, 2), 0, 0, False)
grid_sampler_2d: m.grid_sampler_2d(n, m.zeros(1, 2, 2, 2), 0, 0, False)
grid_sampler_3d: m.grid_sampler_3d(n[None], m.zeros(1, 2, 2, 2, 3), 0, 0, False)
gru: m.gru(c, m.zeros(1, 1, 3), [m.ones(9, 4), m.ones(9, 3), m.ones(9), m.ones(9)], True, 1, 0.0, False, False, True)
gru_cell: m.gru_cell(x, y, m.ones(6, 2), m.ones(6, 2))
has_mkl: isinstance(m.has_mkl, bool)
has_openmp: isinstance(m.has_openmp, bool)
hinge_embedding_loss: m.hinge_embedding_loss(x, x, 1.0, 1)
iinfo: m.iinfo(m.int32).max, m.iinfo(m.uint8).min
index_add: m.index_add(x, 0, m.tensor([0, 1]), y, alpha=2)
index_copy: m.index_copy(x, 0, m.tensor([1, 0]), y)
index_put: m.index_put(x, (m.tensor([0]),), m.tensor(1.0))
index_put_: m.index_put_(x, (m.tensor([0]),), m.tensor(1.0), accumulate=True)
index_reduce: m.index_reduce(x, 0, m.tensor([0, 1]), y, "prod")
index_select: m.index_select(x, 0, m.tensor([1]))
inference_mode: m.inference_mode()(lambda: m.is_inference(m.ones(1)))(), m.is_inference(x)
init_num_threads: m.init_num_threads()
initial_seed: m.manual_seed(5); m.initial_seed()
instance_norm: m.instance_norm(c, None, None, None, None, True, 0.1, 1e-5, False)
is_anomaly_check_nan_enabled: m.is_anomaly_check_nan_enabled()
is_anomaly_enabled: m.set_anomaly_enabled(True); r = m.is_anomaly_enabled(); m.set_anomaly_enabled(False); r, m.is_anomaly_enabled()
is_autocast_enabled: m.is_autocast_enabled("cpu")
is_inference_mode_enabled: m.inference_mode()(m.is_inference_mode_enabled)(), m.is_inference_mode_enabled()
is_nonzero: m.is_nonzero(v[0])
is_vulkan_available: m.is_vulkan_available()
istft: m.istft(m.stft(m.arange(16.0), 4, window=m.ones(4), return_complex=True), 4, window=m.ones(4))
kl_div: m.kl_div(x, x, 1)
layout: isinstance(m.strided, m.layout)
library: callable(m.library.define)
linalg: m.linalg.det(s)
linspace: m.linspace(0, 1, 5), m.linspace(start=0, end=1, steps=3)
load: import io; f = io.BytesIO(); m.save([x, j], f); f.seek(0); m.load(f, weights_only=True)
logspace: m.logspace(0, 1, 5)
lstm: m.lstm(c, [m.zeros(1, 1, 3), m.zeros(1, 1, 3)], [m.ones(12, 4), m.ones(12, 3), m.ones(12), m.ones(12)], True, 1, 0.0, False, False, True)
lstm_cell: m.lstm_cell(x, [y, y], m.ones(8, 2), m.ones(8, 2))
lstsq: m.lstsq(s, s)
lu: m.lu(s), m.lu(s, get_infos=True)
lu_solve: m.lu_solve(x, *m.linalg.lu_factor(s))
lu_unpack: m.lu_unpack(*m.linalg.lu_factor(s))
manual_seed: m.rand(2, generator=m.manual_seed(3))
margin_ranking_loss: m.margin_ranking_loss(x, y, x, 0.0, 1)
masked_scatter: m.masked_scatter(x, b, v)
matrix_rank: m.matrix_rank(s)
memory_format: isinstance(m.channels_last, m.memory_format)
meshgrid: m.meshgrid(v, v, indexing="ij"), m.meshgrid(v, v), m.meshgrid([v, v], indexing="xy")
mps: m.mps.is_available(), m.mps.device_count()
mtia: m.mtia.is_available(), m.mtia.device_count()
multiprocessing: m.multiprocessing.get_sharing_strategy(), m.multiprocessing.get_start_method()
mv: m.mv(x, v[:2])
native_batch_norm: m.native_batch_norm(c, v[:2], v[:2], None, None, True, 0.1, 1e-5)
native_dropout: m.native_dropout(x, 0.0, True)
native_group_norm: m.native_group_norm(c, None, None, 1, 2, 4, 1, 1e-5)
native_layer_norm: m.native_layer_norm(x, (2,), None, None, 1e-5)
nn: m.nn.Linear(2, 2, bias=False)(x).shape
no_grad: m.no_grad()(lambda: m.is_grad_enabled())()
nonzero_static: m.nonzero_static(b, size=4)
norm: m.norm(x), m.norm(x, dim=1), m.norm(x, 1, 0), m.norm(x, "nuc"), m.norm(x, p="fro", dim=(0, 1), keepdim=True)
ops: m.ops.aten.add(x, y)
optim: m.optim.SGD([s.requires_grad_()], lr=0.1).param_groups[0]["lr"]
orgqr: m.orgqr(*m.geqrf(s))
ormqr: m.ormqr(*m.geqrf(s), x)
overrides: m.overrides.is_tensor_like(x), m.overrides.has_torch_function((x,)), m.overrides.is_tensor_like(1)
pca_lowrank: m.pca_lowrank(c[0].mT, 1)[1]
permute: m.permute(x, (1, 0)), x.permute(1, 0)
permute_copy: m.permute_copy(x, (1, 0))
poisson_nll_loss: m.poisson_nll_loss(x, y, True, False, 1e-8, 1)
polygamma: m.polygamma(1, x)
prelu: m.prelu(x - 0.4, v[:1])
prepare_multiprocessing_environment: m.prepare_multiprocessing_environment("x")
profiler: callable(m.profiler.profile), m.profiler.ProfilerActivity.CPU.name
promote_types: m.promote_types(m.int32, m.float16)
put: m.put(x, j, v)
qr: m.qr(s)
randint: m.randint(5, (3,)), m.randint(2, 5, (3,)), m.randint(low=0, high=3, size=(2,))
random: m.random.initial_seed()
range: m.range(0, 3)
return_types: type(m.sort(v)).__name__
rnn_relu: m.rnn_relu(c, m.zeros(1, 1, 3), [m.ones(3, 4), m.ones(3, 3), m.ones(3), m.ones(3)], True, 1, 0.0, False, False, True)
rnn_relu_cell: m.rnn_relu_cell(x, y, x, y)
rnn_tanh: m.rnn_tanh(c, m.zeros(1, 1, 3), [m.ones(3, 4), m.ones(3, 3), m.ones(3), m.ones(3)], True, 1, 0.0, False, False, True)
rnn_tanh_cell: m.rnn_tanh_cell(x, y, x, y)
save: import io; f = io.BytesIO(); m.save({"a": x, "b": [1, "c"]}, f); f.seek(0); m.load(f)
scatter_reduce: m.scatter_reduce(x, 0, i, y, "sum")
seed: isinstance(m.seed(), int)
select_scatter: m.select_scatter(x, v[:2], 0, 1)
set_anomaly_enabled: m.set_anomaly_enabled(False)
set_autocast_cache_enabled: m.set_autocast_cache_enabled(True), m.is_autocast_cache_enabled()
set_autocast_cpu_dtype: m.set_autocast_cpu_dtype(m.bfloat16), m.get_autocast_cpu_dtype()
set_autocast_cpu_enabled: m.set_autocast_cpu_enabled(False), m.is_autocast_cpu_enabled()
set_autocast_dtype: m.set_autocast_dtype("cpu", m.bfloat16)
set_autocast_enabled: m.set_autocast_enabled("cpu", False)
set_autocast_gpu_dtype: m.set_autocast_gpu_dtype(m.float16)
set_autocast_ipu_dtype: m.set_autocast_ipu_dtype(m.float16)
set_autocast_ipu_enabled: m.set_autocast_ipu_enabled(False)
set_autocast_xla_dtype: m.set_autocast_xla_dtype(m.bfloat16)
set_autocast_xla_enabled: m.set_autocast_xla_enabled(False)
set_default_device: m.set_default_device("meta"); r = m.zeros(2).device, m.tensor([1]).device; m.set_default_device(None); r, m.zeros(2).device
set_default_dtype: m.set_default_dtype(m.float64); r = m.tensor(1.5).dtype; m.set_default_dtype(m.float32); r
set_default_tensor_type: m.set_default_tensor_type(m.DoubleTensor); r = m.zeros(1).dtype; m.set_default_tensor_type(m.FloatTensor); r
set_deterministic_debug_mode: m.set_deterministic_debug_mode("wrong")
set_float32_matmul_precision: m.set_float32_matmul_precision("high"); r = m.get_float32_matmul_precision(); m.set_float32_matmul_precision("highest"); r
set_flush_denormal: m.set_flush_denormal(False)
set_grad_enabled: m.set_grad_enabled(False); r = m.is_grad_enabled(); m.set_grad_enabled(True); r
set_num_interop_threads: m.set_num_interop_threads(0)
set_num_threads: m.set_num_threads(2), m.get_num_threads()
set_printoptions: m.set_printoptions(precision=2); r = str(v); m.set_printoptions(profile="default"); r
set_rng_state: m.set_rng_state(m.get_rng_state())
set_warn_always: m.set_warn_always(True); r = m.is_warn_always_enabled(); m.set_warn_always(False); r
signal: m.signal.windows.hann(5), m.signal.windows.kaiser(5, beta=3.0), m.signal.windows.gaussian(4, std=2.0)
slice_scatter: m.slice_scatter(x, y[:1], 0, 0, 1)
solve: m.solve(s, s)
sparse_coo: str(m.sparse_coo)
special: m.special.gammaln(x)
spmm: m.spmm(x, y)
dsmm: m.dsmm(x, y)
split_with_sizes: m.split_with_sizes(x, [1, 1])
split_with_sizes_copy: m.split_with_sizes_copy(x, [1, 1])
stft: m.stft(m.arange(16.0), 4, window=m.ones(4), return_complex=True)
storage: isinstance(x.untyped_storage(), m.storage.UntypedStorage)
sum_to_size: x.sum_to_size(1, 2)
svd_lowrank: m.svd_lowrank(s, 2)[1]
sym_float: m.sym_float(2)
sym_int: m.sym_int(2.7), m.sym_int(-2.7)
sym_ite: m.sym_ite(True, 1, 2)
sym_max: m.sym_max(1, 2.5), m.sym_max(3, 2)
sym_min: m.sym_min(1, 2.5), m.sym_min(3, 2)
sym_not: m.sym_not(True)
sym_sqrt: m.sym_sqrt(4)
sym_sum: m.sym_sum([1, 2, 3])
symeig: m.symeig(s)
take_along_dim: m.take_along_dim(x, i, 1)
tensordot: m.tensordot(x, y, dims=1), m.tensordot(x, y), m.tensordot(x, y, dims=([1], [0]))
testing: m.testing.assert_close(x, x + 1e-9)
DisableTorchFunction: d = m.DisableTorchFunction(); d.__enter__(); r = m.add(x, x); d.__exit__(None, None, None); r
DisableTorchFunctionSubclass: d = m.DisableTorchFunctionSubclass(); d.__enter__(); r = m.add(x, x); d.__exit__(None, None, None); r
segment_reduce: m.segment_reduce(v, "mean", lengths=m.tensor([2, 0, 1])), m.segment_reduce(x, "max", lengths=m.tensor([1, 1]))
thread_safe_generator: m.thread_safe_generator()
types: m.types.Number is not None
typename: m.typename(1), m.typename([])
unravel_index: m.unravel_index(m.tensor([3]), (2, 2))
unsafe_split: m.unsafe_split(x, 1)
unsafe_split_with_sizes: m.unsafe_split_with_sizes(x, [1, 1])
use_deterministic_algorithms: m.use_deterministic_algorithms(True, warn_only=True); r = m.is_deterministic_algorithms_warn_only_enabled(); m.use_deterministic_algorithms(False); r
utils: callable(m.utils.checkpoint.checkpoint)
vander: m.vander(v, 2)
version: m.version.hip, m.version.debug
vmap: m.vmap(lambda e: e * 2)(x)
wait: m.jit.wait(m.jit.fork(abs, -1))
while_loop: m.while_loop is not None
windows: m.signal.windows.cosine(4, sym=False), m.signal.windows.nuttall(5)
xpu: m.xpu.is_available(), m.xpu.device_count()
DispatchKey: m.DispatchKey.CPU.name
conv_tbc: m.conv_tbc(c.permute(2, 0, 1), m.ones(2, 2, 3), v)
cosine_embedding_loss: m.cosine_embedding_loss(x, y, m.tensor([1.0, -1.0]), 0.0, 1)
ctc_loss: m.ctc_loss(m.log_softmax(c.permute(2, 0, 1), 2)[:, :1], m.tensor([[1, 1]]), m.tensor([4]), m.tensor([2]), 0, 1)
jit: m.jit.ignore(lambda e: e)(-1), m.jit.annotate(int, 2), m.jit.export(lambda e: -e)(-2), m.jit.isinstance(1, int)
to_dlpack: type(m.to_dlpack(x)).__name__
triplet_margin_loss: m.triplet_margin_loss(x, y, x, 1.0, 2.0, 1e-6, False, 1)
svd: m.svd(x)[1]
tril_indices: m.tril_indices(3, 3)
triu_indices: m.triu_indices(3, 3, offset=1)
unflatten: m.unflatten(v, 0, (3, 1))
lobpcg: m.lobpcg(m.diag(m.arange(1.0, 10.0)), 2)[0]
"""

TENSOR = r"""
addbmm: x.addbmm(c[:, :, :2], c[:, :, 2:])
addbmm_: x.addbmm_(c[:, :, :2], c[:, :, 2:])
addmm_: x.addmm_(y, s)
addmv: v[:2].addmv(x, v[:2])
addmv_: v[:2].clone().addmv_(x, v[:2])
addr: x.addr(v[:2], v[:2])
addr_: x.addr_(v[:2], v[:2])
as_strided_scatter: x.as_strided_scatter(v[:2], (2,), (1,))
as_subclass: x.as_subclass(m.Tensor)
backward: s.requires_grad_(); (s * s).sum().backward(); s.grad
baddbmm: x.baddbmm(c[:, :, :2], c[:, :, 2:])
baddbmm_: c[:, :, :2].clone().baddbmm_(c[:, :, :2], c[:, :, 2:])
bincount: j.bincount()
cholesky: s.cholesky()
const_data_ptr: x.const_data_ptr() == x.data_ptr()
data_ptr: x.data_ptr() == x.view(-1).data_ptr(), x[1].data_ptr() - x.data_ptr()
diagonal_scatter: x.diagonal_scatter(v[:2])
eig: s.eig()
float_power_: x.double().float_power_(2)
imag: z.imag
real: z.real, x.real
index_add: x.index_add(0, m.tensor([0, 1]), y, alpha=2)
index_add_: x.index_add_(0, m.tensor([0, 1]), y)
index_copy: x.index_copy(0, m.tensor([1, 0]), y)
index_copy_: x.index_copy_(0, m.tensor([1, 0]), y)
index_put: x.index_put((m.tensor([0]),), m.tensor(1.0))
index_put_: x.index_put_((m.tensor([0]),), m.tensor(1.0), accumulate=True)
index_reduce: x.index_reduce(0, m.tensor([0, 1]), y, "prod")
index_reduce_: x.index_reduce_(0, m.tensor([0, 1]), y, "amax")
index_select: x.index_select(0, m.tensor([1]))
is_contiguous: x.is_contiguous(), x.T.is_contiguous(), n.is_contiguous(memory_format=m.channels_last)
is_nonzero: v[0].is_nonzero()
istft: m.stft(m.arange(16.0), 4, window=m.ones(4), return_complex=True).istft(4, window=m.ones(4))
item: v[0].item()
lstsq: s.lstsq(s)
lu_solve: x.lu_solve(*m.linalg.lu_factor(s))
map2_: x.map2_(y, y, lambda e, f, g: e + f * g)
masked_scatter: x.masked_scatter(b, v)
masked_scatter_: x.masked_scatter_(b, v)
mv: x.mv(v[:2])
nonzero_static: b.nonzero_static(size=4)
orgqr: m.geqrf(s)[0].orgqr(m.geqrf(s)[1])
ormqr: m.geqrf(s)[0].ormqr(m.geqrf(s)[1], x)
pin_memory: x.pin_memory()
prelu: (x - 0.4).prelu(v[:1])
put: x.put(j, v)
put_: x.put_(j, v)
qr: s.qr()
record_stream: x.record_stream(None)
register_hook: s.requires_grad_(); h = s.register_hook(lambda grad: grad * 2); (s * s).sum().backward(); s.grad
reinforce: x.reinforce(1)
resize: x.resize(4)
retain_grad: r = s.requires_grad_() * 1; r.retain_grad(); r.sum().backward(); r.grad
scatter_add_: x.scatter_add_(0, i, y)
scatter_reduce: x.scatter_reduce(0, i, y, "sum")
scatter_reduce_: x.scatter_reduce_(0, i, y, "amax")
select_scatter: x.select_scatter(v[:2], 0, 1)
share_memory_: x.share_memory_() is x
solve: s.solve(s)
split_with_sizes: x.split_with_sizes([1, 1])
stft: m.arange(16.0).stft(4, window=m.ones(4), return_complex=True)
storage: x.storage().tolist(), x.storage().nbytes(), x.storage().dtype
storage_type: issubclass(x.storage_type(), object)
svd: x.svd()[1]
symeig: s.symeig()
to: x.to(m.float64), x.to("cpu"), x.to(y), x.to("cpu", m.int32, True), n.to(memory_format=m.channels_last).stride()
unflatten: v.unflatten(0, (3, 1))
unsafe_split_with_sizes: x.unsafe_split_with_sizes([1, 1])
untyped_storage: x.untyped_storage().nbytes(), x.untyped_storage().tolist()
where: x.where(b, 0.0), x.where(b, y)
new_tensor: x.new_tensor([1, 2]), i.new_tensor([1.5]).dtype
new: x.new(2, 2).shape, x.new([1, 2])
new_empty: x.new_empty(2).shape
new_empty_strided: x.new_empty_strided((2, 3), (1, 2)).stride()
new_full: x.new_full((2,), 3.0)
new_zeros: i.new_zeros(2, 3), x.new_zeros((2,))
new_ones: i.new_ones(2, 3)
type: x.type().partition(".")[2], x.type(m.float64), x.type("torch.LongTensor"), x.type(m.DoubleTensor)
cuda: x.cuda()
ipu: x.ipu() if False else x.is_ipu
xpu: x.is_xpu
mtia: x.is_mtia
"""

CALLS = {"torch": by_name(TORCH), "Tensor": by_name(TENSOR)}
"""The calls of single names."""
