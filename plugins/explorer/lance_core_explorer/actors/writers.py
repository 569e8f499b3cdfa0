"""Bodies of actors that read and write tables with the shipped code.

A `Change` creates an operation from the version read; `writer` commits changes one by one. The
content of a data file is irrelevant here; its name serves as content.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from lance_core.commits.history import Version, read_latest
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import DEFAULT_OPTIONS, CommitOptions
from lance_core.errors import CommitUnknownError, LanceError, NotFoundError
from lance_core.hookspecs.file_versions import Schema
from lance_core.hookspecs.stores import exists
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.transactions.apply import CommitFacts
from lance_core.table.transactions.operations import Append, Overwrite
from lance_core.table.transactions.operations.base import Operation
from lance_core.table.transactions.operations.reserve_fragments import ReserveFragments
from lance_core.table.transactions.operations.restore import Restore
from lance_core.table.transactions.operations.rewrite import Rewrite, RewriteGroup
from lance_core.table.transactions.transaction import Transaction
from lance_core_explorer.configuration import Body, Effects
from lance_core_explorer.notes import Broken, Committed, Ended, NotCommitted, Read, Unknown
from lance_core_explorer.view import digest_of

ROWS = 10
SCHEMA = Schema.from_arrow(pa.schema([("x", pa.int64())]))

Change = Callable[[Effects, Version], Operation]
"""Creates an operation from the version read; writes the files that the operation needs."""


def creating(fragments: int = 1, stable_row_ids: bool = False) -> Body:
    """Creates the table with fragments of `ROWS` rows each. For `Configuration.setup`."""

    def body(effects: Effects) -> None:
        parts = tuple(new_fragment(effects) for _ in range(fragments))
        transaction = Transaction(0, _uuid(effects), Overwrite(parts, SCHEMA))
        settings = CommitOptions(facts=CommitFacts(stable_row_ids=stable_row_ids))
        commit_transaction(
            effects.handler, effects.store, transaction, None, settings, effects.environment
        )

    return body


def aged(versions: int = 2) -> Body:
    """Creates a table with several versions, each with one more fragment than the one before."""

    def body(effects: Effects) -> None:
        creating()(effects)
        for _ in range(versions - 1):
            base = read_latest(effects.handler, effects.store)
            assert base is not None
            transaction = Transaction(
                base.location.version, _uuid(effects), appending(effects, base)
            )
            commit_transaction(
                effects.handler,
                effects.store,
                transaction,
                base,
                environment=effects.environment,
            )

    return body


def new_fragment(effects: Effects) -> Fragment:
    """Write a new data file and return its fragment, without an id."""
    name = f"{effects.port.actor}-{effects.environment.new_uuid().hex[:8]}.lance"
    content = name.encode()
    effects.store.put(f"data/{name}", content)
    file = DataFile(name, (0,), (0,), 2, 0, len(content))
    return Fragment(0, (file,), physical_rows=ROWS)


def appending(effects: Effects, base: Version) -> Operation:
    """A `Change` that adds a fragment."""
    return Append((new_fragment(effects),))


def overwriting(effects: Effects, base: Version) -> Operation:
    """A `Change` that replaces all fragments with a new one."""
    return Overwrite((new_fragment(effects),), SCHEMA)


def restoring(version: int) -> Change:
    """A `Change` that restores an old version."""
    return lambda effects, base: Restore(version)


def reserving(effects: Effects, base: Version) -> Operation:
    """A `Change` that reserves a fragment id."""
    return ReserveFragments(1)


def rewriting(effects: Effects, base: Version) -> Operation:
    """A `Change` that compacts all fragments of the version read into one fragment."""
    old = tuple(base.file.manifest.fragments)
    return Rewrite((RewriteGroup(old, (new_fragment(effects),)),), ())


def writer(*changes: Change, settings: CommitOptions = DEFAULT_OPTIONS) -> Body:
    """Commits ``changes``, each on top of the previous one, without opening the table first.

    Stops at the first change that is not committed.
    """

    def body(effects: Effects) -> None:
        base: Version | None = effects.opened
        for change in changes:
            assert base is not None
            if effects.is_resting:
                effects.port.ask("rest", "pause", "before a commit")
            base = commit(effects, change, base, settings)
            if base is None:
                return

    return body


def opening_writer(*changes: Change, settings: CommitOptions = DEFAULT_OPTIONS) -> Body:
    """Opens the newest version, then acts like `writer`."""

    def body(effects: Effects) -> None:
        try:
            base = read_latest(effects.handler, effects.store)
        except LanceError as error:
            effects.note(Ended("open", type(error).__name__))
            return
        for change in changes:
            if base is None:
                return
            base = commit(effects, change, base, settings)

    return body


def commit(
    effects: Effects, change: Change, base: Version, settings: CommitOptions = DEFAULT_OPTIONS
) -> Version | None:
    """Commit one change of ``base`` and note the outcome; returns the new version or None."""
    try:
        operation = change(effects, base)
    except LanceError as error:
        effects.note(Ended("prepare", type(error).__name__))
        return None
    read = base.location.version
    return send(effects, Transaction(read, _uuid(effects), operation), base, settings)


def send(
    effects: Effects,
    transaction: Transaction,
    base: Version | None,
    settings: CommitOptions = DEFAULT_OPTIONS,
) -> Version | None:
    """Commit a transaction and note the outcome; returns the new version or None."""
    added = added_files(transaction.operation)
    uuid = transaction.uuid
    before = effects.port.decisions
    made = None
    try:
        made = commit_transaction(
            effects.handler, effects.store, transaction, base, settings, effects.environment
        )
    except CommitUnknownError:
        effects.note(Unknown(uuid))
    except LanceError as error:
        effects.note(NotCommitted(uuid, type(error).__name__, added))
    else:
        effects.note(Committed(uuid, made.location.version, added))
    attempts = effects.port.decisions - before
    if attempts > effects.most_attempts:
        effects.note(Broken(f"I13: it took {attempts} attempts"))
    return made


def recommitter(change: Change) -> Body:
    """Commits a change; if the outcome is unknown, commits the same transaction again.

    The last outcome counts.
    """

    def body(effects: Effects) -> None:
        base = effects.opened
        assert base is not None
        try:
            operation = change(effects, base)
        except LanceError as error:
            effects.note(Ended("prepare", type(error).__name__))
            return
        transaction = Transaction(base.location.version, _uuid(effects), operation)
        for known in (base, None):
            try:
                made = commit_transaction(
                    effects.handler,
                    effects.store,
                    transaction,
                    known,
                    CommitOptions(may_be_repeated=known is None),
                    effects.environment,
                )
            except CommitUnknownError:
                continue
            except LanceError as error:
                added = added_files(transaction.operation)
                effects.note(NotCommitted(transaction.uuid, type(error).__name__, added))
                return
            number = made.location.version
            added = added_files(transaction.operation)
            effects.note(Committed(transaction.uuid, number, added))
            return
        effects.note(Unknown(transaction.uuid))

    return body


def reader(times: int = 2) -> Body:
    """Opens the newest version and checks that its files exist, several times."""

    def body(effects: Effects) -> None:
        for _ in range(times):
            try:
                latest = read_latest(effects.handler, effects.store)
                if latest is None:
                    effects.note(Ended("read", "no table"))
                    continue
                missing = _missing(effects, latest)
            except (LanceError, NotFoundError) as error:
                effects.note(Ended("read", type(error).__name__))
                continue
            effects.note(Read(latest.location.version, digest_of(latest.file), missing))

    return body


def _missing(effects: Effects, version: Version) -> str:
    for path in sorted(added_files_of(version.file.manifest.fragments)):
        if not exists(effects.store, f"data/{path}"):
            return path
    return ""


def added_files(operation: Operation) -> frozenset[str]:
    """Paths of the data files that an operation adds."""
    if isinstance(operation, Append | Overwrite):
        return added_files_of(operation.fragments)
    if isinstance(operation, Rewrite):
        return frozenset().union(
            *(added_files_of(group.new_fragments) for group in operation.groups)
        )
    return frozenset()


def added_files_of(fragments: Sequence[Fragment]) -> frozenset[str]:
    """Paths of the data files of fragments."""
    return frozenset(file.path for fragment in fragments for file in fragment.files)


def _uuid(effects: Effects) -> str:
    return str(effects.environment.new_uuid())
