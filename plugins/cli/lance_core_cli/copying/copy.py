"""Copy the files of a table to another store."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import lance_core
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.file import LanceFileSession
from lance_core_cli.manifests import SET_ASIDE, VERSIONS, manifest_name

REFS = "_refs/"
"""Where the paths of tags and branches begin."""

PASSED_OVER = ("_leases", SET_ASIDE)
"""Folders of a table that say nothing about its rows."""

AT_ONCE = 8
"""Files that are copied at the same time: each waits for two stores."""


@dataclass(frozen=True)
class CopyReport:
    """What `copy_table` did.

    ``versions``: of the copy and its branches. ``files`` and ``bytes``: what was copied.
    ``files_before``: files that were there.
    """

    uri: str
    versions: int
    files: int
    bytes: int
    files_before: int


def copy_table(
    source: str,
    target: str,
    *,
    storage_options: dict[str, Any] | None = None,
    target_options: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CopyReport:
    """Copy the table at the URI ``source`` with versions, tags, branches and indices to ``target``.

    Files keep their bytes and names. Those of data go first, manifests after them and tags last, so
    that a reader of the copy sees whole versions only. An interrupted copy goes on when it is
    called again: files that are there with the same size are passed over. Versions that the source
    gets meanwhile are not copied. ``progress`` is called with the number of bytes copied so far and
    the number of bytes to copy.

    A shallow clone stays one: what it has of other tables is not copied. Raises `InvalidInputError`
    if there is another table at ``target``, and `UnsupportedFeatureError` for a URL that names a
    way to commit, which would not know of the copied versions.
    """
    scheme, mark, _ = target.partition("://")
    if mark and "+" in scheme:
        raise UnsupportedFeatureError(
            f"copy to {scheme.partition('+')[0]}://: {scheme} has records of versions elsewhere"
        )
    table = lance_core.dataset(source, storage_options=storage_options)
    reads = table.new_file_session()
    writes = LanceFileSession(target, target_options)
    manifests = {path: size for path, size in reads.file_sizes().items() if manifest_name(path)}
    target_sizes = writes.file_sizes()
    _refuse_another_table(reads, writes, manifests, target_sizes, target)
    # Listed after the manifests: all files that these refer to are there by now.
    others = {path: size for path, size in reads.file_sizes().items() if _is_copied(path)}
    refs = [path for path in others if path.startswith(REFS)]
    data = [
        path
        for path, size in others.items()
        if not path.startswith(REFS) and target_sizes.get(path) != size
    ]
    sizes = {**others, **manifests}
    steps = (data, [path for path in manifests if path not in target_sizes], refs)
    total, done = sum(sizes[path] for step in steps for path in step), 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for step in steps:
            for path in pool.map(lambda path: _copied(reads, writes, path), step):
                done += sizes[path]
                if progress is not None:
                    progress(done, total)
    copied = sum(map(len, steps))
    return CopyReport(target, len(manifests), copied, total, len(sizes) - copied)


def _copied(reads: LanceFileSession, writes: LanceFileSession, path: str) -> str:
    reads.copy_file(path, writes)
    return path


def _is_copied(path: str) -> bool:
    """False for manifests, and for what is not part of the table."""
    folders = path.split("/")[:-1]
    return VERSIONS not in folders and not set(folders).intersection(PASSED_OVER)


def _refuse_another_table(
    reads: LanceFileSession,
    writes: LanceFileSession,
    manifests: dict[str, int],
    target_sizes: dict[str, int],
    target: str,
) -> None:
    for path in filter(manifest_name, target_sizes):
        size = target_sizes[path]
        is_equal = manifests.get(path) == size and (
            reads.read_range(path, 0, size) == writes.read_range(path, 0, size)
        )
        if not is_equal:
            raise InvalidInputError(f"{target} is another table: the source has not its {path}")
