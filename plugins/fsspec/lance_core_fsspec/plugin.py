"""The entry module: descriptors only; it imports neither fsspec nor a file system."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl

REGISTERED = "fsspec"
"""The scheme of file systems registered with `register_file_system`."""

SCHEMES = (
    REGISTERED,
    *("box", "cos", "cosn", "dbfs", "dropbox", "dvc", "ftp", "gdrive", "gist", "git", "github"),
    *("hdfs", "hf", "http", "https", "jlab", "jupyter", "lakefs", "libarchive", "obs", "oci"),
    *("ocilake", "oss", "root", "sftp", "smb", "ssh", "tar", "tos", "tosfs", "wandb", "webhdfs"),
    "zip",
)
"""Schemes of fsspec and its best-known file systems for which this project has no own store."""


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """The store for all schemes of fsspec."""
    return [
        ObjectStoreSpec(
            name="fsspec",
            schemes=SCHEMES,
            factory="lance_core_fsspec.store:open_store",
            extra="fsspec",
        )
    ]
