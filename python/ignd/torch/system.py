"""The damped Gauss-Newton system of a batch.

The objective is the mean loss of the samples, by their shares, plus weight_decay / 2 ||w||^2. Its step d solves

    (J^T C J + M) d = -(J^T l + W w),   M = lambda + W,

where C and l are the curvatures and slopes of the losses, multiplied by the shares, and W is the diagonal matrix of the
weight decays. With bC rows and p parameters this is one system of size p, or with z such that d = -M^-1 (J^T z + W w)

    (I + C G) z = l - C u,   G = J M^-1 J^T,   u = J M^-1 W w,

one of size bC. With C = S S^T and l = S y + r the latter is symmetric: z = S v + r and

    (S^T G S + I) v = y - S^T (u + G r).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .errors import NonConvexLoss, SingularSystem


@dataclass(frozen=True)
class Root:
    """S with S S^T = C, sample by sample, and the slopes as l = S y + r."""

    root: Tensor  # b x C, where C is diagonal, or b x C x C
    y: Tensor  # b x C
    rest: Tensor  # b x C: the slopes where there is no curvature

    @staticmethod
    def of(curvature: Tensor, slope: Tensor, eps_c: float) -> Root:
        """From l_ff, b x C where it is diagonal or b x C x C, to which eps_c is added."""
        diagonal = curvature if curvature.ndim == 2 else curvature.diagonal(dim1=1, dim2=2)
        if bool((diagonal < 0).any()):
            raise NonConvexLoss(_NOT_CONVEX)
        if curvature.ndim == 2:
            root = (curvature + eps_c).sqrt()
            flat = root == 0
            return Root(root, torch.where(flat, 0, slope / torch.where(flat, 1, root)), torch.where(flat, slope, 0))
        if eps_c > 0:
            factor, failed = torch.linalg.cholesky_ex(curvature + torch.diag(torch.full_like(diagonal[0], eps_c)))
            if bool(failed.any()):
                raise NonConvexLoss(_NOT_CONVEX)
            y = torch.linalg.solve_triangular(factor, slope[:, :, None], upper=False)[:, :, 0]
            return Root(factor, y, torch.zeros_like(y))
        return Root._of_semidefinite(curvature, slope)

    @staticmethod
    def _of_semidefinite(curvature: Tensor, slope: Tensor) -> Root:
        """A direction without curvature becomes a column of zeros."""
        values, vectors = torch.linalg.eigh(curvature)
        largest = values.abs().amax(1, keepdim=True)
        if bool((values < -1e-8 * largest).any()):
            raise NonConvexLoss(_NOT_CONVEX)
        flat = values <= values.shape[1] * torch.finfo(values.dtype).eps * largest
        roots = torch.where(flat, 0, values).sqrt()
        along = (vectors.mT @ slope[:, :, None])[:, :, 0]
        # Where there is no curvature the slope is often zero too, up to rounding.
        rounding = along.abs() <= 1e-12 * slope.abs().amax(1, keepdim=True)
        left = torch.where(flat & ~rounding, along, 0)
        y = torch.where(flat, 0, along / torch.where(flat, 1, roots))
        return Root(vectors * roots[:, None, :], y, (vectors @ left[:, :, None])[:, :, 0])

    def apply(self, x: Tensor) -> Tensor:
        """S x."""
        return self.root * x if self.root.ndim == 2 else (self.root @ x[:, :, None])[:, :, 0]

    @staticmethod
    def joined(parts: list[Root]) -> Root:
        """The root of several batches as one."""
        if len(parts) == 1:
            return parts[0]
        return Root(*(torch.cat([getattr(part, name) for part in parts]) for name in ("root", "y", "rest")))

    def of_part(self, part: slice) -> Root:
        """The root of some of the samples."""
        return Root(self.root[part], self.y[part], self.rest[part])

    def of_shares(self, shares: Tensor) -> Root:
        """The root of the shares times C, with the shares times the slopes."""
        half = shares.sqrt()
        root = half.reshape(-1, *[1] * (self.root.ndim - 1)) * self.root
        return Root(root, half[:, None] * self.y, shares[:, None] * self.rest)

    def slope(self) -> Tensor:
        """l."""
        return self.apply(self.y) + self.rest

    def curve(self, x: Tensor) -> Tensor:
        """x^T C x, summed over the samples."""
        return self.apply_transposed(x).square().sum()

    def apply_transposed(self, x: Tensor) -> Tensor:
        """S^T x."""
        return self.root * x if self.root.ndim == 2 else (self.root.mT @ x[:, :, None])[:, :, 0]

    def times_rows(self, rows: Tensor) -> Tensor:
        """S^T times a matrix with bC rows."""
        if self.root.ndim == 2:
            return self.root.reshape(-1, 1) * rows
        samples, outputs = self.y.shape
        return (self.root.mT @ rows.reshape(samples, outputs, -1)).reshape(rows.shape)


_NOT_CONVEX = "the loss has a negative second derivative; Gauss-Newton needs a loss that is convex in the outputs"


def solve_samples(gram: Tensor, root: Root, damping: float) -> Tensor:
    """z of each sample on its own, b x C: (C G + damping I) z = l."""
    if root.y.shape[1] == 1:
        denominator = (root.root * root.root).reshape(-1, 1) * gram[:, 0] + damping
        return torch.where(denominator == 0, 0, root.slope() / torch.where(denominator == 0, 1, denominator))
    if damping == 0:
        raise ValueError("with several outputs the damping eps_lm must be positive")
    scaled = gram / damping
    half = torch.diag_embed(root.root) if root.root.ndim == 2 else root.root
    system = half.mT @ scaled @ half + torch.eye(half.shape[1], dtype=half.dtype, device=half.device)
    right = root.y - root.apply_transposed((scaled @ root.rest[:, :, None])[:, :, 0])
    return (root.apply(_solve(system, right)) + root.rest) / damping


def solve_batch(gram: Tensor, root: Root, u: Tensor | None) -> Tensor:
    """z of the batch, b x C, from G = J M^-1 J^T and u = J M^-1 W w."""
    samples, outputs = root.y.shape
    system = root.times_rows(root.times_rows(gram).mT)
    system.diagonal().add_(1)
    moved = (gram @ root.rest.reshape(-1)).view(samples, outputs) if bool(root.rest.any()) else None
    right = root.y
    for term in (u, moved):
        if term is not None:
            right = right - root.apply_transposed(term)
    return root.apply(_solve(system, right.reshape(-1)).view(samples, outputs)) + root.rest


def _solve(system: Tensor, right: Tensor) -> Tensor:
    """By Cholesky, for one system or many."""
    factor, failed = torch.linalg.cholesky_ex(system)
    if bool(failed.any()):
        raise SingularSystem("the system of the step is singular to rounding; use a larger damping")
    return torch.cholesky_solve(right[..., None], factor)[..., 0]


def solve_parameters(matrix: Tensor, gradient: Tensor, damping: Tensor) -> Tensor:
    """d from J^T C J, the gradient J^T l + W w and the diagonal of M."""
    return -_solve(matrix + torch.diag(damping), gradient)


def largest_curvature(gram: Tensor, root: Root) -> Tensor:
    """The largest eigenvalue of J^T C J of each sample on its own, b."""
    half = torch.diag_embed(root.root) if root.root.ndim == 2 else root.root
    system = half.mT @ gram @ half
    return system.reshape(-1) if system.shape[1] == 1 else torch.linalg.eigvalsh(system)[:, -1]
