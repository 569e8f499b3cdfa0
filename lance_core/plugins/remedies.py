"""What to tell someone who asks for a plugin that is not there."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence

from lance_core.errors import PluginNotFoundError
from lance_core.plugins.loading import PluginLoadFailure

EXTRA_OF_SCHEME = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "az": "azure",
    "azure": "azure",
    "abfs": "azure",
    "abfss": "azure",
    "adl": "azure",
    "wasb": "azure",
    "wasbs": "azure",
    "hdfs": "fsspec",
    "webhdfs": "fsspec",
    "oss": "fsspec",
    "cos": "fsspec",
    "cosn": "fsspec",
    "obs": "fsspec",
    "tos": "fsspec",
    "hf": "fsspec",
    "http": "fsspec",
    "https": "fsspec",
    "ftp": "fsspec",
    "sftp": "fsspec",
    "ssh": "fsspec",
    "smb": "fsspec",
    "dbfs": "fsspec",
    "github": "fsspec",
}
"""The extra of this distribution that brings a store for a scheme."""

EXTRA_OF_HANDLER = {
    "ddb": "dynamodb",
    "dynamodb": "dynamodb",
    "sql": "sql",
}
"""The extra that brings a commit handler, by its name or URL suffix."""


def not_found(
    what: str,
    key: str,
    known: Iterable[str],
    extra: str | None,
    failures: Sequence[PluginLoadFailure],
) -> PluginNotFoundError:
    """The error for a ``key`` that no plugin provides; ``what`` says what kind of thing it is."""
    text = [f"no plugin provides {what} {key!r}"]
    if extra is not None:
        text.append(f'pip install "lance-core[{extra}]"')
    text.append(f"known: {', '.join(sorted(known)) or 'none'}")
    if failures:
        text.append("failed to load: " + "; ".join(map(str, failures)))
    text.append(f"in {this_process()}")
    return PluginNotFoundError(". ".join(text))


def this_process() -> str:
    """Which of all processes this is: on a cluster, the packages of one machine may differ."""
    return f"process {os.getpid()} on {platform.node() or 'this host'}, {sys.executable}"
