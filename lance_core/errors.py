"""Every exception that this project raises.

::

    LanceError
    ├── InvalidInputError (ValueError)          the caller's argument cannot be used
    │   ├── SchemaMismatchError (OSError)       data does not fit the table's schema
    │   ├── InvalidPathError                    a path that is absolute, empty or leaves its root
    │   └── InvalidRefError (OSError)           what cannot be the name of a tag or branch
    ├── NotFoundError (FileNotFoundError)
    │   ├── ObjectNotFoundError                 no object at a path of a store
    │   ├── DatasetNotFoundError (ValueError)   no table, or no such version, at a URI
    │   └── RefNotFoundError (ValueError)       no tag or branch of that name
    ├── ExistsError (FileExistsError)
    │   ├── ObjectExistsError                   a conditional write was definitely not applied
    │   └── DatasetExistsError                  ``mode="create"`` on an existing table
    ├── RefConflictError (ValueError, OSError)  a tag or branch exists, or is still referred to
    ├── BasePathRefusedError (PermissionError)  a table names files elsewhere that nobody allowed
    ├── CorruptFileError (ValueError, OSError)  stored bytes contradict the format
    ├── CleanupError (OSError)                  versions to remove have tags; nothing was removed
    ├── UnsupportedFeatureError (NotImplementedError)
    │   └── ResultTooLargeError (MemoryError)   more rows at once than memory or Arrow can hold
    ├── PluginError
    │   ├── PluginNotFoundError (ImportError)   no provider for a key, with the remedy
    │   ├── PluginConflictError                 two providers of one key
    │   └── PluginLoadError                     a provider that fails to load or is malformed
    ├── StoreError (OSError)                    a store call failed
    │   └── OutcomeUnknownError                 a write may or may not have been applied
    └── CommitError (OSError)
        ├── CommitConflictError                 definitely not applied, another commit is in the way
        │   └── RetryableCommitConflictError    repeating the operation on the new version may work
        ├── CommitFileMissingError (FileNotFoundError)  a file of the new version is gone
        ├── CommitLockError                     the commit lock could not be taken; nothing was sent
        ├── CommitUnknownError                  whether it was applied could not be found out
        └── NoSafeCommitHandlerError            the store guarantees too little to commit

Every class can be pickled; keyword attributes survive.
"""

from __future__ import annotations


class LanceError(Exception):
    """Base class of all errors of this project."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class InvalidInputError(LanceError, ValueError):
    """The caller passed something that cannot be used; nothing was written."""


class SchemaMismatchError(InvalidInputError, OSError):
    """The data's schema does not fit the table's schema."""


class InvalidPathError(InvalidInputError):
    """A path that is empty, absolute or would leave the root it is relative to."""


class InvalidRefError(InvalidInputError, OSError):
    """What cannot be the name of a tag or of a branch."""


class NotFoundError(LanceError, FileNotFoundError):
    """Something that was asked for by name does not exist."""


class ObjectNotFoundError(NotFoundError):
    """A store has no object at ``path``."""

    def __init__(self, path: str, where: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.where = where
        self.message = f"no object at {path!r}" + (f" in {where}" if where else "")


class DatasetNotFoundError(NotFoundError, ValueError):
    """No table, or no such version of it, at a URI."""


class RefNotFoundError(NotFoundError, ValueError):
    """The table has no tag, or no branch, of that name."""


class ExistsError(LanceError, FileExistsError):
    """Something is already there."""


class ObjectExistsError(ExistsError):
    """A write that must create found an object at ``path``; it was definitely not applied."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
        self.message = f"an object already exists at {path!r}"


class DatasetExistsError(ExistsError):
    """A table already exists where one was to be created."""


class RefConflictError(LanceError, ValueError, OSError):
    """A tag or branch of that name exists already, or something still refers to it."""


class BasePathRefusedError(LanceError, PermissionError):
    """A table names files at ``base_path``, outside of itself, and the caller has not allowed it.

    Nothing was read there, nor were credentials sent; the text names the remedy.
    """

    def __init__(self, message: str, base_path: str = "") -> None:
        super().__init__(message)
        self.base_path = base_path


class CorruptFileError(LanceError, ValueError, OSError):
    """Stored bytes contradict the format.

    ``path`` names the file ("" when the caller has not said yet), ``offset`` is in bytes from the
    start of the file (None when unknown), ``field`` is a dotted field path or a message field.
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
        where = [f"file {path!r}"] if path else []
        where += [f"offset {offset}"] if offset is not None else []
        where += [f"field {field!r}"] if field else []
        self.message = f"{', '.join(where)}: {reason}" if where else reason

    def at(self, path: str = "", offset: int | None = None, field: str = "") -> CorruptFileError:
        """This error with the places that it did not name yet filled in."""
        return CorruptFileError(
            self.reason,
            self.path or path,
            self.offset if self.offset is not None else offset,
            self.field or field,
        )


class CleanupError(LanceError, OSError):
    """Versions that were to be removed are protected by tags; nothing was removed."""


class UnsupportedFeatureError(LanceError, NotImplementedError):
    """The format or the API knows this, this version of the library does not."""


class ResultTooLargeError(UnsupportedFeatureError, MemoryError):
    """The rows that were asked for do not fit into memory, or an Arrow array; ask for fewer."""


class PluginError(LanceError):
    """Base of errors about plugins."""


class PluginNotFoundError(PluginError, ImportError):
    """No plugin provides what was asked for; the text lists what is there and what to install."""


class PluginConflictError(PluginError):
    """Two plugins provide the same key; the text names both."""


class PluginLoadError(PluginError):
    """A plugin failed to load or offered something malformed."""


class StoreError(LanceError, OSError):
    """A store call failed and, if it was a write, was definitely not applied."""


class OutcomeUnknownError(StoreError):
    """A write was sent and whether it was applied is unknown (lost response, timeout)."""


class CommitError(LanceError, OSError):
    """Base of errors of a commit."""


class CommitConflictError(CommitError):
    """The commit was definitely not applied: an earlier commit is incompatible with it.

    A commit lock raises it to say that another writer is at work. ``retryable``: whether doing the
    whole operation again on the newest version may succeed; by default what the class says.
    """

    def __init__(self, message: str = "", retryable: bool | None = None) -> None:
        super().__init__(message)
        self.retryable = self._is_retryable if retryable is None else retryable

    _is_retryable = False


class RetryableCommitConflictError(CommitConflictError):
    """Not applied; doing the whole operation again on the newest version may succeed."""

    _is_retryable = True


class CommitFileMissingError(CommitError, FileNotFoundError):
    """A file that the new version was to name is not there, or is another; nothing was committed.

    ``path`` is relative to the table's root.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class CommitLockError(CommitError):
    """The commit lock could not be taken, for another reason than a conflict; nothing was sent."""


class CommitUnknownError(CommitError):
    """True if the commit was applied could not be found out; its files must be kept.

    ``transaction_uuid`` and ``version`` say what to look for: the commit was applied exactly if
    the manifest of ``version``, or of a later one, carries that transaction. ``stalled``: the
    manifest was written, but so late that the history may have gone on without it.
    ``table`` is the table's place, "" if the commit was not made through a dataset.
    `lance_core.commit.resolve` looks; committing the same transaction again is safe, too.
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
    """No commit handler's requirements are met by the store; reading still works."""
