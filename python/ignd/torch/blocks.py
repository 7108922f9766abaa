"""The sensitivities of a batch as a list of blocks, each in its cheapest form.

J has a row for each of b samples and C outputs and a column for each parameter. A block is what J has for one layer. It
never writes its rows out if the Gram matrix J J^T, the norms and the products with J can be had from the inputs of the
layer and the derivatives in its outputs alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from .errors import wide

Direction = dict[Parameter, Tensor]


class Block(ABC):
    """The columns of J that belong to some parameters of one group."""

    parameters: list[Parameter]
    samples: int
    outputs: int

    @abstractmethod
    def own_gram(self) -> Tensor:
        """b x C x C: the products of the rows of one sample."""

    @abstractmethod
    def gram(self, memory: int) -> Tensor:
        """bC x bC: the products of all rows. `memory` limits what is made on the way, in bytes."""

    @abstractmethod
    def combine(self, z: Tensor) -> Direction:
        """J^T z for z, b x C."""

    @abstractmethod
    def along(self, v: Direction) -> Tensor:
        """J v, b x C."""

    @abstractmethod
    def dense(self, part: slice) -> list[Tensor]:
        """sC x (size) for each parameter: the rows of some samples, written out."""

    @abstractmethod
    def joined(self, others: Sequence[Block]) -> Block:
        """This block and those of further samples as one."""


class OuterBlock(Block):
    """A dense layer or a convolution: each position p of a sample adds delta_p a_p^T to its sensitivity in the weight.

    a is b x L x n, the inputs at L positions (one for a dense layer of vectors, one per pixel for a convolution); delta
    is b x C x L x m, the derivatives of the outputs in what the layer computes there.
    """

    def __init__(self, weight: Parameter, bias: Parameter | None, a: Tensor, delta: Tensor) -> None:
        self.parameters = [weight] if bias is None else [weight, bias]
        self.samples, self.outputs = delta.shape[:2]
        self.has_bias = bias is not None
        self.a, self.delta = a, delta
        self._rows: Tensor | None = None

    def own_gram(self) -> Tensor:
        b, c, positions, m = self.delta.shape
        n = self.a.shape[2]
        if positions == 1:
            d = self.delta[:, :, 0]
            of_inputs = self.a.square().sum((1, 2)) + self.has_bias
            if c == 1:
                return (d.square().sum(2) * of_inputs[:, None])[:, :, None]
            return (d @ d.mT) * of_inputs[:, None, None]
        if positions * (c * c * m + n) < c * m * n:
            d = self.delta.reshape(b, c * positions, m)
            of_inputs = self.a @ self.a.mT + self.has_bias
            pairs = (d @ d.mT).view(b, c, positions, c, positions) * of_inputs[:, None, :, None, :]
            return pairs.sum((2, 4))
        own = own_products(self._written_out())
        return own + own_products(self._summed()) if self.has_bias else own

    def gram(self, memory: int) -> Tensor:
        b, c, positions, m = self.delta.shape
        n, size = self.a.shape[2], self.a.element_size()
        if positions == 1:
            return self._products(slice(None), slice(None)).reshape(b * c, b * c)
        if b * positions * positions * (c * c * m + n) <= c * m * n * (positions + b * c):
            return tiled(self._products, self.delta, pair_side(self.delta, memory))
        return tiled(self._written_products, self.delta, max(1, memory // (2 * c * m * n * size)))

    def _products(self, first: slice, second: slice) -> Tensor:
        _, c, positions, m = self.delta.shape
        n = self.a.shape[2]
        deltas = self.delta[first].reshape(-1, m) @ self.delta[second].reshape(-1, m).mT
        inputs = self.a[first].reshape(-1, n) @ self.a[second].reshape(-1, n).mT + self.has_bias
        return sum_pairs(deltas, inputs, c, positions)

    def _written_products(self, first: slice, second: slice) -> Tensor:
        c, m = self.delta.shape[1], self.delta.shape[3]
        products = self._written_out_of(first) @ self._written_out_of(second).mT
        if self.has_bias:
            products += self._summed()[first].reshape(-1, m) @ self._summed()[second].reshape(-1, m).mT
        return products.view(products.shape[0] // c, c, -1, c)

    def combine(self, z: Tensor) -> Direction:
        weight = self.parameters[0]
        if self._rows is not None:
            found = {weight: (z.reshape(-1) @ self._rows.view(z.numel(), -1)).view_as(weight)}
            if self.has_bias:
                found[self.parameters[1]] = z.reshape(-1) @ self._summed().flatten(0, 1)
            return found
        one = self.outputs == 1
        weighted = self.delta[:, 0] * z[:, :, None] if one else torch.einsum("bclm,bc->blm", self.delta, z)
        weighted = weighted.flatten(0, 1)
        found = {weight: (weighted.mT @ self.a.flatten(0, 1)).view_as(weight)}
        if self.has_bias:
            found[self.parameters[1]] = weighted.sum(0)
        return found

    def along(self, v: Direction) -> Tensor:
        moved = self.a @ v[self.parameters[0]].flatten(1).mT
        if self.has_bias:
            moved = moved + v[self.parameters[1]]
        return torch.einsum("bclm,blm->bc", self.delta, moved)

    def dense(self, part: slice) -> list[Tensor]:
        found = [self._written_out_of(part)]
        if self.has_bias:
            found.append(self._summed()[part].flatten(0, 1))
        return found

    def joined(self, others: Sequence[Block]) -> Block:
        parts = [self, *(other for other in others if isinstance(other, OuterBlock))]
        a, delta = torch.cat([part.a for part in parts]), torch.cat([part.delta for part in parts])
        return OuterBlock(self.parameters[0], self.parameters[1] if self.has_bias else None, a, delta)

    def _written_out(self) -> Tensor:
        """b x C x (m n), kept for the next call."""
        if self._rows is None:
            self._rows = self._written_out_of(slice(None)).view(self.samples, self.outputs, -1)
        return self._rows

    def _written_out_of(self, part: slice) -> Tensor:
        """The rows of some samples, with n m columns."""
        delta = self.delta[part].mT
        s, c, m, positions = delta.shape
        return (delta.reshape(s, c * m, positions) @ self.a[part]).view(s * c, -1)

    def _summed(self) -> Tensor:
        """b x C x m: the rows of the bias."""
        return self.delta.sum(2)


class RowsBlock(Block):
    """A parameter whose rows are written out: a bias alone, or what torch.func differentiates."""

    def __init__(self, parameter: Parameter, rows: Tensor) -> None:
        self.parameters = [parameter]
        self.samples, self.outputs = rows.shape[:2]
        self.rows = rows.reshape(self.samples, self.outputs, -1)

    def own_gram(self) -> Tensor:
        return own_products(self.rows)

    def gram(self, memory: int) -> Tensor:
        rows = self.rows.flatten(0, 1)
        return rows @ rows.mT

    def combine(self, z: Tensor) -> Direction:
        parameter = self.parameters[0]
        return {parameter: (z.reshape(1, -1) @ self.rows.flatten(0, 1)).view_as(parameter)}

    def along(self, v: Direction) -> Tensor:
        return self.rows @ v[self.parameters[0]].flatten()

    def dense(self, part: slice) -> list[Tensor]:
        return [self.rows[part].flatten(0, 1)]

    def joined(self, others: Sequence[Block]) -> Block:
        parts = [self, *(other for other in others if isinstance(other, RowsBlock))]
        return RowsBlock(self.parameters[0], torch.cat([part.rows for part in parts]))


class EmbeddingBlock(Block):
    """The rows of a table: position p of a sample adds delta_p to the row that its index names.

    index is b x L; delta is b x C x L x m.
    """

    def __init__(self, table: Parameter, index: Tensor, delta: Tensor) -> None:
        self.parameters = [table]
        self.samples, self.outputs = delta.shape[:2]
        self.index, self.delta = index, delta

    def own_gram(self) -> Tensor:
        b, c, positions, m = self.delta.shape
        same = self.index[:, :, None] == self.index[:, None, :]
        d = self.delta.reshape(b, c * positions, m)
        pairs = (d @ d.mT).view(b, c, positions, c, positions) * same[:, None, :, None, :]
        return pairs.sum((2, 4))

    def gram(self, memory: int) -> Tensor:
        return tiled(self._products, self.delta, pair_side(self.delta, memory))

    def _products(self, first: slice, second: slice) -> Tensor:
        _, c, positions, m = self.delta.shape
        deltas = self.delta[first].reshape(-1, m) @ self.delta[second].reshape(-1, m).mT
        same = self.index[first].reshape(-1)[:, None] == self.index[second].reshape(-1)
        return sum_pairs(deltas, same, c, positions)

    def combine(self, z: Tensor) -> Direction:
        """A sparse tensor: rows that no sample has stay untouched."""
        table = self.parameters[0]
        values = torch.einsum("bclm,bc->blm", self.delta, z).flatten(0, 1)
        index = self.index.reshape(1, -1)
        return {table: torch.sparse_coo_tensor(index, values, table.shape, check_invariants=False)}

    def along(self, v: Direction) -> Tensor:
        return torch.einsum("bclm,blm->bc", self.delta, v[self.parameters[0]][self.index])

    def dense(self, part: slice) -> list[Tensor]:
        delta = self.delta[part]
        found = delta.new_zeros(*delta.shape[:2], *self.parameters[0].shape)
        index = self.index[part, None, :, None].expand_as(delta)
        return [found.scatter_add_(2, index, delta).flatten(0, 1).flatten(1)]

    def joined(self, others: Sequence[Block]) -> Block:
        parts = [self, *(other for other in others if isinstance(other, EmbeddingBlock))]
        index, delta = torch.cat([part.index for part in parts]), torch.cat([part.delta for part in parts])
        return EmbeddingBlock(self.parameters[0], index, delta)


class Jacobian:
    """J of a batch: the blocks of all parameters that the outputs depend on."""

    def __init__(self, blocks: list[Block], samples: int, outputs: int) -> None:
        self.blocks, self.samples, self.outputs = blocks, samples, outputs

    @staticmethod
    def joined(parts: Sequence[Jacobian]) -> Jacobian:
        """J of several batches, one below the other."""
        first, others = parts[0], parts[1:]
        if not others:
            return first
        blocks = [block.joined([other.blocks[i] for other in others]) for i, block in enumerate(first.blocks)]
        return Jacobian(blocks, sum(part.samples for part in parts), first.outputs)

    def own_gram(self, like: Tensor) -> Tensor:
        """b x C x C."""
        total = like.new_zeros(self.samples, self.outputs, self.outputs)
        for block in self.blocks:
            total += block.own_gram()
        return total

    def gram(self, parameters: set[Parameter], like: Tensor, memory: int) -> Tensor:
        """bC x bC, of the columns of these parameters."""
        rows = self.samples * self.outputs
        total = like.new_zeros(rows, rows)
        for block in self.blocks:
            if block.parameters[0] in parameters:
                total += block.gram(memory)
        return total

    def combine(self, z: Tensor) -> Direction:
        """J^T z. A parameter that no output depends on is left out."""
        found: Direction = {}
        for block in self.blocks:
            found.update(block.combine(z))
        return found

    def along(self, v: Direction) -> Tensor:
        """J v, b x C; parameters that v leaves out do not move."""
        moved = [block.along(v) for block in self.blocks if block.parameters[0] in v]
        return torch.stack(moved).sum(0) if moved else torch.zeros(())

    def dense(self, parameters: Sequence[Parameter], part: slice = slice(None)) -> Tensor:
        """The rows of some samples, written out in double precision, with the columns in the order of these parameters."""
        found: dict[Parameter, Tensor] = {}
        for block in self.blocks:
            found.update(zip(block.parameters, block.dense(part), strict=True))
        like = next(iter(found.values()))
        return torch.cat([wide(found.get(p, like.new_zeros(len(like), p.numel()))) for p in parameters], 1)


def own_products(rows: Tensor) -> Tensor:
    """b x C x C, from b x C x ... rows."""
    flat = rows.flatten(2)
    return flat.square().sum(2)[:, :, None] if flat.shape[1] == 1 else flat @ flat.mT


def sum_pairs(deltas: Tensor, factors: Tensor, outputs: int, positions: int) -> Tensor:
    """Sums deltas times factors over all pairs of positions: s x C x s' x C, from sCL x s'CL and sL x s'L."""
    one, two = (size // (outputs * positions) for size in deltas.shape)
    pairs = deltas.view(one, outputs, positions, two, outputs, positions)
    pairs = pairs * factors.view(one, 1, positions, two, 1, positions)
    return pairs.view(one, outputs, two, outputs) if positions == 1 else pairs.sum((2, 5))


def pair_side(delta: Tensor, memory: int) -> int:
    """How many samples can be paired with as many others, position by position."""
    per_pair = 3 * (delta.shape[1] * delta.shape[2]) ** 2 * delta.element_size()
    return max(1, int((memory / per_pair) ** 0.5))


def tiled(products: Callable[[slice, slice], Tensor], delta: Tensor, side: int) -> Tensor:
    """The Gram matrix bC x bC, tile by tile, each of a limited number of samples; the lower triangle mirrors the upper one."""
    b, c = delta.shape[:2]
    gram = delta.new_empty(b, c, b, c)
    for first in slices(b, side):
        for second in slices(b, side):
            if first.start <= second.start:
                gram[first, :, second] = products(first, second)
            else:
                gram[first, :, second] = gram[second, :, first].permute(2, 3, 0, 1)
    return gram.view(b * c, b * c)


def slices(size: int, step: int) -> Iterator[slice]:
    """0 ... size, cut into pieces of at most `step`."""
    for first in range(0, size, step):
        yield slice(first, min(size, first + step))
