"""Versions of a table whose manifests may be damaged."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import lance_core
from lance_core import LanceDataset
from lance_core.errors import CorruptFileError
from lance_core.file import LanceFileSession
from lance_core_cli.manifests import SET_ASIDE, VERSIONS, manifest_name
from lance_core_cli.verifying.verify import Level, verify


def newest(uri: str, storage_options: dict[str, Any] | None) -> LanceDataset | None:
    """The newest version; None if its manifest is damaged."""
    try:
        return lance_core.dataset(uri, storage_options=storage_options)
    except CorruptFileError:
        return None


def newest_whole_version(
    uri: str,
    open_version: LanceDataset | None,
    level: Level,
    storage_options: dict[str, Any] | None,
) -> int | None:
    """The newest version without damage, other than the newest of all, which may be open."""
    for number in _older_versions(uri, open_version, storage_options):
        with suppress(CorruptFileError):
            table = lance_core.dataset(uri, number, storage_options=storage_options)
            if verify(table, level, other_versions=False).is_whole:
                return number
    return None


def _older_versions(
    uri: str, open_version: LanceDataset | None, storage_options: dict[str, Any] | None
) -> list[int]:
    """Numbers of all versions but the newest, newest first; reads no manifest."""
    if open_version is not None:
        return version_numbers(open_version)[1:]
    return sorted(_manifest_paths(LanceFileSession(uri, storage_options)), reverse=True)[1:]


def version_numbers(table: LanceDataset) -> list[int]:
    """The numbers of all versions, newest first."""
    return sorted((reference["version"] for reference in table.version_refs()), reverse=True)


def _manifest_paths(session: LanceFileSession) -> dict[int, str]:
    """The paths of manifests by version."""
    paths = {}
    for path in session.list(VERSIONS):
        name = manifest_name(path)
        # Without a scheme it is a detached version, which is not part of the history.
        if name is not None and name.scheme is not None:
            paths[name.version] = path
    return paths


def set_aside(table: LanceDataset, version: int) -> None:
    """Move the manifest of a version out of the history, into the folder ``_damaged``."""
    session = table.new_file_session()
    path = _manifest_paths(session)[version]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "manifest")
        session.download_file(path, str(copy))
        session.upload_file(str(copy), f"{SET_ASIDE}/{path.rpartition('/')[2]}")
    session.delete_file(path)
