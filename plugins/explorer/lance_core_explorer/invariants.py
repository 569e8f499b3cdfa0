"""The invariants I1 to I14 of every state of every schedule.

Each invariant is a function that returns how a state breaks it, or "". It is called once for each
world (`Scope.WORLD`), for each world together with the notes of the actors (`Scope.STATE`), or when
all actors are done (`Scope.END`).

A *ghost* is a version that a suspended writer publishes after its deadline, below the newest
version, under a number that a cleanup has freed. Its writer does not acknowledge it, and no later
version contains it. Ghosts are possible only in configurations where enough time may pass, or where
a foreign cleanup frees numbers at any time; elsewhere they are violations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lance_core.table.file_references import references
from lance_core.table.paths import VERSIONS, parse_manifest_name
from lance_core_explorer.configuration import Configuration, Invariant, Scope
from lance_core_explorer.lineage import mismatch
from lance_core_explorer.notes import Broken, Committed, NotCommitted, Read
from lance_core_explorer.view import Seen, View


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a state that an invariant judges.

    ``notes``: the notes of each actor. ``now``: virtual seconds. ``is_busy``: an actor has not
    finished. ``is_quiet``: no write can still take effect.
    """

    configuration: Configuration
    view: View
    notes: tuple[tuple[object, ...], ...]
    now: float
    is_busy: bool
    is_quiet: bool

    def each(self, kind: type) -> Iterator[object]:
        """All notes of a kind."""
        return (note for notes in self.notes for note in notes if isinstance(note, kind))

    @property
    def committed(self) -> list[Committed]:
        """All acknowledged commits."""
        return [note for note in self.each(Committed) if isinstance(note, Committed)]


def no_broken_actor(facts: Facts) -> str:
    """C1: an operation ends as its contract requires, without any other exception."""
    return next((note.error for note in facts.each(Broken) if isinstance(note, Broken)), "")


def acknowledged_is_kept(facts: Facts) -> str:
    """I1: every acknowledged transaction is in the newest version exactly once."""
    head = facts.view.head
    if _is_replaced(facts):
        return ""  # the commits are in the dropped table
    ghosts = _ghosts(facts)
    for note in facts.committed:
        if head is None or head.version < note.version:
            return f"version {note.version} was acknowledged, the newest is {head and head.version}"
        seen = facts.view.by_number.get(note.version)
        if seen is not None and seen.uuid != note.transaction and seen.version not in ghosts:
            return f"version {note.version} was acknowledged, but it is another's"
        if facts.configuration.only_adds:
            lost = [path for path in note.added if head.data_files.count(path) != 1]
            if lost:
                return f"{lost[0]} of acknowledged version {note.version} is lost"
    return ""


def _is_replaced(facts: Facts) -> bool:
    """True if the table was dropped and made again."""
    opened = facts.view.worlds.opened
    first = facts.view.by_number.get(1)
    if not facts.configuration.replaces or opened is None or first is None:
        return False
    return first.file.transaction != opened.file.transaction


def tables_are_kept_apart(facts: Facts) -> str:
    """I8: a change computed from a dropped table is not in the table that replaced it.

    Applies to configurations that replace a table, where every writer has the old table open.
    """
    numbers = [seen.version for seen in facts.view.versions]
    if _is_replaced(facts) and numbers != [1]:
        return f"the new table has versions {numbers}"
    return ""


def nothing_twice(facts: Facts) -> str:
    """I2: no transaction is in the history twice, and no data file is in a version twice."""
    uuids = [seen.uuid for seen in facts.view.versions if seen.uuid]
    twice = {uuid for uuid in uuids if uuids.count(uuid) > 1}
    if twice:
        return f"transaction {min(twice)} was committed {uuids.count(min(twice))} times"
    for seen in facts.view.versions:
        if len(set(seen.data_files)) < len(seen.data_files):
            return f"version {seen.version} has a data file twice"
    return ""


def failed_is_invisible(facts: Facts) -> str:
    """I3: a commit reported as failed is in no version, now or later."""
    settled = {note.transaction for note in facts.committed}
    visible = {seen.uuid for seen in facts.view.versions}
    for note in facts.each(NotCommitted):
        if isinstance(note, NotCommitted) and note.transaction in visible - settled:
            return f"{note.transaction} was reported as {note.kind}, and is there"
    return ""


