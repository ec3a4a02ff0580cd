"""Linear algebra under its short names, beside numpy, and what cannot be factored."""

import numpy as np
import pytest

import opgrid as og

DTYPES = [og.float32, og.float64, og.complex64, og.complex128]


def random(dtype, *sizes):
    generator = np.random.default_rng(sum(sizes))
    x = generator.standard_normal(sizes)
    if dtype.is_complex:
        x = x + 1j * generator.standard_normal(sizes)
    return og.from_numpy(x).to(dtype)


def near(found, expected, dtype):
    bound = 2e-4 if dtype in (og.float32, og.complex64) else 1e-11
    np.testing.assert_allclose(np.asarray(found.numpy()), expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", [(), (3,), (2, 1)])
def test_results_are_those_of_numpy(dtype, stack):
    a, b = random(dtype, *stack, 5, 5), random(dtype, *stack, 5, 2)
    x, y = a.numpy(), b.numpy()
    near(og.linalg.det(a), np.linalg.det(x), dtype)
    near(og.linalg.inv(a), np.linalg.inv(x), dtype)
    near(og.linalg.solve(a, b), np.linalg.solve(x, y), dtype)
    sign, logarithm = og.linalg.slogdet(a)
    near(sign, np.linalg.slogdet(x)[0], dtype)
    near(logarithm, np.linalg.slogdet(x)[1], dtype)
    near(og.linalg.svdvals(a), np.linalg.svd(x, compute_uv=False), dtype)
    q, r = og.linalg.qr(a)
    near(q, np.linalg.qr(x)[0], dtype)
    near(r, np.linalg.qr(x)[1], dtype)
    hermitian = a @ a.adjoint() + 5 * og.eye(5, dtype=dtype)
    near(og.linalg.eigvalsh(hermitian), np.linalg.eigvalsh(hermitian.numpy()), dtype)
    near(og.linalg.cholesky(hermitian), np.linalg.cholesky(hermitian.numpy()), dtype)
    values, vectors = og.linalg.eig(a)
    near(a.to(vectors.dtype) @ vectors, (vectors * values.unsqueeze(-2)).numpy(), dtype)


def test_results_have_names_and_are_written_where_asked_for():
    a = random(og.float64, 3, 2)
    found = og.linalg.svd(a, full_matrices=False)
    assert found.U.shape == (3, 2) and found.S.shape == (2,) and found.Vh.shape == (2, 2)
    out = og.empty(2, dtype=og.float64)
    assert og.linalg.svdvals(a, out=out) is out and og.equal(out, found.S)
    assert type(found).__name__ == "linalg_svd"


def test_matrices_that_cannot_be_factored_raise_an_error_of_their_own():
    singular = og.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(og.linalg.LinAlgError, match="input matrix is singular"):
        og.linalg.inv(singular)
    with pytest.raises(RuntimeError, match="leading minor of order 2"):
        og.linalg.cholesky(og.tensor([[1.0, 2.0], [2.0, 1.0]]))
    inverse, info = og.linalg.inv_ex(og.stack([og.eye(2), singular]))
    assert info.tolist() == [0, 2] and og.equal(inverse[0], og.eye(2))
    with pytest.raises(og.linalg.LinAlgError, match="Batch element 1"):
        og.linalg.solve(og.stack([og.eye(2), singular]), og.ones(2, 2, 1))
    with pytest.raises(og.linalg.LinAlgError, match="non-finite"):
        og.linalg.svd(og.tensor([[1.0, og.nan], [0.0, 1.0]]))


def test_gradients_and_batches_go_through():
    a = random(og.float64, 3, 3)
    a.requires_grad_()
    og.linalg.slogdet(a).logabsdet.backward()
    near(a.grad, np.linalg.inv(a.detach().numpy()).T, og.float64)
    stack, right = random(og.float64, 4, 3, 3), random(og.float64, 4, 3)
    together = og.vmap(og.linalg.solve)(stack, right)
    assert og.allclose(together, og.stack([og.linalg.solve(x, y) for x, y in zip(stack, right)]))
    values = og.vmap(lambda x: og.linalg.eigh(x + x.adjoint()).eigenvalues)(stack)
    assert og.allclose(values, og.linalg.eigvalsh(stack + stack.adjoint()))


def test_names_are_those_of_operators():
    assert og.fft.rfft(og.ones(4)).tolist() == og.fft_rfft(og.ones(4)).tolist()
    assert {"svd", "qr", "LinAlgError"} <= set(dir(og.linalg)) and "ifft" in dir(og.fft)
    with pytest.raises(AttributeError, match="there is no operator 'linalg_svdd'"):
        og.linalg.svdd
    with pytest.raises(AttributeError, match="'opgrid.fft' has no attribute 'nothere'"):
        og.fft.nothere
