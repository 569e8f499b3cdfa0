"""Processes that do what users do, until they are killed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.soak.journal import ACKED, BROKEN, FAILED, UNKNOWN, Journal, journal_path

COMMIT_DEADLINE = 4
"""Seconds: what the table's config says, so that cleanup finds something to do within a run."""

SECONDS_BETWEEN_CLEANUPS = 2.0

READ_PAUSE = 0.1
"""Seconds between reads: writers are what the processors are for."""

IDS_PER_PROCESS = 1 << 32

OURS = frozenset({"durability", "put_if_absent"})
"""Options that the reference implementation does not know."""


SHARED_IDS_PER_SECOND = 4
"""How often all processes turn to another row that none has, which each of them upserts."""


def rows(ids: list[int], value: int = 0) -> pa.Table:
    return pa.table({"id": ids, "value": [value] * len(ids)})


def is_any_of(ids: list[int]) -> str:
    """A condition."""
    return f"id IN ({', '.join(map(str, ids))})"


class Worker:
    """One process at work; ``number`` is different for each, restarted ones included."""

    def __init__(self, uri: str, options: dict[str, str], folder: str, number: int) -> None:
        self.uri = uri
        self.options = options
        self.number = number
        self.journal = Journal(journal_path(Path(folder), number))
        self.random = random.Random(number)
        self.next_id = number * IDS_PER_PROCESS
        self.mine: list[list[int]] = []

    def new_ids(self) -> list[int]:
        ids = list(range(self.next_id, self.next_id + self.random.randint(1, 5)))
        self.next_id += len(ids)
        return ids

    def attempt(self, kind: str, run: Callable[[], Any], **what: Any) -> bool:
        """Run an operation between two lines of the journal; True if it was acknowledged."""
        number = self.journal.begin(kind, **what)
        try:
            run()
        except Exception as error:
            self.journal.end(number, self.outcome_of(error), f"{type(error).__name__}: {error}")
            return False
        self.journal.end(number, ACKED)
        return True

    def outcome_of(self, error: Exception) -> str:
        from lance_core import errors

        if isinstance(error, errors.CommitUnknownError):
            return UNKNOWN
        return FAILED if isinstance(error, errors.CommitConflictError) else BROKEN

    def run(self) -> None:
        """Work until killed."""
        import lance_core as lance

        table = lance.dataset(self.uri, storage_options=self.options)
        cleaned = time.monotonic()
        choices = [self.append] * 20 + [self.delete] * 6 + [self.update] * 5 + [self.upsert] * 4
        choices += [self.upsert_shared] * 8 + [self.set_config, self.tag, self.change_columns]
        choices += [self.compact]
        while True:
            # Also an old version is a version to work on: the commit catches up.
            if self.random.random() < 0.9:
                table.checkout_latest()
            self.random.choice(choices)(table)
            if time.monotonic() - cleaned > SECONDS_BETWEEN_CLEANUPS:
                cleaned = time.monotonic()
                self.clean(table)

    def append(self, table: Any) -> None:
        ids = self.new_ids()
        if self.attempt("append", lambda: table.insert(rows(ids)), adds=ids):
            self.mine.append(ids)

    def delete(self, table: Any) -> None:
        if not self.mine:
            return
        ids = self.mine.pop(self.random.randrange(len(self.mine)))
        self.attempt("delete", lambda: table.delete(is_any_of(ids)), removes=ids)

    def update(self, table: Any) -> None:
        if not self.mine:
            return
        ids, value = self.random.choice(self.mine), self.random.randrange(1 << 30)
        self.attempt(
            "update",
            lambda: table.update({"value": str(value)}, is_any_of(ids)),
            values=dict.fromkeys(ids, value),
        )

    def upsert(self, table: Any) -> None:
        new, value = self.new_ids(), self.random.randrange(1 << 30)
        old = self.random.choice(self.mine) if self.mine else []
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        data, values = rows(old + new, value), dict.fromkeys(old + new, value)
        if self.attempt("upsert", lambda: merge.execute(data), adds=new, values=values):
            self.mine.append(new)

    def upsert_shared(self, table: Any) -> None:
        """Rows that others upsert at the same time: one of them inserts each."""
        newest = int(time.time() * SHARED_IDS_PER_SECOND)
        ids = [-newest, 1 - newest]
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        self.attempt("upsert of shared rows", lambda: merge.execute(rows(ids)), shares=ids)

    def change_columns(self, table: Any) -> None:
        """A column comes, with values or without, and goes."""
        name = f"c{self.next_id}"
        new = pa.field(name, pa.int64()) if self.random.random() < 0.5 else {name: "value + 1"}
        if self.attempt("add a column", lambda: table.add_columns(new), columns={name: True}):
            table.checkout_latest()
            self.attempt("drop a column", lambda: table.drop_columns([name]), columns={name: False})

    def compact(self, table: Any) -> None:
        """A part of the small fragments: a larger part would rarely meet no conflict."""
        mode = self.random.choice(["reencode", "try_binary_copy"])
        options = {"target_rows_per_fragment": 20, "max_source_fragments": 12}
        self.attempt(
            "compact", lambda: table.optimize.compact_files(compaction_mode=mode, **options)
        )

    def set_config(self, table: Any) -> None:
        said = {f"soak.{self.number}": str(time.time_ns())}
        self.attempt("set config", lambda: table.update_config(said), sets=said)

    def tag(self, table: Any) -> None:
        name = f"tag-{self.number}-{self.next_id}"
        if self.attempt("create tag", lambda: table.tags.create(name, table.version)):
            self.attempt("delete tag", lambda: table.tags.delete(name))

    def clean(self, table: Any) -> None:
        self.attempt(
            "clean up",
            lambda: table.cleanup_old_versions(
                timedelta(seconds=2 * COMMIT_DEADLINE), error_if_tagged_old_versions=False
            ),
        )