def versions_are_contiguous(facts: Facts) -> str:
    """I4: no version is missing above the oldest version that was not kept on purpose."""
    numbers = [seen.version for seen in facts.view.versions]
    if not facts.configuration.cleans and numbers != list(range(1, len(numbers) + 1)):
        return f"the versions are {numbers}"
    return ""


def manifests_are_readable(facts: Facts) -> str:
    """I5: every visible manifest can be parsed and has the version of its name."""
    if facts.view.problem and facts.view.objects:
        return facts.view.problem
    for seen in facts.view.versions:
        if seen.file.manifest.version != seen.version:
            return f"version {seen.version} says that it is {seen.file.manifest.version}"
    return ""


def files_are_there(facts: Facts) -> str:
    """I6: every file that a version names exists and has the recorded size."""
    ghosts = _ghosts(facts)
    for seen in facts.view.versions:
        if seen.version not in ghosts:
            missing = missing_file(seen, facts.view)
            if missing:
                return f"version {seen.version} needs {missing}"
    return ""


def missing_file(seen: Seen, view: View) -> str:
    """The first file of a version that is missing or has a wrong size; "" if there is none."""
    for reference in references(seen.file):
        if (
            not reference.is_folder
            and reference.base_id is None
            and reference.path not in view.objects
        ):
            return f"{reference.path}, which is not there"
    for fragment in seen.file.manifest.fragments:
        for file in fragment.files:
            data = view.objects.get(f"data/{file.path}")
            if data is not None and file.file_size_bytes and file.file_size_bytes != len(data):
                return f"{file.path} of {file.file_size_bytes} bytes, it has {len(data)}"
    return ""


def readers_see_snapshots(facts: Facts) -> str:
    """I7: a reader sees complete committed versions, and never an older one after a newer one."""
    ghosts = _ghosts(facts)
    versions = [seen for seen in facts.view.versions if seen.version not in ghosts]
    digests = {seen.version: seen.digest for seen in versions}
    for notes in facts.notes:
        newest = 0
        for note in notes:
            if not isinstance(note, Read):
                continue
            if note.version < newest and not facts.configuration.replaces:
                return f"a reader saw version {newest} and then {note.version}"
            newest = note.version
            if note.missing:
                return f"a reader opened version {note.version}: {note.missing} is not there"
            is_other = digests.setdefault(note.version, note.digest) != note.digest
            if is_other and not facts.configuration.replaces:
                return f"a reader saw another version {note.version}"
    return ""


def content_follows_history(facts: Facts) -> str:
    """I8: each version is its predecessor changed only by its transaction.

    So applying all transactions to the oldest version, in the order of the versions, gives the
    newest version.
    """
    ghosts = _ghosts(facts)
    by_number = facts.view.by_number
    for seen in facts.view.versions:
        before = by_number.get(seen.version - 1)
        if before is None or before.version in ghosts:
            continue
        wrong = mismatch(before, seen, by_number)
        if wrong:
            return f"version {seen.version} does not follow {before.version}: {wrong}"
    return ""


def numbers_never_go_back(facts: Facts) -> str:
    """I9: fragment ids are unique; the highest fragment id and the next row id never decrease."""
    ghosts = _ghosts(facts)
    fragment, row = -1, 0
    for seen in facts.view.versions:
        manifest = seen.file.manifest
        ids = [part.id for part in manifest.fragments]
        if len(set(ids)) < len(ids):
            return f"version {seen.version} has fragment ids {ids}"
        if seen.version in ghosts:
            continue
        if manifest.next_row_id < row:
            return f"version {seen.version} has next row id {manifest.next_row_id} after {row}"
        highest = -1 if manifest.max_fragment_id is None else manifest.max_fragment_id
        if highest < fragment:
            return f"version {seen.version} has highest fragment id {highest} after {fragment}"
        row, fragment = manifest.next_row_id, highest
    return ""


