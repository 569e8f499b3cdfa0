"""All exceptions that this project raises.

::

    LanceError
    ├── InvalidInputError (ValueError)          the caller's argument cannot be used
    │   ├── InvalidExpressionError (OSError)    SQL or an Arrow expression that is not valid
    │   ├── InvalidTypeError (TypeError)        an argument of the wrong Python type
    │   ├── SchemaMismatchError (OSError)       data does not fit the table's schema
    │   ├── MergeError (OSError)                rows of a merge match rows that they must not match
    │   ├── UserFunctionError (OSError)         the caller's function raised, or its result is wrong
    │   ├── CompactionError (OSError)           options of a compaction that do not fit the table
    │   ├── ColumnNotFoundError (KeyError)      no column at the path that an index is for
    │   ├── IndexNameError (RuntimeError)       the name of a new index is taken or reserved
    │   ├── InvalidPathError                    a path that is absolute, empty or leaves its root
    │   └── InvalidRefError (OSError)           an invalid name of a tag or branch
    ├── NotFoundError (FileNotFoundError)
    │   ├── ObjectNotFoundError                 no object at a path of a store
    │   ├── DatasetNotFoundError (ValueError)   no table, or no such version, at a URI
    │   ├── RefNotFoundError (ValueError)       no tag or branch with this name
    │   └── IndexNotFoundError (RuntimeError, KeyError)  no index or segment with this name
    ├── ExistsError (FileExistsError)
    │   ├── ObjectExistsError                   a conditional write was definitely not applied
    │   └── DatasetExistsError                  ``mode="create"`` on an existing table
    ├── RefConflictError (ValueError, OSError)  a tag or branch exists, or is still in use
    ├── BasePathRefusedError (PermissionError)  a table has files outside of itself, not allowed
    ├── CorruptFileError (ValueError, OSError)  stored bytes contradict the format
    ├── CleanupError (OSError)                  tagged versions block a cleanup; none was removed
    ├── UnsupportedFeatureError (NotImplementedError)
    │   └── ResultTooLargeError (MemoryError)   rows that do not fit into memory or an Arrow array
    ├── PluginError
    │   ├── PluginNotFoundError (ImportError)   no plugin provides a key; names what to install
    │   ├── PluginConflictError                 two plugins provide one key
    │   └── PluginLoadError                     a plugin fails to load or is malformed
    ├── StoreError (OSError)                    a store call failed
    │   └── OutcomeUnknownError                 a write may or may not have been applied
    └── CommitError (OSError)
        ├── CommitConflictError                 definitely not applied: a conflicting commit exists
        │   ├── AlreadyCommittedError           a version has the same change by another transaction
        │   └── RetryableCommitConflictError    repeating the operation on the new version may work
        ├── CommitFileMissingError (FileNotFoundError)  a file of the new version does not exist
        ├── CommitLockError                     the commit lock was not acquired; nothing was sent
        ├── CommitUnknownError                  the commit may or may not have been applied
        └── NoSafeCommitHandlerError            the store guarantees too little to commit

All classes can be pickled with their attributes.
"""

from __future__ import annotations

import sys
import warnings
from typing import Self

_PACKAGE = "lance_core"

