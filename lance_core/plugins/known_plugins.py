"""The plugins of this project: the extra that installs each plugin, and the keys it serves.

The table is used for keys that no installed plugin provides. Installed plugins declare their own
keys (`ObjectStoreSpec`, `CommitHandlerSpec`, `IndexTypeSpec`).
"""

from __future__ import annotations

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KnownPlugin:
    """A plugin and its extra.

    ``schemes``: URL schemes of its stores, including schemes that only other programs use for these
    stores. ``handlers``: names and URL suffixes of its commit handlers. ``file_versions``: names of
    the file versions that it reads and writes. ``index_types``: names of its index types, without
    underscores; the `details_key` of each is ``<name>indexdetails``.
    """

    extra: str
    schemes: tuple[str, ...] = ()
    handlers: tuple[str, ...] = ()
    file_versions: tuple[str, ...] = ()
    index_types: tuple[str, ...] = ()


KNOWN_PLUGINS = (
    KnownPlugin("azure", ("az", "azure", "abfs", "abfss", "adl", "wasb", "wasbs")),
    KnownPlugin("dynamodb", handlers=("ddb", "dynamodb")),
    KnownPlugin(
        "fsspec",
        (
            *("cos", "cosn", "dbfs", "ftp", "github", "hdfs", "hf", "http", "https", "obs"),
            *("oss", "sftp", "smb", "ssh", "tos", "webhdfs"),
        ),
    ),
    KnownPlugin("gcs", ("gs", "gcs")),
    KnownPlugin(
        "indices",
        index_types=("bitmap", "bloomfilter", "btree", "json", "labellist", "ngram", "zonemap"),
    ),
    KnownPlugin("kernels"),
    KnownPlugin("legacy", file_versions=("0.1",)),
    KnownPlugin("lease", handlers=("lease",)),
    KnownPlugin("s3", ("s3", "s3a", "s3n")),
    KnownPlugin("spark"),
    KnownPlugin("sql", handlers=("sql",)),
)

SUFFIX_OF_PARAMETER = {
    "ddbtablename": "ddb",
    **dict.fromkeys(("sqlurl", "sqltable", "sqlpassword"), "sql"),
    **dict.fromkeys(
        ("leaseuri", "leaseduration", "leaserequestlifetime", "leasepatience"), "lease"
    ),
}
"""The URL suffix of the commit handler that takes a query parameter, by its plain name."""

EXTRA_OF_SCHEME = {scheme: known.extra for known in KNOWN_PLUGINS for scheme in known.schemes}
"""The extra that installs a store, by URL scheme."""

EXTRA_OF_HANDLER = {name: known.extra for known in KNOWN_PLUGINS for name in known.handlers}
"""The extra that installs a commit handler, by its name or URL suffix."""

EXTRA_OF_FILE_VERSION = {
    name: known.extra for known in KNOWN_PLUGINS for name in known.file_versions
}
"""The extra that installs what reads and writes a file version, by its name."""

EXTRA_OF_INDEX_TYPE = {name: known.extra for known in KNOWN_PLUGINS for name in known.index_types}
"""The extra that installs an index type, by its name in lower case without underscores."""


def extra_of_details(key: str | None) -> str | None:
    """The extra that installs the index type whose details have the `details_key` ``key``."""
    return None if key is None else EXTRA_OF_INDEX_TYPE.get(key.removesuffix("indexdetails"))
