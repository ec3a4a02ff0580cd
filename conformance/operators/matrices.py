"""Factorizations of which there are several: whether opgrid's answer is one, by what it multiplies to."""

from __future__ import annotations

import convert
import torch
from compare import Leaf, Outcome
from record import Call

VECTORS = ("_linalg_eigh", "linalg_eigh", "linalg_eig", "_linalg_svd", "linalg_svd", "svd")
FACTORS = ("_linalg_det", "_linalg_slogdet")


def is_factorization(call: Call, outcome: Outcome) -> bool:
    """Whether the results of opgrid multiply to the argument: of operators whose vectors may be turned, or whose pivots rounding decides."""
    base = call.overload.partition(".")[0]
    answer = outcome.ours.value if outcome.ours is not None else None
    if base not in VECTORS + FACTORS or not isinstance(answer, (list, tuple)):
        return False
    results = [leaf.values for leaf in answer if isinstance(leaf, Leaf) and leaf.values is not None]
    if len(results) != len(answer):
        return False
    arguments = convert.for_torch(call.arguments)
    matrix = arguments.args[0]
    # What is not computed has no elements.
    if any(result.numel() == 0 for result in results):
        return matrix.numel() == 0
    if base in FACTORS:
        permutation, lower, upper = torch.lu_unpack(results[-2], results[-1].int())
        return near(permutation @ lower @ upper, matrix)
    if base == "linalg_eig":
        values, vectors = results
        lengths = torch.linalg.vector_norm(vectors, dim=-2)
        return near(matrix.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2)) and near(lengths, torch.ones_like(lengths))
    if "eigh" in base:
        values, vectors = results
        upper = "U" in (*map(str, arguments.args[1:2]), str(arguments.kwargs.get("UPLO", "L")))
        half = matrix.triu(1) if upper else matrix.tril(-1)
        diagonal = torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1).real).to(matrix.dtype)
        return near(vectors * values.unsqueeze(-2) @ vectors.mH, half + half.mH + diagonal) and orthonormal(vectors)
    u, values, vh = results
    vh = vh.mH if base == "svd" else vh
    count = values.shape[-1]
    product = u[..., :count] * values.unsqueeze(-2) @ vh[..., :count, :]
    return near(product, matrix) and orthonormal(u) and orthonormal(vh.mH)


def orthonormal(vectors: torch.Tensor) -> bool:
    unit = torch.eye(vectors.shape[-1], dtype=vectors.dtype).expand(*vectors.shape[:-2], -1, -1)
    return near(vectors.mH @ vectors, unit)


def near(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether rounding of sums explains what is between them."""
    size = max(1.0, float(expected.abs().max())) * max(found.shape[-1], 8)
    return bool((found - expected).abs().max() <= 64 * torch.finfo(expected.dtype).eps * size)
