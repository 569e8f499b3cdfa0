"""The two entry points of the library: `dataset` and `write_dataset`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.imports.on_demand import Part, load

if TYPE_CHECKING:
    # Importing the rest of the library takes longer than importing pyarrow: `import lance_core`
    # does not import it, the first use of a table does.
    import os
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Unpack

    import pyarrow as pa

    from lance_core.dataset.arguments import Mode, OpenArguments
    from lance_core.dataset.dataset import LanceDataset
    from lance_core.dataset.snapshot.open_table import VersionLike
    from lance_core.dataset.snapshot.snapshot import Target
    from lance_core.dataset.write.input import ReaderLike
    from lance_core.dataset.write.write import AllWriteArguments


def dataset(
    uri: str | os.PathLike[str] | None = None,
    version: VersionLike | None = None,
    asof: datetime | str | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
    default_scan_options: Mapping[str, Any] | None = None,
    **options: Unpack[OpenArguments],
) -> LanceDataset:
    """Open a table at its newest version, at ``version``, or as it was at the time ``asof``.

    ``asof`` without a zone is local time. Further options: `OpenArguments`. Raises
    `DatasetNotFoundError` if the table or version does not exist or all versions are newer than
    ``asof``, and `RefNotFoundError` for an unknown tag or branch.
    """
    try:
        load(Part.TABLES)
    except BaseException:
        storage_options = None  # the frame of the error would show secrets
        del options
        raise
    from lance_core.store.secret import hide_secrets, hide_secrets_in

    storage_options = hide_secrets(storage_options)
    hide_secrets_in(options)  # type: ignore[arg-type]  # a TypedDict is a dictionary, too
    from lance_core.dataset.dataset import LanceDataset
    from lance_core.dataset.snapshot.open_dataset import open_dataset

    snapshot = open_dataset(uri, version, asof, storage_options, options)
    return LanceDataset.of(snapshot, default_scan_options)


def write_dataset(
    data_obj: ReaderLike,
    uri: Target | None = None,
    schema: pa.Schema | None = None,
    mode: Mode | None = "create",
    **arguments: Unpack[AllWriteArguments],
) -> LanceDataset:
    """Write rows to a table and return it at the version that contains them.

    ``mode``: ``"create"`` creates a table, ``"append"`` adds rows (and creates the table if it does
    not exist), ``"overwrite"`` commits a version with only these rows; older versions stay
    readable. ``schema``: the schema of data that has none. Keyword arguments: `WriteArguments`. A
    write to a `LanceDataset` is based on its open version, any other write on the newest version.

    Raises `DatasetExistsError`, `SchemaMismatchError`, `UnsupportedFeatureError` for types that
    the file version cannot store, `CommitConflictError` if an incompatible commit followed the
    version that the write is based on, and `CommitUnknownError`. After any other error than the
    last the table is unchanged and the written files are removed.
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
