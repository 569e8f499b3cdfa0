"""Tables as map-style data sets: any rows, by their positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch.multiprocessing
import torch.utils.data

import lance_core


class SafeLanceDataset(torch.utils.data.Dataset):  # type: ignore[misc]  # torch may be missing
    """Rows as dictionaries. Each process opens the table itself, at its first row."""

    def __init__(
        self, uri: str, *, dataset_options: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """``dataset_options``: arguments of `lance_core.dataset`."""
        super().__init__(**kwargs)
        self.uri = uri
        self.dataset_options = dict(dataset_options or {})
        table = lance_core.dataset(uri, **self.dataset_options)
        self._len = table.count_rows()
        self._version = table.version
        self._ds: lance_core.LanceDataset | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the open table."""
        return {**self.__dict__, "_ds": None}

    def __len__(self) -> int:
        """The number of rows."""
        return self._len

    def __getitem__(self, idx: int) -> dict[str, Any]:
        """The row at a position, from 0."""
        return self.__getitems__([idx])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        """The rows at positions of the version that was opened first, by one read."""
        if self._ds is None:
            options = {"version": self._version, **self.dataset_options}
            self._ds = lance_core.dataset(self.uri, **options)
        rows: list[dict[str, Any]] = self._ds.take(list(indices)).to_pylist()
        return rows


def get_safe_loader(
    dataset: Any, batch_size: int = 32, num_workers: int = 4, **kwargs: Any
) -> torch.utils.data.DataLoader:
    """A `DataLoader` whose workers are spawned, and stay for the next pass."""
    arguments = {"persistent_workers": num_workers > 0, **kwargs}
    if num_workers:
        arguments.setdefault("multiprocessing_context", torch.multiprocessing.get_context("spawn"))
    return torch.utils.data.DataLoader(
        dataset, batch_size=batch_size, num_workers=num_workers, **arguments
    )


class TensorDataset(torch.utils.data.Dataset):  # type: ignore[misc]  # torch may be missing
    """The rows of a tensor in batches."""

    def __init__(self, data: torch.Tensor | np.ndarray[Any, Any], batch_size: int) -> None:
        """``data``: two dimensions, the first one being rows."""
        super().__init__()
        self._data = torch.from_numpy(data) if isinstance(data, np.ndarray) else data
        self._batch_size = batch_size

    def __repr__(self) -> str:
        """The name that pylance's has."""
        return "LanceTensorDataset"

    def __len__(self) -> int:
        """The number of batches."""
        return math.ceil(len(self._data) / self._batch_size)

    def __getitem__(self, idx: int) -> torch.Tensor:
        """A batch; raises ``IndexError`` after the last one."""
        if not 0 <= idx < len(self):
            raise IndexError(f"batch {idx} of {len(self)}")
        return self._data[idx * self._batch_size : (idx + 1) * self._batch_size]
