"""Changes that are committed at most once, however often Spark runs the job that makes them.

The transaction of such a change records its owner, such as a streaming query, and a number that
increases with each change of the owner. Before a job commits, `CommitKey.find` looks for the change
in the newest versions; during the commit, `CommitKey.is_committed` checks the versions that other
drivers have committed since then. So two drivers of one query cannot both commit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark.options.stream_options import LOOK_BACK

_FIRST_LOOKS = (1, 16)
"""Numbers of versions that are read first: the owner's last change is usually among them."""


@dataclass(frozen=True, slots=True)
class CommitKey:
    """The identity of a change: the names and values of two transaction properties.

    An owner commits its changes in ascending order of ``number``, so a change is committed if a
    transaction of the same owner has this number or a greater one.
    """

    owner_property: str
    owner: str
    number_property: str
    number: int

    @property
    def properties(self) -> dict[str, str]:
        """The transaction properties of the change."""
        return {self.owner_property: self.owner, self.number_property: str(self.number)}

    def is_committed(self, properties: Mapping[str, str]) -> bool:
        """True if the transaction with these properties is this change or a later one."""
        return self._is_owner(properties) and self._number(properties) >= self.number

    def find(self, dataset: lance_core.LanceDataset, look_back: int = LOOK_BACK) -> bool:
        """True if one of the newest ``look_back`` versions up to ``dataset`` has this change.

        The search ends at the last change of the owner. A table that was committed to more often
        since then, by others, needs a greater ``look_back``.
        """
        for count in sorted({min(look_back, first) for first in (*_FIRST_LOOKS, look_back)}):
            for transaction in dataset.get_transactions(count):
                properties = (transaction and transaction.transaction_properties) or {}
                if self._is_owner(properties):
                    return self.is_committed(properties)
        return False

    def _is_owner(self, properties: Mapping[str, str]) -> bool:
        return properties.get(self.owner_property) == self.owner

    def _number(self, properties: Mapping[str, str]) -> int:
        text = properties.get(self.number_property, "")
        try:
            return int(text)
        except ValueError:
            raise InvalidInputError(
                f"a transaction of {self.owner!r} has the property {self.number_property!r} with "
                f"the value {text[:100]!r}, which is not a number"
            ) from None
