"""What both sides are asked, by chapters of what is documented of torch's border to Python.

Each case is a program, of which the last line is an expression. ``m`` is the library, ``x`` is ``tensor([1., 2., 3.])``,
``define(schema, kernel, key)`` defines an operator of its own namespace. Cases that end differently on purpose stand in `WANTED`.
"""

from __future__ import annotations

FUNCTIONS = """
m.finfo(m.float32)
m.finfo(m.float16).max, m.finfo(m.bfloat16).eps, m.finfo().bits, m.finfo(m.complex128).dtype
m.finfo(m.int64)
m.finfo('float32')
m.iinfo(m.uint8), m.iinfo(m.int64).max, m.iinfo(m.int8).min
m.iinfo(m.float32)
m.iinfo(m.bool)
m.promote_types(m.int32, m.float16), m.promote_types(m.uint8, m.int8)
m.promote_types(m.uint16, m.int32)
m.promote_types(m.int32, 3)
m.can_cast(m.float32, m.int32), m.can_cast(m.int64, m.float16)
m.result_type(x, 1), m.result_type(m.ones(2, dtype=m.int8), 1.5), m.result_type(1, 1.5), m.result_type(1, 2)
m.result_type('a', 1)
m.get_default_dtype()
m.set_default_dtype(m.int32)
m.broadcast_shapes((2, 1), (3,)), m.broadcast_shapes(), m.broadcast_shapes((2, 0), 1)
m.broadcast_shapes((2,), (3,))
m.broadcast_shapes((-1,), (2,))
m.as_tensor([1, 2.5]), m.as_tensor([1, 2], dtype=m.float64)
m.is_tensor(x), m.is_tensor(3)
m.unravel_index(m.tensor([3, 5]), (2, 3))
m.unravel_index(m.tensor([1.]), (2,))
m.unique(m.tensor([3, 1, 1])), m.tensor([3, 1, 1]).unique(return_counts=True)
m.unique(m.tensor([[1, 2], [1, 2]]), return_inverse=True, dim=0)
m.unique_consecutive(m.tensor([3, 1, 1, 3]), return_counts=True)
m.set_num_threads(0)
m.Generator().initial_seed(), m.Generator().manual_seed(3).initial_seed()
m.rand(2, generator=m.Generator().manual_seed(3))
m.set_printoptions(profile='default')
m.add(x, x)
m.add(x, 1)
m.add(x, 1.5)
m.add(x, True)
m.add(x, x, alpha=2)
m.add(input=x, other=x)
m.add(x, other=1)
m.add(m.tensor([1, 2]), 1.5)
m.add(m.tensor([1, 2]), m.tensor(1.5))
m.add(m.tensor([True]), 1)
m.add(x)
m.add(x, 'a')
m.add(x, None)
m.add(x, x, x)
m.add(x, x, foo=1)
m.add(x, x, alpha='a')
m.add('a', 'b')
m.add(1, 2)
m.add(x, m.zeros(2))
m.add(x, x, out=None)
m.add(x, 2, x)
m.add(x, 2, other=x)
m.add(x, 2, x, out=m.empty(3))
m.add(x, 2, x, alpha=3)
m.add(x, 2, x, x)
x.add(2, x), x.clone().add_(2, x), x.sub(2, x)
m.sub(x, 2, x)
m.subtract(x, 2, x)
m.mul(x, 2, x)
m.addcmul(x, 2, x, x), m.addcdiv(x, 2, x, x), x.clone().addcdiv_(2, x, x)
a = m.ones(2, 2)\nm.addmm(2, a, 3, a, a), m.addmm(2, a, a, a), a.addmm(2, 3, a, a), a.addmm(2, a, a), a.clone().addmm_(2, 3, a, a)
a = m.ones(2, 2)\nm.addmm(2, a, 3, a, a, beta=1)
a = m.ones(2, 2)\nm.addmm(beta=2, self=a, mat1=a, mat2=a)
m.addmv(2, x, 3, m.ones(3, 3), x), m.addr(2, x, 3, x, x), x.addmv(2, m.ones(3, 3), x)
b = m.ones(1, 2, 2)\nm.addbmm(2, b[0], 3, b, b), m.baddbmm(2, b, 3, b, b), m.baddbmm(2, b, b, b)
m.nonzero(x, as_tuple=True), x.nonzero(as_tuple=True), m.nonzero(input=x, as_tuple=True)
m.nonzero(x, as_tuple=False), x.nonzero(as_tuple=False)
m.nonzero(m.ones(2, 2), as_tuple=True)
m.nonzero(x, True)
m.nonzero(x, as_tuple=1)
m.nonzero(x, as_tuple=True, out=m.empty(0))
m.add(x, x, out=m.empty(3)) 
m.maximum(x, 1)
m.eq(x, 2)
m.eq(x, x)
m.neg()
m.neg(x, x)
m.neg('a')
m.neg(1)
m.neg(x, foo=2)
m.neg(x, input=x)
m.sum(x)
m.sum(x, 0)
m.sum(x, dim=0)
m.sum(x, axis=0)
m.sum(x, (0,), True)
m.sum(x, dim=0, keepdims=True)
m.sum(x, 0, dtype=m.float64)
m.sum(x, dim=1)
m.sum(x, 'a')
m.sum(x, 1.5)
m.sum(x, dim=True)
m.pow(x, 2)
m.pow(2, x)
m.pow(x, x)
m.where(x > 1, x, 0)
m.where(x > 1, x, x)
m.where(x > 1, 1.0, 0.0)
m.masked_fill(x, x > 1, 9)
m.cat([x, x])
m.cat((x, x), dim=0)
m.cat([x, 'a'])
m.cat([])
m.cat(x)
m.stack([x, x], 1)
m.full((2,), 7)
m.full((2,), m.tensor(7))
m.full((2,), 'a')
m.full(2, 7)
m.zeros(2, 3)
m.zeros((2, 3))
m.zeros([2, 3])
m.zeros(m.Size([2, 3]))
m.zeros(size=(2, 3))
m.zeros(())
m.zeros()
m.zeros(2.0)
m.zeros(2, 'a')
m.zeros('a')
m.zeros(True)
m.zeros(-1)
m.zeros(m.tensor(2))
m.zeros(2, dtype=m.int64)
m.zeros(2, dtype=int)
m.zeros(2, dtype=float)
m.zeros(2, dtype='float32')
m.zeros(2, device='cpu')
m.zeros(2, device='meta').shape
m.zeros(2, device='nowhere')
m.zeros(2, layout=m.strided)
m.zeros(2, requires_grad=False)
m.ones(2, 2)
m.empty(2, 3).shape
m.empty((2, 3), memory_format=m.contiguous_format).shape
m.empty(2, foo=3)
m.arange(5)
m.arange(1, 5)
m.arange(1, 10, 3)
m.arange(0.5)
m.arange(end=3)
m.linspace(0, 1, 3)
m.eye(2)
m.eye(2, 3)
m.squeeze(m.zeros(1, 2))
m.squeeze(m.zeros(1, 2), 0).shape
m.squeeze(m.zeros(1, 2), (0,)).shape
m.transpose(m.zeros(2, 3), 0, 1).shape
m.permute(m.zeros(2, 3), (1, 0)).shape
m.permute(m.zeros(2, 3), 1, 0).shape
m.reshape(x, (3, 1))
m.flatten(m.zeros(2, 3)).shape
m.isfinite(x)
m.allclose(x, x)
m.manual_seed(0)\\nm.rand(3)
m.manual_seed(0)\\nm.randn(3)
m.nothing
"""

