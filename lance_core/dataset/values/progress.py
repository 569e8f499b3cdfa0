"""Callbacks that report the progress of writing fragments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lance_core.dataset.values.fragment_metadata import FragmentMetadata


class FragmentWriteProgress(ABC):
    """Base class for callbacks at the begin and completion of each fragment."""

    @abstractmethod
    def begin(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Called when a data file is opened; ``fragment`` has no id, files or rows yet."""

    @abstractmethod
    def complete(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Called when a data file is written; ``fragment`` has its final row count and size."""


class NoopFragmentWriteProgress(FragmentWriteProgress):
    """Does nothing."""

    def begin(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Do nothing."""

    def complete(self, fragment: FragmentMetadata, **kwargs: Any) -> None:
        """Do nothing."""
