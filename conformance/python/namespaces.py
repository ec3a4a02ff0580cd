"""Calls every function of torch.linalg, torch.fft, torch.special, torch.func and torch.autograd.functional beside opgrid's.

A name of torch's without a call here, or one that opgrid does not have, is a difference.
"""

from __future__ import annotations

from typing import Any

import opgrid
import opgrid.nn
import torch
import torch.func
from beside import Comparison

# Programs of the library `m`, and of tensors of float64: `p` is positive definite, `a` 3 × 3, `w` 3 × 2, `b` 4 × 2 × 3, `v` a vector,
# `u` numbers between 0 and 1.
CALLS: dict[str, dict[str, str]] = {
    "linalg": {
        "LinAlgError": "m.linalg.cholesky(-p)",
        "cholesky": "m.linalg.cholesky(p), m.linalg.cholesky(p, upper=True)",
        "cholesky_ex": "tuple(m.linalg.cholesky_ex(p)), m.linalg.cholesky_ex(-p).info",
        "cond": "m.linalg.cond(a), m.linalg.cond(a, 1)",
        "cross": "m.linalg.cross(a, p)",
        "det": "m.linalg.det(a)",
        "diagonal": "m.linalg.diagonal(a)",
        "eig": "m.real(m.linalg.eig(p)[0]).sort()[0]",
        "eigh": "m.linalg.eigh(p)[0]",
        "eigvals": "m.real(m.linalg.eigvals(p)).sort()[0]",
        "eigvalsh": "m.linalg.eigvalsh(p)",
        "householder_product": "m.linalg.householder_product(w, v[:2])",
        "inv": "m.linalg.inv(a)",
        "inv_ex": "tuple(m.linalg.inv_ex(a))",
        "ldl_factor": "m.linalg.ldl_factor(p)[0].diagonal()",
        "ldl_factor_ex": "m.linalg.ldl_factor_ex(p).info",
        "ldl_solve": "m.linalg.ldl_solve(*m.linalg.ldl_factor(p), w)",
        "lstsq": "m.linalg.lstsq(w, v).solution",
        "lu": "tuple(m.linalg.lu(a))",
        "lu_factor": "tuple(m.linalg.lu_factor(a))",
        "lu_factor_ex": "tuple(m.linalg.lu_factor_ex(a))",
        "lu_solve": "m.linalg.lu_solve(*m.linalg.lu_factor(a), w)",
        "matmul": "m.linalg.matmul(a, w)",
        "matrix_exp": "m.linalg.matrix_exp(a)",
        "matrix_norm": "m.linalg.matrix_norm(a), m.linalg.matrix_norm(a, 'nuc')",
        "matrix_power": "m.linalg.matrix_power(a, -2)",
        "matrix_rank": "m.linalg.matrix_rank(a)",
        "matrix_sqrth": "m.linalg.matrix_sqrth(p)",
        "multi_dot": "m.linalg.multi_dot([a, p, w])",
        "norm": "m.linalg.norm(a), m.linalg.norm(v, 3), m.linalg.norm(a, 2)",
        "pinv": "m.linalg.pinv(w)",
        "polar": "tuple(m.linalg.polar(a))",
        "qr": "[x.abs() for x in m.linalg.qr(w)]",
        "slogdet": "tuple(m.linalg.slogdet(a))",
        "solve": "m.linalg.solve(a, w)",
        "solve_ex": "tuple(m.linalg.solve_ex(a, w))",
        "solve_triangular": "m.linalg.solve_triangular(a.tril(), w, upper=False)",
        "svd": "m.linalg.svd(w)[1]",
        "svdvals": "m.linalg.svdvals(w)",
        "tensorinv": "m.linalg.tensorinv(m.eye(6, dtype=m.float64).reshape(6, 2, 3), ind=1)",
        "tensorsolve": "m.linalg.tensorsolve(m.eye(6, dtype=m.float64).reshape(2, 3, 6), b[0])",
        "vander": "m.linalg.vander(v, N=4)",
        "vecdot": "m.linalg.vecdot(a, p)",
        "vector_norm": "m.linalg.vector_norm(a, 3, dim=1)",
    },
    "fft": {
        **{name: f"m.fft.{name}(v), m.fft.{name}(v, n=4, norm='ortho')" for name in "fft ifft rfft ihfft".split()},
        **{name: f"m.fft.{name}(a)" for name in "fft2 ifft2 rfft2 fftn ifftn rfftn ihfft2 ihfftn".split()},
        **{name: f"m.fft.{name}(m.fft.fft(v))" for name in "irfft hfft".split()},
        **{name: f"m.fft.{name}(m.fft.fftn(a))" for name in "irfft2 irfftn hfft2 hfftn".split()},
        "fftfreq": "m.fft.fftfreq(5, d=0.5)",
        "rfftfreq": "m.fft.rfftfreq(5, d=0.5)",
        "fftshift": "m.fft.fftshift(v)",
        "ifftshift": "m.fft.ifftshift(v)",
    },
    "special": {
        **{
            name: f"m.special.{name}(u)"
            for name in (
                "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e "
                "log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi round "
                "scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0"
            ).split()
        },
        **{
            name: f"m.special.{name}(u, m.tensor([0, 1, 3]))"
            for name in (
                "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
                "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t "
                "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w"
            ).split()
        },
        **{name: f"m.special.{name}(u, u + 1)" for name in "gammainc gammaincc xlog1py xlogy".split()},
        "log_softmax": "m.special.log_softmax(a, 0)",
        "logsumexp": "m.special.logsumexp(a, 0)",
        "multigammaln": "m.special.multigammaln(u + 3, 2)",
        "polygamma": "m.special.polygamma(2, u)",
        "softmax": "m.special.softmax(a, 0)",
        "zeta": "m.special.zeta(u + 1, u)",
    },
    "func": {
        "functional_call": "m.func.functional_call(m.nn.Linear(2, 1, bias=False).double(), {'weight': w[:1]}, v[:2])",
        "functionalize": "m.func.functionalize(lambda x: x.clone().mul_(2))(a)",
        "grad": "m.func.grad(lambda x: x.sin().sum())(a)",
        "grad_and_value": "m.func.grad_and_value(lambda x: x.sin().sum())(a)",
        "hessian": "m.func.hessian(lambda x: x.sin().sum())(v)",
        "jacfwd": "m.func.jacfwd(lambda x: x.sin())(v)",
        "jacrev": "m.func.jacrev(lambda x: x.sin())(v)",
        "jvp": "m.func.jvp(lambda x: x.sin(), (v,), (u,))",
        "linearize": "m.func.linearize(lambda x: x.sin(), v)[1](u)",
        "rearrange": "m.func.rearrange(b, 'a (b c) d -> (a b) c d', b=2)",
        "replace_all_batch_norm_modules_": "list(m.func.replace_all_batch_norm_modules_(m.nn.BatchNorm1d(2)).state_dict())",
        "stack_module_state": "[x.shape for x in m.func.stack_module_state([m.nn.Linear(2, 1), m.nn.Linear(2, 1)])[0].values()]",
        "vjp": "m.func.vjp(lambda x: x.sin(), v)[1](u)",
        "vmap": "m.func.vmap(lambda x: x @ p)(b)",
        "debug_unwrap": "m.func.debug_unwrap(v)",
    },
    "autograd.functional": {
        name: f"m.autograd.functional.{name}(lambda x: (x.sin() * u).sum(), v{more})"
        for name, more in {"hessian": "", "hvp": ", u", "jacobian": "", "jvp": ", u", "vhp": ", u", "vjp": ""}.items()
    },
}