class Reader(Worker):
    """Reads the newest version again and again."""

    def run(self) -> None:
        while True:
            self.attempt("read", self.read)
            time.sleep(READ_PAUSE)

    def read(self) -> None:
        import lance_core as lance

        table = lance.dataset(self.uri, storage_options=self.options)
        ids = table.to_table(columns=["id"])["id"]
        if len(ids) != table.count_rows() or len(ids.unique()) != len(ids):
            raise ValueError(f"version {table.version} has {len(ids)} rows, not all different")


class Peer(Worker):
    """The reference implementation at work on the same table."""

    def run(self) -> None:
        import lance

        options = {name: self.options[name] for name in self.options.keys() - OURS}
        choices = [self.append] * 6 + [self.delete] * 2 + [self.upsert, self.update, self.compact]
        while True:
            self.random.choice(choices)(lance.dataset(self.uri, storage_options=options))

    def outcome_of(self, error: Exception) -> str:
        text = str(error).lower()
        is_conflict = "conflict" in text or "too many concurrent writers" in text
        return FAILED if is_conflict else UNKNOWN

    def append(self, table: Any) -> None:
        ids = self.new_ids()
        if self.attempt("append", lambda: table.insert(rows(ids)), adds=ids):
            self.mine.append(ids)

    def upsert(self, table: Any) -> None:
        new = self.new_ids()
        old = self.mine[0] if self.mine else []
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        if self.attempt("upsert", lambda: merge.execute(rows(old + new)), adds=new):
            self.mine.append(new)

    def update(self, table: Any) -> None:
        if self.mine:
            condition = f"id = {self.mine[0][0]}"
            self.attempt("update", lambda: table.update({"value": "value + 1"}, condition))

    def compact(self, table: Any) -> None:
        self.attempt("compact", table.optimize.compact_files)


ROLES = {"worker": Worker, "reader": Reader, "peer": Peer}


def main(role: str, uri: str, options: dict[str, str], folder: str, number: int) -> None:
    """The life of a process."""
    ROLES[role](uri, options, folder, number).run()