METHODS = """
x.add(x)
x.add(1, alpha=2)
x.add()
x.add(x, x, x)
x.view(3, 1)
x.view((3, 1))
x.view([3, 1])
x.view(-1)
x.view(2)
x.view('a')
x.view()
x.expand(2, 3)
x.reshape(3, 1)
m.zeros(2, 3).permute(1, 0).shape
m.zeros(2, 3).permute((1, 0)).shape
m.zeros(2, 3).t().shape
x.sum(0)
x.sum(dim=-1)
x.sum(3)
x.mean()
x.item()
m.tensor(3).item()
x.tolist()
y = x.clone()\\ny.add_(1) is y
y = x.clone()\\ny.mul_(2)
y = m.tensor([1, 2])\\ny.add_(1.5)
y = m.tensor([1, 2])\\ny.div_(2)
y = x.clone()\\ny += 1\\ny
x.nothing
x.to(m.float64)
x.to(m.float32) is x
x.to('cpu') is x
x.to(m.int64)
x.to(m.tensor([1]))
x.to(3)
x.long()
x.double().dtype
x.size()
x.size(0)
x.size(5)
x.stride()
x.dim()
x.numel()
x.shape
x.dtype
x.device
x.layout
x.is_contiguous()
x.T.shape
m.zeros(2, 3).T.shape
m.zeros(2, 3).mT.shape
x.element_size()
x.data_ptr() == x.view(3).data_ptr()
x.storage_offset()
x[1:].storage_offset()
"""

