"""What a verb records with its transaction: a message, the identity of the change, what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import lance_core
from lance_core.dataset import LANCE_COMMIT_MESSAGE_KEY
from lance_core.errors import AlreadyCommittedError, InvalidInputError
from lance_core_spark.write.idempotent_commit import CommitKey
from lance_core_spark.write.plan import transaction_key

PARAMETER = "lance_core.parameter."
METRIC = "lance_core.metric."
"""Beginnings of the names of transaction properties: what a verb was told, and what it counted."""

MAX_TEXT = 4096
"""Maximum characters of a parameter: every reader of the history reads it."""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """The message of the commits of a table object, and the identity of its next change."""

    message: str | None = None
    key: CommitKey | None = None

    @classmethod
    def of(cls, message: str | None, app_id: str | None, version: int | None) -> CommitInfo:
        """Raises `InvalidInputError` for other types, and for one of ``app_id`` and ``version``."""
        if message is not None and not isinstance(message, str):
            raise InvalidInputError(f"the commit message must be text, not {message!r}")
        if app_id is None and version is None:
            return cls(message)
        if not isinstance(app_id, str) or not isinstance(version, int) or version < 0:
            raise InvalidInputError(
                "txnAppId must be text, and txnVersion a number from 0 on; give both or none, not "
                f"{app_id!r} and {version!r}"
            )
        return cls(message, transaction_key(app_id, version))

    def properties(
        self, verb: str, parameters: Mapping[str, str], metrics: Mapping[str, object]
    ) -> dict[str, str]:
        """The properties of the transaction of ``verb``."""
        properties = {} if self.key is None else dict(self.key.properties)
        if self.message is not None:
            properties[LANCE_COMMIT_MESSAGE_KEY] = self.message
        properties |= {
            PARAMETER + name: text[:MAX_TEXT] for name, text in {"verb": verb, **parameters}.items()
        }
        return properties | {METRIC + name: str(number) for name, number in metrics.items()}

    def is_committed(self, properties: Mapping[str, str]) -> bool:
        """True for the properties of a transaction that made this change or a later one."""
        return self.key is not None and self.key.is_committed(properties)

    def is_done(self, dataset: lance_core.LanceDataset) -> bool:
        """True if a version up to ``dataset`` has this change."""
        return self.key is not None and self.key.find(dataset)

    def check_not_done(self, dataset: lance_core.LanceDataset) -> None:
        """Raise `AlreadyCommittedError` if a version up to ``dataset`` has this change."""
        if self.is_done(dataset):
            raise AlreadyCommittedError("another run has committed the change", dataset.version)


NOTHING = CommitInfo()
"""Nothing to record."""
