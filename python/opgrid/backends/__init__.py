"""Libraries that torch computes with, as programs ask for them and set them. opgrid has kernels of its own: what is asked is answered,
and what is set is kept."""

from __future__ import annotations

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
