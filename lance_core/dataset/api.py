"""The two functions that users begin with: `dataset` and `write_dataset`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.on_demand import Part, load

if TYPE_CHECKING:
    # Importing the rest of the library takes longer than all of pyarrow: whoever only imports
    # `lance_core` does not wait for it, and whoever opens a table waits once.
    import os
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Unpack

    import pyarrow as pa

    from lance_core.dataset.dataset import LanceDataset
    from lance_core.dataset.snapshot.open_table import VersionLike
    from lance_core.dataset.snapshot.snapshot import Target
    from lance_core.dataset.write.input import ReaderLike
    from lance_core.dataset.write.write import WriteArguments


def dataset(
    uri: str | os.PathLike[str],
    version: VersionLike | None = None,
    asof: datetime | str | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
    default_scan_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> LanceDataset:
    """Open a table at its newest version, at ``version``, or as it was at the time ``asof``.

    ``asof`` without a zone is local time. ``allow_base_paths``: places outside of the table that
    its files may be read from, as URL prefixes, or "yes" for all. Option ``commit_lock``:
    called with the version that a commit is to make, it returns a context manager that keeps other
    writers out. Further pylance arguments that size its caches are accepted and change nothing.
    Raises `DatasetNotFoundError` if there is no such table or version, or none as old as ``asof``,
    and `RefNotFoundError`.
    """
    try:
        load(Part.TABLES)
    except BaseException:
        storage_options = None  # the frame of the error would show secrets
        raise
    from lance_core.store.secret import hide_secrets

    storage_options = hide_secrets(storage_options)
    from lance_core.dataset.dataset import LanceDataset
    from lance_core.dataset.snapshot import open_table, versions

    commit_lock = options.pop("commit_lock", None)
    allow_base_paths = options.pop("allow_base_paths", None)
    open_table.check_options(options)
    root = open_table.open_root(uri, storage_options, allow_base_paths).with_lock(commit_lock)
    if version is None and asof is not None:
        version = versions.version_at(root, asof)
    return LanceDataset.of(open_table.open_version(root, version), default_scan_options)


def write_dataset(
    data_obj: ReaderLike,
    uri: Target,
    schema: pa.Schema | None = None,
    mode: str = "create",
    **arguments: Unpack[WriteArguments],
) -> LanceDataset:
    """Write rows to a table and return it at the version that holds them.

    ``mode``: ``"create"`` makes a new table, ``"append"`` adds rows (and makes a table if there is
    none), ``"overwrite"`` makes a version with only these rows; older versions stay readable.
    ``schema`` is for data that does not bring one. Keyword arguments: `WriteArguments`. A write to
    a `LanceDataset` is based on the version that it has open, any other on the newest one.

    Raises `DatasetExistsError`, `SchemaMismatchError`, `UnsupportedFeatureError` for types that
    the file version cannot store, `CommitConflictError` if an incompatible commit came after the
    version that the write is based on, and `CommitUnknownError`. In all cases but the last nothing
    was changed, and the files that were written are removed.
    """
    try:
        load(Part.TABLES)
    except BaseException:
        del arguments  # the frame of the error would show secrets
        raise
    from lance_core.store.secret import hide_secrets_in

    hide_secrets_in(arguments)  # type: ignore[arg-type]  # a TypedDict is a dictionary, too
    from lance_core.dataset.dataset import LanceDataset
    from lance_core.dataset.write.write import write

    return LanceDataset.of(write(data_obj, uri, schema, mode, arguments))
