"""Callbacks that report the progress of writing fragments."""

from __future__ import annotations

import json
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.values.fragment_metadata import FragmentMetadata


@dataclass(frozen=True)
class IndexProgress:
    """An event while an index is built: the start, the progress or the end of a stage.

    ``completed`` and ``total`` are in ``unit``, and None if unknown. Each type of index has its
    own stages.
    """

    event: Literal["start", "progress", "complete"]
    stage: str
    completed: int | None = None
    total: int | None = None
    unit: str = ""

    @property
    def fraction(self) -> float | None:
        """The completed part of the stage, from 0 to 1; None if it is unknown."""
        if self.completed is None or not self.total:
            return None
        return min(self.completed / self.total, 1.0)


class FragmentWriteProgress(ABC):
    """Base class for callbacks at the begin and completion of each fragment."""

    @abstractmethod
    def begin(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Called when a data file is opened; ``fragment`` has its path, but no id or rows yet."""

    @abstractmethod
    def complete(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Called when a data file is written; ``fragment`` has its final row count and size."""


class NoopFragmentWriteProgress(FragmentWriteProgress):
    """Does nothing."""

    def begin(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Do nothing."""

    def complete(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Do nothing."""


class ProgressOfFragment(FragmentWriteProgress):
    """Reports to ``progress`` with the id that the fragment is going to have."""

    def __init__(self, progress: FragmentWriteProgress, fragment_id: int) -> None:
        self._progress = progress
        self._id = fragment_id

    def begin(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Pass it on with the id."""
        self._progress.begin(replace(fragment, id=self._id), **kwargs)

    def complete(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Pass it on with the id."""
        self._progress.complete(replace(fragment, id=self._id), **kwargs)


class FileSystemFragmentWriteProgress(FragmentWriteProgress):
    """Writes two files for each fragment to a folder: its metadata, and a mark while it is written.

    ``fragment_<id>.json`` has the fragment's metadata; ``fragment_<id>.in_progress`` exists until
    the fragment is complete and has ``metadata``, for example the name of the worker.
    """

    PROGRESS_EXT = ".in_progress"

    def __init__(self, base_uri: str, metadata: Mapping[str, str] | None = None) -> None:
        """``base_uri``: URI or absolute path of the folder, for a file system of pyarrow.

        Raises ``pyarrow.ArrowInvalid`` for other URIs.
        """
        from pyarrow.fs import FileSystem

        self._fs, self._folder = FileSystem.from_uri(base_uri)
        self._metadata = dict(metadata or {})

    def begin(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Write both files."""
        self._fs.create_dir(self._folder, recursive=True)
        mark = {"fragment_id": fragment.id, "metadata": self._metadata}
        self._write(self._path(fragment, self.PROGRESS_EXT), mark)
        self._write(self._path(fragment, ".json"), fragment.to_json())

    def complete(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Remove the file that marks the fragment as in progress."""
        self._fs.delete_file(self._path(fragment, self.PROGRESS_EXT))

    def _path(self, fragment: FragmentMetadata, ending: str) -> str:
        return posixpath.join(self._folder, f"fragment_{fragment.id}{ending}")

    def _write(self, path: str, content: object) -> None:
        with self._fs.open_output_stream(path) as file:
            file.write(json.dumps(content).encode())
