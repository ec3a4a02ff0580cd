"""opt_einsum's examples: contractions by the shortest path."""

from __future__ import annotations

from typing import Any

import numpy as np
import opt_einsum
from steps import Make, step

RANDOM = np.random.default_rng(1)
A, B, C = RANDOM.random((5, 6)), RANDOM.random((6, 7)), RANDOM.random((7, 5))
COMPLEX = RANDOM.random((4, 4)) + 1j * RANDOM.random((4, 4))


def library(array: Make) -> str:
    """The library whose functions it takes."""
    return "opgrid.array_api" if type(array(0)).__module__.startswith("opgrid") else "numpy"


@step
def contract(array: Make) -> Any:
    a, b, c = array(A), array(B), array(C)
    return {
        text: opt_einsum.contract(text, *operands, backend=library(array))
        for text, operands in {
            "ij,jk,kl->il": (a, b, c),
            "ij,jk,ki->": (a, b, c),
            "ij->ji": (a,),
            "ij,ij->i": (a, a),
            "ij,k->ijk": (a, a[0, :]),
            "ij,jk->ik": (a, b),
        }.items()
    }


@step
def contract_complex(array: Make) -> Any:
    x = array(COMPLEX)
    return opt_einsum.contract("ab,bc,cd->ad", x, x, x, backend=library(array))


@step(cannot="it takes functions of the package `opgrid` by numpy's signatures, unless `backend` names `opgrid.array_api`")
def contract_by_itself(array: Make) -> Any:
    return opt_einsum.contract("ij,jk,kl->li", array(A), array(B), array(C))


@step
def contract_expression(array: Make) -> Any:
    expression = opt_einsum.contract_expression("ij,jk,kl->il", A.shape, B.shape, C.shape)
    return expression(array(A), array(B), array(C), backend=library(array))


@step
def contract_expression_with_constants(array: Make) -> Any:
    expression = opt_einsum.contract_expression("ij,jk,kl->il", A.shape, array(B), C.shape, constants=[1])
    return expression(array(A), array(C), backend=library(array))


@step
def shared_intermediates(array: Make) -> Any:
    a, b, c = array(A), array(B), array(C)
    with opt_einsum.shared_intermediates():
        texts = ("ij,jk,kl->il", "ij,jk,kl->l")
        return [opt_einsum.contract(text, a, b, c, backend=library(array)) for text in texts]


@step
def contract_path(array: Make) -> Any:
    path, info = opt_einsum.contract_path("ij,jk,kl->il", array(A), array(B), array(C))
    return path, float(info.opt_cost)
