"""Commit a transaction: load, check, rebase, apply, publish; retry if another writer was faster.

Each attempt builds the next version on the newest version, after checking the transaction against
all transactions in between. The transaction keeps its uuid. Files become visible in the order data,
deletions, transaction, manifest.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

from lance_core.checksums.seal import sealed
from lance_core.commits.ancestry import Doubt, is_in_history
from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.catch_up import CatchUp
from lance_core.commits.checked_handler import checked, name_of, unchecked
from lance_core.commits.cleanup.pins import pinned
from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.history import Version, check_number, read_version
from lance_core.commits.identity import IdentityTakenError, with_intent
from lance_core.commits.options import (
    DEADLINE_KEY,
    DEFAULT_OPTIONS,
    SLOW,
    CommitOptions,
    deadline_of,
    slow_after,
)
from lance_core.commits.outcome import NEVER_SENT, Publication, publish
from lance_core.commits.rebase import discard_merged, rebased
from lance_core.commits.verification import CommitVerification
from lance_core.errors import (
    CommitConflictError,
    CommitError,
    CommitFileMissingError,
    CommitUnknownError,
    DatasetExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    RetryableCommitConflictError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import replace
from lance_core.observation import OBSERVERS, count, traced
from lance_core.store.base import ObjectStore
from lance_core.table.manifest.file import ManifestFile, serialize_manifest_file
from lance_core.table.paths import DETACHED, VERSIONS, transaction_path
from lance_core.table.transactions.apply import CommitFacts, apply, writes_transaction_file
from lance_core.table.transactions.operations import Restore
from lance_core.table.transactions.transaction import Transaction

PROMPT_RETRIES = 2
"""After how many losses in a row a commit goes on at once: the writer that was faster writes the
files of its next change first, so this is the best time to follow it. More losses show that several
writers compete."""

MIN_PAUSE = 0.001
MAX_PAUSE = 5.0
"""Seconds. After more losses, a pause is random between 0 and a limit: the time that the last
attempt took, but at least ``MIN_PAUSE``, times the number of pauses, and at most ``MAX_PAUSE``. If
the limit doubled each time, a writer that lost a few times would wait so long that others, whose
pauses are short, always came first again.
"""

TURN = 2.0
"""Seconds for which a writer waits for its turn, where the store lets writers queue."""

MAX_LOSSES = 3
"""How often the same version may be lost to another writer. A table that is dropped and made again
then explains one loss more; after that, the handler does not see versions that exist."""

_LOG = logging.getLogger("lance_core.commits")

_CONCLUSIONS = (CommitError, DatasetExistsError, DatasetNotFoundError)
"""Errors that state the outcome of a commit themselves."""


def commit_transaction(
    handler: CommitHandler,
    store: ObjectStore,
    transaction: Transaction,
    base: Version | None = None,
    options: CommitOptions = DEFAULT_OPTIONS,
    environment: Environment = SYSTEM,
) -> Version:
    """Publish ``transaction`` as a version of the table, and return that version.

    ``base`` is a version that the caller has read; if it is still the newest, nothing is read
    again. A transaction with ``read_version`` 0 creates the table. If the transaction is committed
    already, its version is returned.

    Ends in one of three ways. A return means that the transaction is committed.
    `CommitUnknownError` means that it may be committed: keep all files. Any other exception means
    that it is definitely not committed: `CommitConflictError` for a conflict with another commit
    (`RetryableCommitConflictError` if repeating the operation may succeed), `DatasetExistsError` if
    the table to create exists, `DatasetNotFoundError` if the table to change does not exist. After
    a manifest was sent, every other failure is a `CommitError`.
    """
    attempts = _Attempts(handler, store, transaction, base, options, environment)
    return _observed(attempts, transaction) if OBSERVERS else attempts.run()


def _observed(attempts: _Attempts, transaction: Transaction) -> Version:
    """What ``attempts`` comes to, reported to observers."""
    operation, outcome = type(transaction.operation).__name__, "failed"
    with traced("lance.commit", operation=operation) as results:
        try:
            version = attempts.run()
            outcome, results["version"] = "committed", version.location.version
        except CommitUnknownError:
            outcome = "unknown"
            raise
        except (CommitConflictError, DatasetExistsError):
            outcome = "conflict"
            raise
        finally:
            results.update({"outcome": outcome, "retries": attempts.retries})
            count("lance.commits", operation=operation, outcome=outcome)
            if attempts.retries:
                count("lance.commit.retries", attempts.retries, operation=operation)
    return version


class _Attempts:
    """All attempts of one commit."""

    def __init__(
        self,
        handler: CommitHandler,
        store: ObjectStore,
        transaction: Transaction,
        base: Version | None,
        options: CommitOptions,
        environment: Environment,
    ) -> None:
        handler = checked(handler, store)
        self._handler = handler
        self._store = store
        self._transaction = transaction
        self._caught_up = CatchUp(handler, store, transaction, base, options)
        self._options = options
        self._environment = environment
        self.retries = 0
        """Attempts after the first."""
        self._written: bytes | None = None
        """Content of the transaction file after it was written."""
        self._was_sent = False
        self._open_version: int | None = None
        """The version that may be this transaction: its manifest was sent, and neither another
        writer nor a refusal is known to have prevented it."""
        self._lost_version, self._losses = 0, 0
        """The version that was lost to another writer last, and how often in a row."""
        self._faster: Version | None = None
        """The version of the writer that was faster in the last attempt."""
        self._followed = False
        """True if the last attempt followed such a version."""
        self._elapsed: Callable[[], float] = environment.stopwatch()
        self._slow = 0.0
        """Seconds since before the last lookup of the newest version, and from which on its result
        is checked again."""
        self._deadline_message = ""
        """The reason if an attempt exceeded the deadline."""
        self._source = options.facts.source
        self._pinned_versions: set[int] = set()
        """Old versions that are pinned because the new version names their files."""
        self._verification = CommitVerification(handler, store, transaction, options)

    def run(self) -> Version:
        if self._transaction.read_version & DETACHED and not self._options.detached:
            raise UnsupportedFeatureError(
                "only another detached version can follow a detached version: pass detached=True"
            )
        self._handler.check_can_commit()
        try:
            return self._commit()
        except IdentityTakenError:
            raise  # the transaction file belongs to the other change
        except (CommitConflictError, CommitFileMissingError, DatasetExistsError):
            self._remove_file()
            raise
        except _CONCLUSIONS:
            raise
        except Exception as error:
            if self._open_version is not None:
                raise self._unverified(self._open_version, error) from error
            if self._was_sent:
                raise CommitError(f"not committed: {error}") from error
            raise

    def _commit(self) -> Version:
        if not self._options.detached:
            return self._repeat()
        elapsed = self._environment.stopwatch()
        with self._pin_version(self._transaction.read_version) as read, self._pin_source():
            return self._publish_detached(read, elapsed)

    def _repeat(self) -> Version:
        elapsed = self._environment.stopwatch()
        attempts = 0
        while attempts <= self._options.max_retries:
            with self._store.turn(VERSIONS, TURN):
                attempt_elapsed = self._environment.stopwatch()
                made = self._attempt()
            if made is not None:
                _LOG.debug("committed version %d", made.location.version)
                return made
            attempts += 1
            self.retries = min(attempts, self._options.max_retries)
            _LOG.info("attempt %d of a commit was too late", attempts)
            pauses = attempts - PROMPT_RETRIES if self._faster is not None else attempts
            if pauses > 0 and attempts <= self._options.max_retries:
                limit = min(pauses * max(attempt_elapsed(), MIN_PAUSE), MAX_PAUSE)
                self._environment.sleep(limit * self._environment.random())
            if elapsed() > self._options.timeout:
                break
        raise RetryableCommitConflictError(
            f"the commit was given up after {attempts} attempts: "
            + (self._deadline_message or "another writer was faster each time")
        )

    def _attempt(self) -> Version | None:
        """Catch up with the newest version and publish the next one; None if it is to be repeated.

        If a writer was faster just now, its version is the newest that is known, and follows from
        the one that was: nothing is looked up again, so that the others have little time. Where
        that was too late as well, several versions may have been made in the meantime.
        """
        faster, self._faster = self._faster, None
        if faster is not None and not self._followed and self._elapsed() <= self._slow:
            self._followed = True
            made = self._caught_up.follow(faster)
        else:
            self._followed = False
            self._elapsed = self._environment.stopwatch()
            made = self._caught_up.run()
            self._slow = slow_after(self._elapsed())
        if made is not None:
            return self._recognised(made)
        with self._pin_source():
            return self._publish(self._elapsed, self._slow)

    def _recognised(self, committed: Version) -> Version:
        """Return ``committed``, the version of this transaction; raises if the history lacks it."""
        if not is_in_history(self._handler, self._store, committed, Doubt.PROMPT):
            raise self._stalled(committed.location.version)
        return committed

    def _publish(self, elapsed: Callable[[], float], slow: float) -> Version | None:
        """Publish the next version; None if another writer was faster or the deadline has passed.

        ``elapsed`` counts from before the lookup of the newest version. After ``slow`` seconds the
        table is checked again before and after publishing.
        """
        base = self._caught_up.base
        before = None if base is None else base.file
        transaction = self._transaction
        if base is None:
            version, naming = 1, self._options.naming
        else:
            check_number(base.file.manifest.version, base.location)
            if self._options.check_base is not None:
                self._options.check_base(base)
            version, naming = base.location.version + 1, base.location.naming
            transaction = self._rebased(base.file)
        file = self._applied(before, transaction)
        if self._options.facts.source is not None:
            version = file.manifest.version
        candidate = self._candidate(file, ManifestLocation(version, "", naming), before)
        deadline = deadline_of({} if before is None else before.manifest.config, self._options)
        took = elapsed()
        if took > deadline:
            self._deadline_message = (
                f"they took longer than the commit deadline, {deadline:g} s (a table may set it in "
                f"its config, at {DEADLINE_KEY!r})"
            )
            return None  # the newest version was read too long ago
        publication = None
        if self._is_still_right(file, before, took > slow):
            publication = self._send(candidate)
        if publication is None:
            discard_merged(self._store, transaction, self._transaction)
            return None
        made = Version(file, publication.location)
        took = elapsed()
        doubt = Doubt.LATE if took > deadline else Doubt.SLOW if took > SLOW else Doubt.PROMPT
        self._verify(made, before, doubt, took > slow)
        self._verification.at_published_files(made, before, took > slow, publication.is_certain)
        return made

    def _send(self, candidate: Candidate) -> Publication | None:
        """Publish ``candidate``, see `publish`; afterwards only a proof may deny the commit."""
        self._was_sent = True
        self._open_version = candidate.version
        try:
            publication = publish(self._handler, self._store, candidate, self._environment)
        except (*_CONCLUSIONS, *NEVER_SENT):
            self._open_version = None
            raise
        if isinstance(publication, Publication):
            return publication
        self._open_version = None
        # What a plugin's handler finds to be the newest version is looked up for each attempt.
        self._faster = publication if unchecked(self._handler) is self._handler else None
        self._count_loss(candidate.version)
        return None

    def _count_loss(self, version: int) -> None:
        """Raise `CommitError` if ``latest`` does not see a version that others have made."""
        self._losses = self._losses + 1 if version == self._lost_version else 1
        self._lost_version = version
        if self._losses < MAX_LOSSES:
            return
        self._remove_file()
        older = f"version {version - 1}" if version > 1 else "None, that there is no table"
        raise CommitError(
            f"not committed: version {version} exists, another writer made it, but `latest` of "
            f"{name_of(self._handler)} gives {older}; it must see every version whose commit "
            "has returned"
        )

    def _is_still_right(
        self, file: ManifestFile, before: ManifestFile | None, is_slow: bool
    ) -> bool:
        """True if the base is the newest version; checks that all files of ``file`` exist.

        Raises `CommitFileMissingError` if a file is missing.
        """
        self._verification.at_files(file, before, is_slow)
        return not (is_slow and self._verification.is_overtaken(self._caught_up.base))

    def _verify(
        self, made: Version, before: ManifestFile | None, doubt: Doubt, is_slow: bool
    ) -> None:
        """Raise `CommitUnknownError` unless the history is known to contain ``made``."""
        is_kept = doubt is not Doubt.LATE or self._are_pinned_versions_there()
        if not (is_kept and self._verification.is_continued(made, before, doubt, is_slow)):
            raise self._stalled(made.location.version)

    def _applied(self, before: ManifestFile | None, transaction: Transaction) -> ManifestFile:
        try:
            return apply(before, transaction, self._facts())
        except InvalidInputError as error:
            read = self._transaction.read_version
            if before is None or before.manifest.version <= read:
                raise
            raise RetryableCommitConflictError(
                f"Retryable commit conflict for version {before.manifest.version}: what was "
                f"computed from version {read} does not fit it: {error}"
            ) from error

    def _publish_detached(self, read: ManifestLocation, elapsed: Callable[[], float]) -> Version:
        """Publish a detached version: it has a random number and is not part of the history.

        ``elapsed`` counts from before the version at ``read`` was pinned.
        """
        base = self._caught_up.base
        if base is None or base.location.version != read.version:
            base = read_version(self._store, read)
        check_number(base.file.manifest.version, base.location)
        file = apply(base.file, self._transaction, self._facts())
        number = DETACHED | (self._environment.new_uuid().int & (DETACHED - 1))
        file = replace(file, manifest=replace(file.manifest, version=number))
        location = ManifestLocation(number, "", base.location.naming)
        candidate = self._candidate(file, location, base.file)
        self._verification.at_files(file, base.file, elapsed() > SLOW)
        publication = self._send(candidate)
        if publication is None:
            raise CommitError(f"the detached version {number} belongs to another writer")
        deadline = deadline_of(base.file.manifest.config, self._options)
        if elapsed() > deadline and not self._are_pinned_versions_there():
            raise self._stalled(number)
        return Version(file, publication.location)

    def _stalled(self, version: int) -> CommitUnknownError:
        return CommitUnknownError(
            f"version {version} was written, but nothing shows that the newest version contains "
            "it: versions were cleaned up while it was being made, so that the history may have "
            "continued without it. Keep all files; if the newest version lacks the change, write "
            "it again",
            self._transaction.uuid,
            version,
            stalled=True,
        )

    def _unverified(self, version: int, error: Exception) -> CommitUnknownError:
        return CommitUnknownError(
            f"version {version} was published, but the table could not be checked afterwards: "
            f"{error}. Keep all files; lance_core.commit.resolve reads the outcome",
            self._transaction.uuid,
            version,
            stalled=True,
        )

    def _rebased(self, base: ManifestFile) -> Transaction:
        """The transaction rebased on ``base``."""
        fitting = rebased(self._store, self._transaction, base, self._environment)
        if fitting is self._transaction:
            return fitting
        return with_intent(fitting, self._transaction)

    def _facts(self) -> CommitFacts:
        now = self._environment.clock()
        return replace(self._options.facts, timestamp_ns=now, source=self._source)

    def _candidate(
        self, file: ManifestFile, location: ManifestLocation, before: ManifestFile | None
    ) -> Candidate:
        """Build the candidate to publish, and write its transaction file."""
        transaction = file.transaction
        assert transaction is not None  # `apply` always stores it
        if writes_transaction_file(before):
            self._write_file(sealed(transaction))
        return Candidate(
            version=location.version,
            naming=location.naming,
            data=serialize_manifest_file(file),
            transaction_uuid=self._transaction.uuid,
            transaction=transaction,
        )

    def _pin_version(self, version: int) -> contextlib.AbstractContextManager[ManifestLocation]:
        """Protect an old version, from which the new one is derived, from cleanup."""
        self._pinned_versions.add(version)
        return pinned(self._handler, self._store, version, self._environment)

    @contextlib.contextmanager
    def _pin_source(self) -> Iterator[None]:
        """Read and pin the version that a Restore brings back, for one attempt."""
        operation = self._transaction.operation
        if not isinstance(operation, Restore):
            yield
            return
        with self._pin_version(operation.version) as location:
            self._source = read_version(self._store, location).file
            yield

    def _are_pinned_versions_there(self) -> bool:
        """True if all pinned versions still exist.

        A pin may have expired; but a cleanup that starts now sees the new version and keeps its
        files.
        """
        try:
            for version in self._pinned_versions:
                self._handler.locate(version)
        except Exception:  # unknown counts as missing
            return False
        return True

    @property
    def _file_path(self) -> str:
        return transaction_path(self._transaction.file_name)

    def _write_file(self, transaction: bytes) -> None:
        if self._written == transaction:
            return
        try:
            self._store.put(self._file_path, transaction)
        except StoreError as error:
            raise CommitError(f"not committed, the transaction file failed: {error}") from error
        self._written = transaction

    def _remove_file(self) -> None:
        """Remove the transaction file; called only after a definite conflict."""
        if self._written is not None:
            with contextlib.suppress(Exception):
                self._store.delete(self._file_path)
