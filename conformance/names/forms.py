"""Calls in the forms that programs write: arguments one by one or as a list, by position or by name, with and without options."""

from __future__ import annotations

VALUES = {
    "a": "m.tensor([[0.5, -1.0, 2.0], [3.0, 4.0, -0.25]])",
    "b": "m.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])",
    "v": "m.tensor([1.0, 2.0])",
    "v3": "m.tensor([1.0, 2.0, 3.0])",
    "im": "m.arange(32.0).reshape(1, 2, 4, 4)",
    "z": "m.tensor([1 + 2j, 3 - 1j])",
    "sq": "m.tensor([[2.0, 1.0], [1.0, 3.0]])",
    "np": "__import__('numpy')",
}
"""What calls are made with; ``m`` is the library."""

FORMS = """
m.einsum("ij,jk", a, b)
m.einsum("ij,jk->ik", [a, b])
m.meshgrid(v, v, indexing="ij")
m.meshgrid(v, v)
m.meshgrid([v, v])
m.block_diag(a, b)
m.block_diag(a)
m.cartesian_prod(v, v)
m.cartesian_prod(v)
m.combinations(v)
m.broadcast_tensors(a, v3)
m.atleast_1d(a, v)
m.atleast_1d([a, v])
m.atleast_2d(v)
m.atleast_3d(v, a)
m.tensordot(a, b, dims=1)
m.tensordot(a, b, 1)
m.tensordot(a, b, dims=([1],[0]))
m.tensordot(a, b, ([1],[0]))
m.norm(a)
m.norm(a, dim=1)
m.norm(a, 2, 1)
m.norm(a, "fro")
m.norm(a, p="nuc")
m.norm(a, p=1, dim=(0,1), keepdim=True)
a.norm()
a.norm(dim=1)
a.norm(1, 0)
a.norm(p="fro", dim=(0,1))
m.nn.functional.softmax(a)
m.nn.functional.log_softmax(a)
m.nn.functional.softmin(a)
m.nn.functional.max_pool2d(im, 2, return_indices=True)
m.nn.functional.max_pool1d(im[0], 2, return_indices=True)
a.is_contiguous(memory_format=m.contiguous_format)
im.is_contiguous(memory_format=m.channels_last)
a[(0, 1)]
a[[0, 1]]
a[[0, 1], [1, 2]]
a[(slice(None), [0, 2])]
a[..., None]
a[None, :, [0]]
a[[True, False]]
a[m.tensor([0, 1]), 1]
a[range(1)]
a[np.array([0,1])]
a[np.int64(1)]
im.permute(0, 2, 1, 3)
im.permute((0, 2, 1, 3))
m.permute(im, (0, 2, 1, 3))
a.view(m.int32)
a.view(3, 2)
a.view((3, 2))
a.view(-1)
a.view(size=(3,2))
a.reshape(3, 2)
a.reshape((3, 2))
m.reshape(a, (3, 2))
a.split(1)
a.split([1, 1])
a.split((1, 2), dim=1)
m.split(a, 1)
m.split(a, [1, 2], 1)
m.split(a, [1, 2], dim=-1)
a.split(split_size=1)
a.max(1)
a.max(dim=1)
a.max(1, True)
a.max(a)
a.max(1).values
a.sort(descending=True)
a.sort(0, True)
a.sort(dim=0, descending=True, stable=True)
m.sort(a, stable=True)
a.argsort(descending=True)
m.stack(tensors=[a, a])
m.stack((a, a), dim=1)
m.stack([a, a], 1)
m.cat(tensors=(a, a), dim=-1)
m.cat([a, a], axis=1)
m.sum(a, axis=1)
a.sum(axis=1, keepdims=True)
a.sum((0, 1))
a.mean((0, 1))
a.mean(dim=[0, 1])
a.std(1)
a.std(dim=1, unbiased=False)
a.std(unbiased=False)
a.var(dim=1, correction=0)
a.expand(2, 2, 3)
a.expand((2, 2, 3))
a.repeat(2, 1)
a.repeat((2, 1))
a.tile((2, 2))
a.tile(2, 2)
a.flip(0)
a.flip(0, 1)
a.flip((0, 1))
m.flip(a, (0,))
a.roll(1, 0)
a.roll(1)
a.roll((1, 1), (0, 1))
m.rot90(a)
a.transpose(0, 1)
a.T
a.mT
a.H
a.mH
z.real
z.imag
a.real
a.data
a.clone().is_leaf
a.new_zeros(2, 3)
a.new_zeros((2, 3))
a.new_ones(2)
a.new_full((2, 2), 3.0)
a.new_empty(2).shape
a.new_tensor([1, 2])
a.tolist()
a.nelement()
a.element_size()
a.nbytes
a.itemsize
a.numpy()
np.asarray(a)
np.array(a)
np.ones(3, dtype=np.float32) + v3
np.ones((2, 3), dtype=np.float32) * a
np.ones((2, 3)) - a
np.float64(2.0) * a
np.sin(a)
np.add(a, a)
np.sum(a.numpy())
a + np.ones((2,3), dtype=np.float32)
a * np.float64(2)
a + np.array(2.0)
m.as_tensor(np.ones(3))
m.from_numpy(np.ones(3))
m.tensor(np.ones(3))
m.tensor([np.float32(1.0), 2])
m.tensor([m.tensor(1), m.tensor(2)])
m.tensor([[1, 2], [3, 4]], dtype=m.float64)
m.frombuffer(bytearray(8), dtype=m.float32)
m.asarray([1, 2])
m.zeros(2, 3)
m.zeros((2, 3))
m.zeros([2, 3])
m.zeros(size=(2, 3))
m.zeros(m.Size([2, 3]))
m.ones(a.shape)
m.ones(*a.shape)
m.empty(2, 3).shape
m.full((2, 3), 1)
m.full((2,), True)
m.arange(3)
m.arange(0, 3)
m.arange(0, 1, 0.25)
m.arange(end=3)
m.arange(start=1, end=3)
m.linspace(0, 1, 5)
m.linspace(0, 1, steps=5)
m.linspace(start=0, end=1, steps=5)
m.logspace(0, 1, 5)
m.eye(3)
m.eye(3, 2)
m.zeros_like(a)
m.full_like(a, 2)
m.rand(2, 3, generator=m.Generator().manual_seed(0)).shape
m.randn(2, 3).shape
m.randint(3, (2,)).shape
m.randint(0, 3, (2,)).shape
m.randint(low=0, high=3, size=(2,)).shape
m.randperm(4).shape
m.normal(0.0, 1.0, (2, 3)).shape
m.normal(a, 1.0).shape
m.normal(mean=0.0, std=1.0, size=(2,)).shape
m.bernoulli(m.full((2,), 0.5)).shape
m.multinomial(m.tensor([0.2, 0.8]), 3, replacement=True).shape
m.where(a > 0, a, 0)
m.where(a > 0, 1.0, 0.0)
m.where(a > 0)
a.where(a > 0, 0)
a.clamp(0, 1)
a.clamp(min=0)
a.clamp(max=m.zeros(3))
m.clamp(a, min=0.0)
a.clip(0)
a.masked_fill(a > 0, 0)
a.scatter(1, m.zeros(2, 1, dtype=m.long), 5.0)
a.scatter(1, m.zeros(2, 1, dtype=m.long), a)
a.scatter(1, m.zeros(2, 1, dtype=m.long), 5.0, reduce="add")
a.clone().scatter_(dim=1, index=m.zeros(2, 1, dtype=m.long), value=5.0)
a.clone().scatter_add_(1, m.zeros(2, 1, dtype=m.long), a)
a.gather(1, m.zeros(2, 1, dtype=m.long))
m.gather(a, 1, index=m.zeros(2, 1, dtype=m.long))
a.index_select(0, m.tensor([1]))
a.topk(2)
a.topk(2, dim=0)
a.topk(k=2, largest=False)
a.kthvalue(2)
a.median()
a.median(0)
a.mode()
a.quantile(0.5)
m.quantile(a, m.tensor([0.5]), dim=1)
m.quantile(a, 0.5, dim=1, keepdim=True)
a.cumsum(0)
a.cumsum(dim=1)
a.prod()
a.prod(1)
a.any()
a.all(1)
a.argmax()
a.argmax(dim=1)
a.argmax(-1, keepdim=True)
a.unique()
m.unique(a, return_counts=True)
m.bincount(m.tensor([1, 1]))
m.histc(a, 4)
m.histc(a, bins=4, min=0, max=1)
m.histogram(v, 4)
m.histogram(v, bins=4, range=(0., 1.))
m.bucketize(a, m.tensor([0.0, 1.0]))
m.searchsorted(m.tensor([0.0, 1.0]), v)
a.chunk(2)
a.chunk(2, dim=1)
m.chunk(a, 2)
a.unbind()
a.unbind(1)
m.tensor_split(a, 2)
m.tensor_split(a, (1,), dim=1)
m.tensor_split(a, m.tensor([1]))
m.hsplit(a, 3)
m.vsplit(a, [1])
m.hstack((a, a))
m.vstack([a, a])
m.dstack((a, a))
m.column_stack((v, v))
a.unsqueeze(0)
a.squeeze()
a.squeeze((0, 1))
a.unflatten(1, (3, 1))
m.unflatten(a, 1, (3, -1))
a.flatten()
a.flatten(0, 1)
m.flatten(a, start_dim=0)
a.ravel()
m.movedim(im, 1, -1)
m.movedim(im, (1, 2), (2, 1))
m.swapaxes(a, 0, 1)
a.contiguous()
a.to(m.float64)
a.to("cpu")
a.to("cpu", m.float64)
a.to(device="cpu", dtype=m.float64)
a.to(a)
a.to(m.device("cpu"), non_blocking=True)
a.to(m.float64, copy=True)
a.to(memory_format=m.contiguous_format)
a.type(m.float64)
a.type_as(a.double())
a.float()
a.double()
a.half()
a.bfloat16()
a.int()
a.long()
a.short()
a.char()
a.bool()
a.cpu()
a.is_cuda
a.device
a.dtype
a.layout
a.shape
a.size()
a.size(0)
a.size(dim=1)
a.stride()
a.stride(0)
a.dim()
a.ndim
a.numel()
a.storage_offset()
a.data_ptr() != 0
float(v[0])
int(v[0])
bool(v[0])
len(a)
list(a)
[r.shape for r in a]
0.5 in a
a @ b
b.T @ a.T
a ** 2
2 ** a
a // 2
a % 2
divmod(7, 2)
-a
abs(a)
~(a > 0)
(a > 0) & (a < 1)
(a > 0) | (a < 1)
(a > 0) ^ (a < 1)
a == a
a != a
1 - a
1 / a
m.add(a, a, alpha=2)
m.add(a, 1)
m.sub(a, 1, alpha=2)
m.mul(a, 2)
m.div(a, 2, rounding_mode="floor")
m.pow(a, 2)
m.pow(2, a)
m.true_divide(a, 2)
m.floor_divide(a, 2)
m.remainder(a, 2)
m.fmod(a, 2)
m.maximum(a, a)
m.atan2(a, a)
m.lerp(a, a, 0.5)
m.addmm(m.zeros(2, 2), a, b[:, :2], beta=0.5, alpha=2)
m.addcmul(a, a, a, value=0.5)
m.addcdiv(a, a, a, value=0.5)
m.baddbmm(m.zeros(1, 2, 2), a[None], b[None, :, :2])
m.bmm(a[None], b[None])
m.matmul(a, b)
m.mm(a, b)
m.mv(a, v3)
m.dot(v3, v3)
m.outer(v, v)
m.inner(v, v)
m.kron(a, a)
m.cross(v3, v3)
m.cross(v3, v3, dim=0)
m.cdist(a, a)
m.cdist(a, a, p=1)
m.dist(a, a)
m.diag(v)
m.diagonal(a)
m.diag_embed(v)
m.trace(a)
m.tril(a)
m.triu(a, diagonal=1)
m.tril_indices(3, 3)
m.triu_indices(3, 3, offset=1)
m.nonzero(a)
m.nonzero(a, as_tuple=True)
a.nonzero(as_tuple=True)
a.nonzero()
m.masked_select(a, a > 0)
m.take(a, m.tensor([0]))
m.isclose(a, a)
m.allclose(a, a)
m.equal(a, a)
m.isnan(a)
m.isfinite(a)
m.isin(m.tensor([1]), m.tensor([1]))
m.nan_to_num(a, nan=0.0)
m.cumprod(a, 1)
m.cummax(a, 1)
m.logsumexp(a, 1)
m.logsumexp(a, dim=(0, 1))
m.softmax(a, 1)
m.softmax(a, dim=1, dtype=m.float64)
a.softmax(-1)
a.softmax(dim=-1)
m.log_softmax(a, -1)
m.std_mean(a)
m.var_mean(a, dim=1)
m.aminmax(a)
m.amax(a, (0, 1))
m.amin(a, 1)
m.count_nonzero(a)
m.diff(v)
m.gradient(v)
m.trapz(v)
m.trapezoid(v, dx=2.0)
m.cov(a)
m.corrcoef(a)
m.fft.fft(v)
m.fft.rfft(a, dim=0)
m.view_as_real(z)
m.view_as_complex(m.ones(2, 2))
m.complex(v, v)
m.polar(v, v)
m.stft(m.ones(16), 4, return_complex=True).shape
m.istft(m.stft(m.ones(16), 4, return_complex=True), 4).shape
m.broadcast_to(a, (2, 2, 3))
m.broadcast_shapes((2, 1), (3,))
m.result_type(a, 1)
m.can_cast(m.int32, m.float32)
m.promote_types(m.int32, m.float32)
m.is_tensor(a)
m.is_floating_point(a)
m.is_complex(a)
m.numel(a)
m.finfo(m.float32).eps
m.iinfo(m.int32).max
m.chain_matmul(a, b)
m.linalg.multi_dot([a, b])
m.cumulative_trapezoid(v)
m.vander(v)
m.lu(sq)
m.lu_unpack(*m.linalg.lu_factor(sq))
m.svd(sq)[1]
m.linalg.norm(a)
m.linalg.norm(a, dim=1)
m.linalg.norm(a, "fro")
m.linalg.vector_norm(a)
m.linalg.matrix_norm(a)
m.inverse(sq)
m.det(sq)
m.logdet(sq)
m.slogdet(sq)
m.pinverse(sq)
m.cholesky(sq)
m.matrix_power(sq, 2)
m.matrix_exp(sq)
m.repeat_interleave(v, 2)
m.repeat_interleave(v, m.tensor([1, 2]))
v.repeat_interleave(2, dim=0)
m.index_add(a, 0, m.tensor([0]), a[:1])
m.index_copy(a, 0, m.tensor([0]), a[:1])
m.index_put(a, (m.tensor([0]),), m.tensor(1.0))
a.clone().index_put_((m.tensor([0]),), m.tensor(1.0), accumulate=True)
a.index_fill(0, m.tensor([0]), 1.0)
m.take_along_dim(a, m.zeros(2, 1, dtype=m.long), 1)
m.select(a, 0, 1)
m.narrow(a, 0, 0, 1)
a.narrow(0, 0, 1)
a.unfold(0, 2, 1)
m.as_strided(a, (2,), (1,))
a.expand_as(a)
a.view_as(a)
a.reshape_as(a)
a.copy_(a)
a.clone().fill_(1)
a.clone().zero_()
a.clone().uniform_().shape
a.clone().normal_(0, 1).shape
a.clone().normal_(mean=0, std=1).shape
a.clone().random_(0, 5).shape
a.clone().random_(5).shape
a.clone().bernoulli_(0.5).shape
a.clone().exponential_().shape
a.clone().add_(1)
a.clone().mul_(2)
a.clone().clamp_(0)
a.clone().clamp_(min=0, max=1)
a.clone().resize_(1, 2).shape
a.clone().squeeze_()
a.clone().transpose_(0, 1)
a.clone().requires_grad_()
a.detach()
a.requires_grad
a.grad is None
a.grad_fn is None
m.set_grad_enabled(True) is None
a.get_device()
a.is_pinned()
a.share_memory_().shape
a.names
a.apply_(lambda x: x)
a.clone().map_(a, lambda x, y: x + y)
a.untyped_storage().nbytes()
a.storage().size()
a.__array__()
a.__array__(dtype=np.float64)
m.Size([1, 2]) + (3,)
m.Size([2, 3]).numel()
m.tensor(3).__index__()
[1, 2, 3][m.tensor(1)]
range(m.tensor(3))
f"{v[0]:.2f}"
format(v[0], ".1f")
m.tensor(1.5).numpy()
round(m.tensor(1.5).item())
sum([a, a])
max(v)
a.__len__()
m.device("cuda:1").index
m.device("cuda", 1).index
m.device(type="cpu").index
m.ones(2, device=m.device("cpu"))
m.ones(2, dtype=m.float64, requires_grad=True).requires_grad
m.tensor(1.0, requires_grad=True).requires_grad
m.no_grad().__enter__() is None
m.FloatTensor([1, 2])
m.FloatTensor(2, 3).shape
m.LongTensor([1, 2])
m.Tensor([1, 2])
m.Tensor(2, 3).shape
m.Tensor()
isinstance(a, m.Tensor)
isinstance(a, m.FloatTensor)
isinstance(m.float32, m.dtype)
""".strip().splitlines()
