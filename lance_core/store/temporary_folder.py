"""`TemporaryFolder`: local files for rows that do not fit into a memory budget."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from lance_core.errors import InvalidInputError, StoreError


class TemporaryFolder:
    """A folder for the files of one operation; it is created at the first use."""

    def __init__(self, purpose: str) -> None:
        """``purpose``: a word for the name of the folder."""
        self._purpose = purpose
        self._stack = contextlib.ExitStack()
        self._path: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with its files."""
        self._path = None
        self._stack.close()

    def file(self, name: str) -> Path:
        """The path of a file in the folder. Raises `StoreError` if there can be no folder."""
        if self._path is None:
            with spill_errors():
                folder = tempfile.TemporaryDirectory(
                    prefix=f"lance-core-{self._purpose}-", ignore_cleanup_errors=True
                )
            self._path = Path(self._stack.enter_context(folder))
        return self._path / name


@contextlib.contextmanager
def spill_errors() -> Iterator[None]:
    """Raise errors of the temporary folder as `StoreError`."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            "the rows do not fit into the memory budget, and cannot be written to the "
            f"temporary folder {tempfile.gettempdir()}: {error}"
        ) from error


def memory_budget(variable: str, default: int) -> int:
    """The number of bytes in an environment variable, ``default`` if it is not set.

    Raises `InvalidInputError` if it is not a number.
    """
    text = os.environ.get(variable)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit():
        raise InvalidInputError(
            f"environment variable {variable} must be a number of bytes, but is {text!r}"
        )
    return int(text)
