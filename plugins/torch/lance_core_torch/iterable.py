"""Tables as iterable data sets of PyTorch: each process reads its share, in batches."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import torch.utils.data

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_torch.batch_samplers import ShardedBatchSampler
from lance_core_torch.batches import joined
from lance_core_torch.disk_cache import DiskCache
from lance_core_torch.ranks import rank_and_world_size
from lance_core_torch.samplers import (
    FragmentSampler,
    FullScanSampler,
    Sampler,
    ShardedFragmentSampler,
)
from lance_core_torch.sampling import maybe_sample
from lance_core_torch.tensors import HuggingFaceConverter, to_tensors

_BLOB, _BLOB_V2 = b"lance-encoding:blob", "lance.blob.v2"


class LanceDataset(torch.utils.data.IterableDataset):  # type: ignore[misc]  # torch may be missing
    """Yields the batches of a table as tensors, each process its share of the rows.

    Processes are those of `torch.distributed` and the workers of a `DataLoader`, which may be
    forked or spawned; give that ``batch_size=None``, since batches are made here. A pass can go
    on where one has stopped: `state_dict` and `load_state_dict`.
    """

    def __init__(  # noqa: PLR0913 - the arguments are pylance's
        self,
        dataset: lance_core.LanceDataset | str | Path,
        batch_size: int,
        *args: Any,
        dataset_options: Mapping[str, Any] | None = None,
        columns: Sequence[str] | dict[str, str] | None = None,
        filter: str | None = None,
        samples: int | None = 0,
        cache: str | bool | None = None,
        with_row_id: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        shard_granularity: Literal["fragment", "batch"] | None = None,
        batch_readahead: int = 16,
        to_tensor_fn: Callable[..., Any] | None = to_tensors,
        sampler: Sampler | None = None,
        auto_detect_rank: bool = True,
        **kwargs: Any,
    ) -> None:
        """Read ``columns`` of the rows that pass ``filter``, ``batch_size`` at a time.

        ``dataset``: a table, or its location, opened with ``dataset_options``. ``samples``: so
        many random rows instead of all. ``cache``: keep the batches of the first pass in a
        temporary file, in this folder if it is a path. ``sampler``: which rows this process reads,
        instead of every ``world_size``-th ``shard_granularity``. ``to_tensor_fn(batch,
        hf_converter=..., use_blob_api=...)`` makes what is yielded of a `pyarrow.RecordBatch`, or
        of a dictionary of arrays and lists of `BlobFile`; None: yield batches as they are.
        ``rank`` and ``world_size``: instead of those of the process; deprecated, as in pylance.

        Raises `InvalidInputError` for another granularity or a batch size below 1.
        """
        super().__init__()
        if batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, not {batch_size}")
        if shard_granularity not in (None, "fragment", "batch"):
            raise InvalidInputError(
                f'shard_granularity is "fragment" or "batch", not {shard_granularity!r}'
            )
        if rank is not None and world_size is not None:
            warnings.warn("rank and world_size are deprecated", DeprecationWarning, stacklevel=2)
        if isinstance(dataset, str | Path):
            dataset = lance_core.dataset(dataset, **(dataset_options or {}))
        self.dataset = dataset
        self.columns = columns
        self.batch_size = batch_size
        self.samples = samples
        self.filter = filter
        self.batch_readahead = batch_readahead
        self.shard_granularity = shard_granularity
        self.rank, self.world_size = rank, world_size
        self.sampler = sampler
        self.cache = cache
        self._auto_detect_rank = auto_detect_rank
        self._to_tensor_fn = to_tensor_fn
        self._blobs = [name for name in self._names() if _is_blob(dataset.schema.field(name))]
        self.with_row_id = with_row_id or bool(self._blobs)
        metadata = (dataset.schema.metadata or {}).get(b"huggingface")
        self._hf_converter = metadata and HuggingFaceConverter(json.loads(metadata))
        self._disk_cache: DiskCache | None = None
        self._position = {"batches": 0, "rows": 0}
        self._start = {"batches": 0, "rows": 0}

    def __repr__(self) -> str:
        """The location of the table, without secrets."""
        return f"LanceTorchDataset({self.dataset!r}, size={self.samples})"

    def _names(self) -> list[str]:
        if isinstance(self.columns, dict):
            return [name for name in self.columns if name in self.dataset.schema.names]
        return list(self.columns or self.dataset.schema.names)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the columns that are read."""
        return self.dataset.scanner(self.columns).projected_schema

    def state_dict(self) -> dict[str, int]:
        """How many batches and rows of this pass this process has yielded."""
        return dict(self._position)

    def load_state_dict(self, state_dict: Mapping[str, int]) -> None:
        """Let the next pass begin after the batches of `state_dict` of the same data set."""
        self._start = {"batches": state_dict["batches"], "rows": state_dict["rows"]}

    def __iter__(self) -> Iterator[Any]:
        """The batches of the share of this process."""
        start, self._start = self._start, {"batches": 0, "rows": 0}
        self._position = dict(start)
        for batch in self._cached(start):
            self._position["batches"] += 1
            self._position["rows"] += batch.num_rows
            yield self._output(batch)
        self._position = {"batches": 0, "rows": 0}

    def _output(self, batch: pa.RecordBatch) -> Any:
        columns: Any = batch
        if self._blobs:
            ids = batch.column("_rowid").to_pylist()
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in self._blobs:
                columns[name] = self.dataset.take_blobs(blob_column=name, ids=ids)
        if self._to_tensor_fn is None:
            return columns
        return self._to_tensor_fn(
            columns, hf_converter=self._hf_converter, use_blob_api=bool(self._blobs)
        )

    def _cached(self, start: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
        if not self.cache:
            return self._batches(start)
        if self._disk_cache is None:
            self._disk_cache = DiskCache(self.cache if self.cache is not True else None)
        cache = self._disk_cache
        whole = self._batches({"batches": 0, "rows": 0})
        batches = cache.batches() if cache.is_whole else cache.kept(whole)
        return itertools.islice(batches, start["batches"], None)

    def _batches(self, start: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
        """The batches of this process, without those before ``start``."""
        columns: Any = self.columns or self.dataset.schema.names
        if self._blobs:
            columns = [name for name in self._names() if name not in self._blobs]
        if self.samples:
            rows = maybe_sample(
                self.dataset, self.samples, columns, self.batch_size, filt=self.filter
            )
            return itertools.islice(joined(rows, self.batch_size), start["batches"], None)
        sampler = self.sampler or self._default_sampler()
        can_seek = isinstance(sampler, FragmentSampler)
        batches = sampler(
            self.dataset,
            columns=columns,
            filter=self.filter,
            batch_size=self.batch_size,
            with_row_id=self.with_row_id,
            batch_readahead=self.batch_readahead,
            **({"offset": start["rows"]} if can_seek and start["rows"] else {}),
        )
        skipped = 0 if can_seek else start["batches"]
        return itertools.islice(joined(batches, self.batch_size), skipped, None)

    def _default_sampler(self) -> Sampler:
        rank, world_size = rank_and_world_size() if self._auto_detect_rank else (0, 1)
        rank = rank if self.rank is None else self.rank
        world_size = world_size if self.world_size is None else self.world_size
        if self.shard_granularity == "batch":
            return ShardedBatchSampler(rank, world_size)
        if world_size == 1:
            return FullScanSampler()
        return ShardedFragmentSampler(rank, world_size)


def _is_blob(field: pa.Field) -> bool:
    marked = field.type == pa.large_binary() and (field.metadata or {}).get(_BLOB) == b"true"
    return marked or getattr(field.type, "extension_name", "") == _BLOB_V2