NUMBERS = """
x + 1
1 + x
x - 1
1 - x
x * 2
2 * x
x / 2
2 / x
x // 2
7 // x
x ** 2
2 ** x
-x
+x
abs(-x)
x + x
x + 'a'
'a' + x
x + None
x + [1, 2, 3]
x + 1j
x @ x
m.zeros(2, 3) @ m.ones(3, 2)
x @ 1
x == 2
x != 2
x < 2
x >= 2
x == 'a'
x != 'a'
x < 'a'
x == None
x == m.zeros(2)
~m.tensor([True, False])
m.tensor([True]) & m.tensor([False])
m.tensor([True]) | False
m.tensor([True]) ^ True
~x
bool(m.tensor(1))
bool(m.tensor([0.0]))
bool(x)
bool(m.zeros(0))
float(m.tensor(2.5))
float(x)
int(m.tensor(2.5))
int(m.tensor([3]))
complex(m.tensor(2.5))
[1, 2, 3][m.tensor(1)]
[1, 2, 3][m.tensor(1.0)]
len(x)
len(m.tensor(1))
list(x)
list(m.tensor(1))
2 in x
5 in x
'a' in x
hash(x) == hash(x)
x is x
f'{m.tensor(2.5):.2f}'
f'{x}'
str(x)
repr(m.tensor([1, 2]))
repr(m.zeros(2, 0))
repr(m.tensor([1.5, float('nan')]))
repr(m.tensor(2, dtype=m.float64))
"""

CONSTRUCTION = """
m.Tensor(1, 2, 3, 4).shape
m.Tensor([1, 2, 3, 4])
m.Tensor(m.Size([1, 2, 3, 4])).shape
m.Tensor((1, 2))
m.Tensor(range(3))
m.Tensor(size=(2, 3)).shape
m.Tensor(2).shape
m.Tensor()
m.Tensor(1.5)
m.Tensor('a')
m.Tensor(-1)
m.Tensor(None)
m.Tensor([[1, 2], [3]])
m.Tensor([['a']])
m.Tensor(m.tensor([1, 2]))
m.Tensor([1], device='cpu')
m.Tensor([1], device='meta')
m.Tensor(x, device='cpu')
m.Tensor([1], foo=2)
m.Tensor(1, 'a')
m.Tensor(True)
m.Tensor([True, False])
m.tensor([1, 2])
m.tensor([1, 2.5])
m.tensor([True])
m.tensor([1j])
m.tensor([])
m.tensor(3)
m.tensor([[1, 2], [3, 4]])
m.tensor([[1, 2], [3]])
m.tensor([1, [2]])
m.tensor('a')
m.tensor(None)
m.tensor(2 ** 70)
m.tensor([1.9], dtype=m.int64)
m.tensor([300], dtype=m.uint8)
m.tensor([1], dtype='a')
m.tensor([x[0], x[1]])
m.tensor(x)
m.tensor(range(3))
m.asarray([1, 2])
m.asarray(x) is x
m.Size([1, 2])
m.Size([1, 2]) + (3,)
m.Size([1, 2])[1:]
m.Size([1, 2]).numel()
m.Size([1.5])
m.Size((1, 2)) == (1, 2)
m.float32
m.float32.itemsize
m.float32.is_floating_point
m.device('cpu')
m.device('cuda', 1)
m.device('cuda:1').index
m.device('cuda:1').type
m.device('a')
m.device('cpu') == m.device('cpu')
m.strided
m.channels_last
import numpy\\nm.from_numpy(numpy.arange(3))
import numpy\\nm.from_numpy(numpy.arange(3)[::-1])
import numpy\\nm.from_numpy(numpy.array(['a']))
m.from_numpy([1])
import numpy\\nm.tensor(numpy.float32(1.5))
import numpy\\nm.tensor(numpy.arange(3))
import numpy\\nnumpy.asarray(x).tolist()
m.from_dlpack(x)
x.numpy().tolist()
m.zeros(2, dtype=m.bfloat16).numpy()
m.zeros(2, device='meta').numpy()
import copy\\ncopy.deepcopy(x)
import pickle\\npickle.loads(pickle.dumps(x))
import pickle\\npickle.loads(pickle.dumps(m.float32)) is m.float32
import weakref\\nweakref.ref(x)() is x
y = x.clone()\\ny.foo = 3\\ny.add_(1).foo
"""