WANTED = {
    "func.debug_unwrap": "it looks below the layers of a transform, which Python cannot do here",
}

MODULES = {
    "linalg": torch.linalg,
    "fft": torch.fft,
    "special": torch.special,
    "func": torch.func,
    "autograd.functional": torch.autograd.functional,
}


def functions(module: Any) -> list[str]:
    """The names of a module's functions, of those that it declares if it declares any beside those in its documentation."""
    names = set(getattr(module, "__all__", ())) | (set(dir(module)) if module is not torch.autograd.functional else set())
    return sorted(name for name in names if name[0] != "_" and name != "Tensor" and callable(getattr(module, name)))


def tensors(m: Any) -> dict[str, Any]:
    def of(value: Any) -> Any:
        return m.tensor(value, dtype=m.float64)

    return {
        "m": m,
        "p": of([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]),
        "a": of([[1.2, -0.4, 0.3], [0.4, 0.9, -1.5], [-0.3, 0.2, 1.1]]),
        "w": of([[0.5, 1.0], [-1.0, 0.2], [0.3, 0.7]]),
        "b": m.arange(24, dtype=m.float64).reshape(4, 2, 3),
        "v": of([0.5, -1.0, 2.0]),
        "u": of([0.2, 0.5, 0.9]),
    }


def run(show: str | None = None) -> int:
    """Compares all, and returns the exit status."""
    compare = Comparison("namespaces", (torch, opgrid), WANTED, show)
    for module, theirs in MODULES.items():
        names = functions(theirs)
        for name in names:
            # Without a call, the sides differ.
            program = CALLS[module].get(name, "m.__name__")
            compare(f"{module}.{name}", lambda m: eval(program, tensors(m)))
        differing = [name for name in names if f"{module}.{name}" in compare.differences]
        print(f"{module}: {len(names) - len(differing)} of {len(names)} names")
    return compare.status()
