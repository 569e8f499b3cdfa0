"""Judging a history: is each version its predecessor, changed by what its transaction means?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lance_core.table.transactions.conflicts import MATRIX
from lance_core.table.transactions.operations import ReserveFragments, Restore
from lance_core.table.transactions.transaction import Transaction
from tests.explore.pairs.base import Base
from tests.explore.pairs.decoding import Decoded
from tests.explore.pairs.footprint import conclusion
from tests.explore.pairs.kinds import Kind, Parts
from tests.explore.pairs.model import difference


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An operation that was prepared on the base: what is committed, and what it should do.

    ``name`` is what the names of its files begin with.
    """

    name: str
    kind: Kind
    transaction: Transaction
    parts: Parts
    written: Mapping[str, bytes]


def expected(ours: Prepared, committed: Sequence[Prepared], base: Base) -> str:
    """What should become of ``ours`` after ``committed``: ``.``, ``R`` or ``X``.

    The first transaction that it cannot follow decides.
    """
    model = base.history[base.version].model
    for theirs in committed:
        letter = MATRIX[ours.kind.kind][theirs.kind.kind].value
        found = conclusion(letter, ours.parts.footprint, theirs.parts.footprint)
        if found != ".":
            return found
        model = theirs.parts.effect(model)
        if ours.parts.footprint.rewritten & theirs.parts.footprint.rewritten:
            return "R"
    if not ours.parts.footprint.rewritten <= model.indices.keys():
        return "R"
    return "." if ours.parts.fits(model) else "R"


def would_commute(ours: Prepared, committed: Sequence[Prepared], base: Base) -> bool:
    """Whether refusing ``ours`` was more careful than the meaning of the operations asks for."""
    start = base.history[base.version].model
    after = start
    for theirs in committed:
        if ours.parts.footprint.loses(theirs.parts.footprint):
            return False
        after = theirs.parts.effect(after)
    before = ours.parts.effect(start)
    for theirs in committed:
        before = theirs.parts.effect(before)
    last = ours.parts.effect(after)
    return not difference(last, before) and not last.problem()


def wrong_step(
    before: Decoded, after: Decoded, change: Prepared, history: Mapping[int, Decoded]
) -> str:
    """What of ``after`` is not ``before`` changed by ``change``, "" if all is as it should be."""
    if after.version != before.version + 1:
        return f"version {after.version} follows {before.version}"
    return (
        after.problem
        or difference(change.parts.effect(before.model), after.model)
        or _old_files(before, after, change)
        or _wrong_numbers(before, after, change)
        or _reused(after, history)
        or _wrong_lineage(before, after, change)
    )


def _old_files(before: Decoded, after: Decoded, change: Prepared) -> str:
    """Files that a version does not name any more may be cleaned up: only a restore names them."""
    if isinstance(change.transaction.operation, Restore):
        return ""
    added = after.data_files - before.data_files
    back = [path for path in added if not path.startswith(change.name)]
    return f"data file {min(back)} is back" if back else ""


def _wrong_numbers(before: Decoded, after: Decoded, change: Prepared) -> str:
    if after.next_row_id < before.next_row_id:
        return f"next row id {after.next_row_id} after {before.next_row_id}"
    if after.max_fragment_id < before.max_fragment_id:
        return f"highest fragment id {after.max_fragment_id} after {before.max_fragment_id}"
    operation = change.transaction.operation
    if isinstance(operation, ReserveFragments):
        taken = after.max_fragment_id - before.max_fragment_id
        if taken != operation.num_fragments:
            return f"{taken} fragment ids are reserved instead of {operation.num_fragments}"
    return ""


def _reused(after: Decoded, history: Mapping[int, Decoded]) -> str:
    """Ids mean the same rows in every version; a fragment of other rows has another id."""
    for old in history.values():
        for number, identities in after.identities.items():
            if old.identities.get(number, identities) != identities:
                return f"fragment id {number} is used again"
        rows = {id_: identity for identity, id_ in old.row_ids.items()}
        for identity, id_ in after.row_ids.items():
            if old.row_ids.get(identity, id_) != id_:
                return f"row {identity} has another id than in version {old.version}"
            if rows.get(id_, identity) != identity:
                return f"row id {id_} is used again"
    return ""


def _wrong_lineage(before: Decoded, after: Decoded, change: Prepared) -> str:
    """With stable row ids: when rows came, and when they were last changed."""
    if isinstance(change.transaction.operation, Restore):
        return ""
    for identity, created in after.created.items():
        if identity not in before.created:
            if (created, after.updated[identity]) != (after.version, after.version):
                return f"row {identity} is new, and created in version {created}"
            continue
        if created != before.created[identity]:
            return f"row {identity} was created in {before.created[identity]}, not {created}"
        old, new = before.model.rows[identity], after.model.rows[identity]
        was_changed = any(old[column] != new[column] for column in old.keys() & new.keys())
        updated = after.updated[identity]
        kept = updated == before.updated[identity]
        if was_changed and updated != after.version:
            return f"row {identity} was changed in {after.version}, not {updated}"
        is_touched = change.parts.all_updated or identity in change.parts.footprint.rows
        if not was_changed and not kept and not is_touched:
            return f"row {identity} was not changed in version {updated}"
    return ""
