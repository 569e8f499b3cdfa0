"""Samplers: which rows of a table a process reads, and in which order.

They need no PyTorch. Names, arguments and orders are those of pylance's ``lance.sampler``.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import pyarrow as pa

from lance_core import LanceDataset, LanceFragment
from lance_core.errors import InvalidInputError

Columns = Sequence[str] | dict[str, str]
"""Names of columns, or expressions by name."""


class Sampler(ABC):
    """Yields the batches of a table that this process is to have."""

    @abstractmethod
    def __call__(
        self,
        dataset: LanceDataset,
        *args: Any,
        batch_size: int = 128,
        columns: Columns | None = None,
        filter: str | None = None,
        batch_readahead: int = 16,
        with_row_id: bool = False,
        **kwargs: Any,
    ) -> Iterable[pa.RecordBatch]:
        """Batches of at most ``batch_size`` rows."""


class FragmentSampler(Sampler):
    """Reads fragments in the order of `iter_fragments`, which a subclass defines."""

    def __call__(  # noqa: PLR0913 - those of pylance, and where to begin
        self,
        dataset: LanceDataset,
        *args: Any,
        batch_size: int = 128,
        columns: Columns | None = None,
        filter: str | None = None,
        batch_readahead: int = 16,
        with_row_id: bool = False,
        offset: int = 0,
        **kwargs: Any,
    ) -> Iterable[pa.RecordBatch]:
        """The rows of the fragments, without the first ``offset``."""
        fragments = list(self.iter_fragments(dataset, *args, **kwargs))
        if not fragments:
            return
        yield from dataset.scanner(
            batch_size=batch_size,
            columns=columns,
            filter=filter,
            with_row_id=with_row_id,
            batch_readahead=batch_readahead,
            fragments=fragments,
            offset=offset or None,
        ).to_batches()

    @abstractmethod
    def iter_fragments(
        self, dataset: LanceDataset, *args: Any, **kwargs: Any
    ) -> Iterable[LanceFragment]:
        """The fragments that this process reads, in their order."""


class FullScanSampler(FragmentSampler):
    """Reads all fragments, as a scan does."""

    def iter_fragments(
        self, dataset: LanceDataset, *args: Any, **kwargs: Any
    ) -> Iterable[LanceFragment]:
        """All fragments."""
        return dataset.get_fragments()


class Shard:
    """One of ``world_size`` shares of a table, and the seed of its order in an epoch."""

    def __init__(self, rank: int, world_size: int, randomize: bool = False, seed: int = 0) -> None:
        """``rank`` counts from 0. Raises `InvalidInputError` if it is not below ``world_size``."""
        if not 0 <= rank < world_size:
            raise InvalidInputError(f"rank {rank} is not one of 0 to {world_size - 1} (world_size)")
        self._rank = rank
        self._world_size = world_size
        self._randomize = randomize
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Read in another random order, the same one in all processes, from the next pass on."""
        self._epoch = epoch

    @classmethod
    def from_torch(cls, randomize: bool = False, seed: int = 0) -> Self:
        """The share of this process of `torch.distributed`, which must be initialized."""
        import torch.distributed

        rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        return cls(rank, world_size, randomize=randomize, seed=seed)

    def _random(self) -> random.Random:
        return random.Random(self._seed + self._epoch)  # noqa: S311 - an order, no secret


class ShardedFragmentSampler(Shard, FragmentSampler):
    """Reads the fragments ``rank``, ``rank + world_size`` and so on, optionally in random order.

    The way that reads least where a table has many fragments of about one size.
    """

    def iter_fragments(
        self, dataset: LanceDataset, *args: Any, **kwargs: Any
    ) -> Iterator[LanceFragment]:
        """Every ``world_size``-th fragment."""
        fragments = list(dataset.get_fragments())
        if self._randomize:
            self._random().shuffle(fragments)
        yield from fragments[self._rank :: self._world_size]
