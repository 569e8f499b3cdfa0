"""Check that a version is its predecessor changed by a transaction.

This specifies the effect of each operation a second time, on fragments and their files only, so
that a defect in the code that applies operations is not part of the expectation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from lance_core.table.fragments.fragment import Fragment
from lance_core.table.transactions.operations import Append, Delete, Overwrite
from lance_core.table.transactions.operations.reserve_fragments import ReserveFragments
from lance_core.table.transactions.operations.restore import Restore
from lance_core.table.transactions.operations.rewrite import Rewrite
from lance_core.table.transactions.operations.update_config import UpdateConfig
from lance_core_explorer.view import Seen

Part: TypeAlias = tuple[tuple[str, ...], str]
"""A fragment: its data files, and its deletion file."""


def mismatch(before: Seen, after: Seen, history: Mapping[int, Seen]) -> str:
    """How ``after`` differs from the result of its transaction on ``before``; "" if it does not."""
    if after.transaction is None:
        return ""
    old, new = _parts(before.file.manifest.fragments), _parts(after.file.manifest.fragments)
    operation = after.transaction.operation
    match operation:
        case Append(fragments=added):
            return _compare(new, old, _files(added))
        case Overwrite(fragments=added):
            return _compare(new, {}, _files(added))
        case Delete():
            touched = set(operation.touched_fragments)
            return _compare(
                {number: part for number, part in new.items() if number not in touched},
                {number: part for number, part in old.items() if number not in touched},
                [],
            ) or _unknown_fragments(operation.touched_fragments, old)
        case Rewrite():
            gone = {part.id for group in operation.groups for part in group.old_fragments}
            added = [part for group in operation.groups for part in group.new_fragments]
            remaining = {number: part for number, part in old.items() if number not in gone}
            return _compare(new, remaining, _files(added)) or _unknown_fragments(gone, old)
        case Restore(version=version):
            source = history.get(version)
            if source is None:
                return ""
            return _compare(new, _parts(source.file.manifest.fragments), [])
        case ReserveFragments() | UpdateConfig():
            return _compare(new, old, [])
    return ""


def _parts(fragments: Iterable[Fragment]) -> dict[int, Part]:
    return {
        fragment.id: (tuple(file.path for file in fragment.files), str(fragment.deletion_file))
        for fragment in fragments
    }


def _files(fragments: Iterable[Fragment]) -> list[tuple[str, ...]]:
    return sorted(tuple(file.path for file in fragment.files) for fragment in fragments)


def _compare(new: Mapping[int, Part], old: Mapping[int, Part], added: list[tuple[str, ...]]) -> str:
    for number, part in old.items():
        if number not in new:
            return f"fragment {number} ({', '.join(part[0])}) is lost"
        if new[number] != part:
            return f"fragment {number} changed from {part} to {new[number]}"
    fresh = sorted(part[0] for number, part in new.items() if number not in old)
    return "" if fresh == added else f"it adds {fresh}, its transaction {added}"


def _unknown_fragments(touched: Iterable[int], old: Mapping[int, Part]) -> str:
    missing = sorted(set(touched) - set(old))
    return f"its transaction changes fragments {missing}, which are not there" if missing else ""
