"""The entry module: it says what there is and imports neither fsspec nor a file system."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl

REGISTERED = "fsspec"
"""The scheme of file systems that `register_file_system` has been given."""

SCHEMES = (
    REGISTERED,
    *("box", "cos", "cosn", "dbfs", "dropbox", "dvc", "ftp", "gdrive", "gist", "git", "github"),
    *("hdfs", "hf", "http", "https", "jlab", "jupyter", "lakefs", "libarchive", "obs", "oci"),
    *("ocilake", "oss", "root", "sftp", "smb", "ssh", "tar", "tos", "tosfs", "wandb", "webhdfs"),
    "zip",
)
"""What fsspec and its best-known file systems serve and this project has no better store for."""


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """Whatever fsspec has a file system for."""
    return [
        ObjectStoreSpec(
            name="fsspec",
            schemes=SCHEMES,
            factory="lance_core_fsspec.store:open_store",
            extra="fsspec",
        )
    ]