def folder_tells_all(facts: Facts) -> str:
    """I10: after one reader, the folder alone shows what the handler shows."""
    view = facts.view.then(facts.view.read)
    folder = view.folder
    if folder.error is not None:
        return f"the folder cannot be read: {folder.error}"
    shown = {seen.version: seen.digest for seen in facts.view.versions}
    result = folder.result if isinstance(folder.result, list) else []
    digests = {seen.version: seen.digest for seen in result}
    return "" if shown == digests else f"the handler shows {shown}, the folder {digests}"


def next_writer_succeeds(facts: Facts) -> str:
    """I12: in every state the next writer commits the next version."""
    body = facts.configuration.next_writer
    if body is None or facts.view.head is None:
        return ""
    look = facts.view.alone(body, facts.now, "next")
    if look.error is not None:
        return f"the next writer fails: {type(look.error).__name__}: {look.error}"
    after = facts.view.then(look)
    if after.problem or after.head is None or after.head.version != facts.view.head.version + 1:
        return f"the next writer does not make the next version: {after.problem}"
    return ""


def quiet_cleanup_leaves_no_orphan(facts: Facts) -> str:
    """I11: after all writes have ended, a cleanup removes exactly the unneeded files."""
    body = facts.configuration.final_cleanup
    if body is None or not facts.is_quiet or facts.view.head is None:
        return ""
    look = facts.view.alone(body, facts.now + 30 * 86400.0, "janitor")
    if look.error is not None:
        return f"cleanup fails: {type(look.error).__name__}: {look.error}"
    after = facts.view.then(look)
    if after.problem or after.head is None or after.head.version != facts.view.head.version:
        return f"after cleanup the newest version is gone {after.problem}"
    needed: set[str] = set()
    for seen in after.versions:
        missing = missing_file(seen, after)
        if missing:
            return f"cleanup removed what version {seen.version} needs: {missing}"
        needed.update(reference.path for reference in references(seen.file))
    for path in after.objects:
        if not _is_kept(path, needed):
            return f"cleanup leaves {path}, which nothing needs"
    return ""


def _is_kept(path: str, needed: set[str]) -> bool:
    folder, _, name = path.rpartition("/")
    if folder == VERSIONS:
        return parse_manifest_name(name) is not None
    if folder.startswith(("_refs", "_leases")):
        return True
    return path in needed or any(path.startswith(f"{other}/") for other in needed)


def _ghosts(facts: Facts) -> set[int]:
    """Unacknowledged versions whose changes are not in the next version; see the module."""
    configuration = facts.configuration
    may_be = configuration.has_foreign_cleaner or (configuration.passing and configuration.cleans)
    if not may_be or facts.view.head is None:
        return set()
    ghosts = set()
    by_number = facts.view.by_number
    acknowledged = {(note.version, note.transaction) for note in facts.committed}
    for seen in reversed(facts.view.versions[:-1]):
        after = by_number.get(seen.version + 1)
        detached = after is None or bool(mismatch(seen, after, by_number))
        if configuration.has_foreign_cleaner:  # another suspended writer may have read a ghost
            detached = detached or seen.version + 1 in ghosts
        if detached and (seen.version, seen.uuid) not in acknowledged:
            ghosts.add(seen.version)
    return ghosts


ALL = (
    Invariant("C1", Scope.STATE, no_broken_actor),
    Invariant("I5", Scope.WORLD, manifests_are_readable),
    Invariant("I2", Scope.WORLD, nothing_twice),
    Invariant("I4", Scope.WORLD, versions_are_contiguous),
    Invariant("I6", Scope.STATE, files_are_there),
    Invariant("I9", Scope.STATE, numbers_never_go_back),
    Invariant("I8", Scope.STATE, content_follows_history),
    Invariant("I8", Scope.WORLD, tables_are_kept_apart),
    Invariant("I1", Scope.STATE, acknowledged_is_kept),
    Invariant("I3", Scope.STATE, failed_is_invisible),
    Invariant("I7", Scope.STATE, readers_see_snapshots),
    Invariant("I10", Scope.WORLD, folder_tells_all),
    Invariant("I12", Scope.END, next_writer_succeeds),
    Invariant("I11", Scope.END, quiet_cleanup_leaves_no_orphan),
)
"""Every invariant. I13 (bounded attempts) is noted by the actors themselves, and reported as C1.
I14 (an expired lease cannot publish and does not block others) follows from I1, I7 and I12 of
tables under a lease."""