INDEXING = """
x[0]
x[-1]
x[3]
x[1:]
x[::2]
x[::-1]
x[None].shape
x[...]
x[..., 0]
x[:, 0]
x[True].shape
x[False].shape
x[1.5]
x['a']
x[[0, 2]]
x[x > 1]
x[m.tensor([0, 1])]
x[m.tensor(1)]
x[m.tensor([0.5])]
x[m.tensor([5])]
x[()]
m.tensor(1)[0]
m.tensor(1)[None]
y = m.arange(6).reshape(2, 3)\\ny[1, 2]
y = m.arange(6).reshape(2, 3)\\ny[:, 1]
y = m.arange(6).reshape(2, 3)\\ny[:, [0, 2]]
y = m.arange(6).reshape(2, 3)\\ny[[0, 1], [1, 2]]
y = m.arange(6).reshape(2, 3)\\ny[1, 2, 3]
y = m.arange(6).reshape(2, 3)\\ny[m.tensor([True, False])]
y = x.clone()\\ny[0] = 9\\ny
y = x.clone()\\ny[1:] = 9\\ny
y = x.clone()\\ny[y > 1] = 0\\ny
y = x.clone()\\ny[[0, 1]] = m.tensor([7., 8.])\\ny
y = x.clone()\\ny[0] = 'a'
y = x.clone()\\ny[0] = [1]
y = x.clone()\\ny[5] = 1
y = x.clone()\\ny[:] = m.zeros(2)
y = m.tensor([1, 2])\\ny[0] = 1.9\\ny
y = x.clone()\\ny[0:1] = m.tensor([[5.]])\\ny
"""

PACKETS = """
m.ops.aten.add(x, x)
m.ops.aten.add(x, 1)
m.ops.aten.add.Tensor(x, x)
m.ops.aten.add.Tensor(x, 1)
m.ops.aten.add.Tensor(x, x, alpha=2)
m.ops.aten.add.Tensor(x, x, 2)
m.ops.aten.add.Scalar(x, 1)
m.ops.aten.add.Scalar(x, x)
m.ops.aten.add.Tensor(x)
m.ops.aten.add.Tensor(x, 'a')
m.ops.aten.add.Tensor(x, x, foo=1)
m.ops.aten.add.Tensor(self=x, other=x)
m.ops.aten.add.Tensor(input=x, other=x)
m.ops.aten.nope
m.ops.aten.add.Nope
m.ops.nope.nope
m.ops.aten.neg(x)
m.ops.aten.neg('a')
m.ops.aten.relu.default(x)
m.ops.aten.sum.dim_IntList(x, [0])
m.ops.aten.sum.dim_IntList(x, 0)
m.ops.aten.sum.dim_IntList(x, None)
m.ops.aten.view(x, [3, 1])
m.ops.aten.view(x, 3, 1)
m.ops.aten.zeros([2, 3])
m.ops.aten.zeros(2, 3)
m.ops.aten.zeros([2], dtype=m.int64)
m.ops.aten.zeros([2], device='cpu')
m.ops.aten.full([2], 1)
m.ops.aten.full([2], x[0])
m.ops.aten.uniform_(x.clone(), 0, 1).shape
m.ops.aten.add.Tensor.name()
m.ops.aten.add.Tensor.__name__
str(m.ops.aten.add.Tensor)
repr(m.ops.aten.add.Tensor)
str(m.ops.aten.add)
str(m.ops.aten.add.Tensor._schema)
m.ops.aten.add.Tensor.namespace
m.ops.aten.view.default.is_view
m.ops.aten.add_.Tensor.is_view
m.ops.aten.add_.Tensor._schema.is_mutable
[argument.name for argument in m.ops.aten.add.Tensor._schema.arguments]
m.ops.aten.relu.default._schema.overload_name
y = x.clone()\\nm.ops.aten.add_.Tensor(y, 1) is y
"""