_CONTROLS = (
    *(code for code in range(0x20) if chr(code) not in "\n\t"),
    *range(0x7F, 0xA0),
    *(0x61C, 0x200E, 0x200F, 0x2028, 0x2029),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
_ESCAPES = {code: ascii(chr(code))[1:-1] for code in _CONTROLS}


def printable(text: str) -> str:
    """``text`` with escapes for characters that a terminal obeys: names of a table may have them.

    These are control characters but for line breaks and tabs, and those that turn the direction of
    text.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


def one_line(text: str) -> str:
    """`printable` without line breaks and tabs."""
    return printable(text).translate({9: "\\t", 10: "\\n"})


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that is attributed to the first caller outside of this package."""
    level, frame = 2, sys._getframe(1)  # noqa: SLF001  # `inspect` reads source files for this
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _placed(reason: str, path: str, offset: int | None, field: str) -> str:
    """``reason`` after the file, the offset and the field that are known."""
    where = [f"file {path!r}"] if path else []
    where += [f"offset {offset}"] if offset is not None else []
    where += [f"field {field!r}"] if field else []
    return f"{', '.join(where)}: {reason}" if where else reason


class LanceError(Exception):
    """Base class of all errors of this project."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return printable(self.message)


class InvalidInputError(LanceError, ValueError):
    """An argument of the caller is invalid; nothing was written."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument has the wrong Python type."""


class InvalidExpressionError(InvalidInputError, OSError):
    """A filter or computed column has a syntax error, an unknown column or a wrong type."""


class SchemaMismatchError(InvalidInputError, OSError):
    """The data's schema does not fit the table's schema."""


class MergeError(InvalidInputError, OSError):
    """A merge is ambiguous, matches rows that must not match, or has an invalid condition."""


class UserFunctionError(InvalidInputError, OSError):
    """A function of the caller raised an error (the cause), or returned wrong rows."""


class CompactionError(InvalidInputError, OSError):
    """Options of a compaction that do not fit the table or its files; nothing was written."""


class ColumnNotFoundError(InvalidInputError, KeyError):
    """The table has no column at the path that was given for an index."""


class IndexNameError(InvalidInputError, RuntimeError):
    """The name of a new index is reserved, or another index has it; nothing was written."""


class InvalidPathError(InvalidInputError):
    """A path is empty, absolute, or leaves the root that it is relative to."""


class InvalidRefError(InvalidInputError, OSError):
    """A name is not valid for a tag or a branch."""


class NotFoundError(LanceError, FileNotFoundError):
    """A requested object, table, version, tag or branch does not exist."""


class ObjectNotFoundError(NotFoundError):
    """A store has no object at ``path``."""

    def __init__(self, path: str, where: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.where = where
        self.message = f"no object at {path!r}" + (f" in {where}" if where else "")


class DatasetNotFoundError(NotFoundError, ValueError):
    """A URI has no table, or the table does not have the requested version."""


class RefNotFoundError(NotFoundError, ValueError):
    """The table has no tag or branch with the requested name."""


class IndexNotFoundError(NotFoundError, RuntimeError, KeyError):
    """The table has no index with the requested name, or the index has no such segment."""


class RowNotFoundError(NotFoundError, LookupError):
    """The table has no row with the id or address that was given, or it is deleted."""


class RowNotMatchedError(LanceError, LookupError):
    """A row does not match the query for which its score is to be explained."""


class ExistsError(LanceError, FileExistsError):
    """An object or table already exists."""


class ObjectExistsError(ExistsError):
    """A write in create mode found an object at ``path``; it was definitely not applied."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
        self.message = f"an object already exists at {path!r}"


class DatasetExistsError(ExistsError):
    """A table already exists at the URI of a new table."""


class RefConflictError(LanceError, ValueError, OSError):
    """A tag or branch with this name already exists, or another ref still refers to it."""


class BasePathRefusedError(LanceError, PermissionError):
    """A table refers to files at ``base_path``, outside of its root, without the caller's consent.

    No request and no credentials were sent there. The message names the option that allows it.
    """

    def __init__(self, message: str, base_path: str = "") -> None:
        super().__init__(message)
        self.base_path = base_path


class CorruptFileError(LanceError, ValueError, OSError):
    """Stored bytes contradict the format.

    ``path``: of the file ("" if unknown). ``offset``: in bytes from its start (None if unknown).
    ``field``: a dotted field path or a message field ("" if unknown).
    """

    def __init__(
        self,
        reason: str,
        path: str = "",
        offset: int | None = None,
        field: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        self.offset = offset
        self.field = field
        self.message = _placed(reason, path, offset, field)
        self.add_note("lance-core verify TABLE (extra cli) says what is damaged")

    def at(self, path: str = "", offset: int | None = None, field: str = "") -> CorruptFileError:
        """A copy of this error; the arguments fill in attributes that are not set yet."""
        return CorruptFileError(
            self.reason,
            self.path or path,
            self.offset if self.offset is not None else offset,
            self.field or field,
        )


class CleanupError(LanceError, OSError):
    """Tags protect versions that a cleanup should remove; nothing was removed."""


class UnsupportedFeatureError(LanceError, NotImplementedError):
    """This version of the library does not implement a feature of the format or the API."""


class ResultTooLargeError(UnsupportedFeatureError, MemoryError):
    """The requested rows do not fit into memory or an Arrow array; request fewer rows."""


class PluginError(LanceError):
    """Base class of errors about plugins.

    ``path`` is the path of the data file, ``field`` the dotted path of the field, in or for which
    the plugin was called; "" if unknown.
    """

    def __init__(self, reason: str, path: str = "", field: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        self.field = field
        self.message = _placed(reason, path, None, field)

    def at(self, path: str = "", field: str = "") -> Self:
        """A copy of this error; the arguments fill in attributes that are not set yet."""
        return type(self)(self.reason, self.path or path, self.field or field)


class PluginNotFoundError(PluginError, ImportError):  # type: ignore[misc]  # `path` is a text
    """No plugin provides the key; the message lists known keys and the package to install."""


class PluginConflictError(PluginError):
    """Two plugins provide the same key; the message names both."""


class PluginLoadError(PluginError):
    """A plugin failed to load or returned a malformed descriptor."""


class StoreError(LanceError, OSError):
    """A call to a store failed; a write was definitely not applied."""


class OutcomeUnknownError(StoreError):
    """A write was sent and may or may not have been applied (lost response, timeout)."""


class CommitError(LanceError, OSError):
    """Base class of errors of a commit."""


class CommitConflictError(CommitError):
    """The commit was definitely not applied: an earlier commit is incompatible with it.

    A commit lock raises it if another writer holds the lock. ``retryable`` is True if repeating the
    whole operation on the newest version may succeed; the default depends on the class.
    """

    def __init__(self, message: str = "", retryable: bool | None = None) -> None:
        super().__init__(message)
        self.retryable = self._is_retryable if retryable is None else retryable

    _is_retryable = False


class RetryableCommitConflictError(CommitConflictError):
    """Not applied; repeating the whole operation on the newest version may succeed."""

    _is_retryable = True


class AlreadyCommittedError(CommitConflictError):
    """Not applied, because ``version`` contains the same change by another transaction."""

    def __init__(self, message: str = "", version: int = 0) -> None:
        super().__init__(message)
        self.version = version


class CommitFileMissingError(CommitError, FileNotFoundError):
    """A file of the new version does not exist or was replaced; nothing was committed.

    ``path`` is relative to the table's root.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class CommitLockError(CommitError):
    """The commit lock could not be acquired, without a conflict; nothing was sent."""


class CommitUnknownError(CommitError):
    """The commit may or may not have been applied; its files must be kept.

    The commit was applied if and only if the manifest of ``version`` or of a later version has the
    transaction ``transaction_uuid``. `lance_core.commit.resolve` checks this; committing the same
    transaction again is also safe. ``stalled`` is True if the manifest was written so late that
    other versions may have been committed without it. ``table`` is the table's URI, "" if the
    commit was not made through a dataset.
    """

    def __init__(
        self, message: str, transaction_uuid: str = "", version: int = 0, stalled: bool = False
    ) -> None:
        super().__init__(message)
        self.transaction_uuid = transaction_uuid
        self.version = version
        self.stalled = stalled
        self.table = ""


class NoSafeCommitHandlerError(CommitError):
    """The store does not meet the requirements of any commit handler; reading still works."""


class IndexWarning(UserWarning):
    """An index cannot be used; the query reads the table instead."""