LIBRARY = """
define('one(Tensor x) -> Tensor', lambda x: x + 1, 'CPU')(x)
define('args(Tensor x, int n, *, float f=1.) -> Tensor', lambda x, n, *, f=1.0: x * n + f, 'CPU')(x, 2)
define('args2(Tensor x, int n, *, float f=1.) -> Tensor', lambda x, n, *, f=1.0: x * n + f, 'CPU')(x, 2, f=3)
define('args3(Tensor x, int n, *, float f=1.) -> Tensor', lambda x, n, *, f=1.0: x * n + f, 'CPU')(x, 'a')
define('text(str s) -> str', lambda s: s + '!', 'CompositeExplicitAutograd')('a')
define('ints(int[] sizes) -> int', lambda sizes: sum(sizes), 'CompositeExplicitAutograd')([1, 2])
define('none(Tensor? x) -> bool', lambda x: x is None, 'CompositeExplicitAutograd')(None)
define('two(Tensor x) -> (Tensor, Tensor)', lambda x: (x + 1, x + 2), 'CPU')(x)
define('void(Tensor x) -> ()', lambda x: None, 'CPU')(x)
define('void2(Tensor x) -> ()', lambda x: 1, 'CPU')(x)
define('wrong(Tensor x) -> Tensor', lambda x: 1, 'CPU')(x)
define('raises(Tensor x) -> Tensor', lambda x: 1 / 0, 'CPU')(x)
define('keyed(Tensor x) -> Tensor', lambda x: {}['a'], 'CPU')(x)
define('missing(Tensor x) -> Tensor', None, None)(x)
define('meta(Tensor x) -> Tensor', lambda x: x + 1, 'CPU')(m.empty(2, device='meta'))
define('tensors(Tensor[] xs) -> Tensor', lambda xs: xs[0] + xs[1], 'CPU')([x, x])
m.library.Library('conformance_a', 'NOPE')
m.library.Library('conformance_b', 'FRAGMENT').define('broken(')
m.library.Library('conformance_c', 'FRAGMENT').impl('a', 3)
m.library.Library('conformance_d', 'IMPL').define('a() -> ()')
m.library.Library('conformance_e', 'FRAGMENT').fallback(lambda op: None, 'CPU')
lib = m.library.Library('conformance_f', 'DEF')\\nm.library.Library('conformance_f', 'DEF')
lib = m.library.Library('conformance_g', 'FRAGMENT')\\nlib._destroy()\\nlib.define('a() -> ()')
m.library.define('conformance', '() -> ()')
m.library.infer_schema(typed, mutates_args=())
m.library.infer_schema(typed, mutates_args={'x'})
m.library.infer_schema(typed, mutates_args={'nope'})
m.library.infer_schema(untyped, mutates_args=())
m.library.custom_op('conformance_h::typed', typed, mutates_args=())(x, 2)
m.library.custom_op('conformance_i::same', same, mutates_args=())(x)
m.library.custom_op('nope', typed, mutates_args=())
"""

CHAPTERS = {
    "functions": FUNCTIONS,
    "methods": METHODS,
    "numbers": NUMBERS,
    "construction": CONSTRUCTION,
    "indexing": INDEXING,
    "packets": PACKETS,
    "library": LIBRARY,
}

WANTED: dict[str, str] = {
    "m.cat([])": "no tensor brings a key, which the dispatcher says before any kernel looks at the list",
    "x.to(3)": "a number is no device here; torch takes it for one of the accelerator's",
    "m.Tensor([['a']])": "a text is no number however deep it lies: TypeError",
    "m.nonzero(x, as_tuple=True, out=m.empty(0))": "with `as_tuple` there is no argument of this name: TypeError, as for any other",
    "m.tensor(None)": "what is no number is a TypeError",
    "lib = m.library.Library('conformance_f', 'DEF')\\nm.library.Library('conformance_f', 'DEF')": (
        "a statement that runs again at the same place replaces what it registered before; another place is an error"
    ),
    "lib = m.library.Library('conformance_g', 'FRAGMENT')\\nlib._destroy()\\nlib.define('a() -> ()')": (
        "an error that cannot be switched off: RuntimeError"
    ),
}
"""Programs that end differently on purpose, and why."""
