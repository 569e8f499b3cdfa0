"""The options of streaming reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from lance_core.errors import InvalidInputError
from lance_core_spark.options.option_reader import OptionReader

LOOK_BACK = 1000
"""Default number of newest versions that are searched for a change that may be committed."""

CHANGES = ("ignore_deletes", "ignore_changes", "skip_change_commits", "read_change_feed")
"""The options for versions that delete or change rows; at most one is given."""


@dataclass(frozen=True, slots=True)
class LanceStreamOptions:
    """The options of a stream. None: not given.

    ``starting_version``: a number, ``"latest"`` or ``"earliest"``. ``ending_version`` and
    ``ending_timestamp``: the last version of a batch read of changes. ``max_versions``,
    ``max_rows`` and ``max_bytes`` limit a micro-batch. ``changes``: one of `CHANGES`. ``query_id``:
    replaces the id of the query as the owner of micro-batches. ``look_back``: see `CommitKey.find`.
    """

    starting_version: int | str | None = None
    starting_timestamp: str | None = None
    ending_version: int | None = None
    ending_timestamp: str | None = None
    max_versions: int | None = None
    max_rows: int | None = None
    max_bytes: int | None = None
    changes: str | None = None
    query_id: str | None = None
    look_back: int = LOOK_BACK

    @classmethod
    def parse(cls, options: OptionReader) -> LanceStreamOptions:
        """Parse the options of a stream; raises `InvalidInputError` for a malformed option."""
        starts = options.text("starting_version"), options.text("starting_timestamp")
        if None not in starts:
            raise InvalidInputError(
                "give one of the options 'starting_version' and 'starting_timestamp'"
            )
        ends = options.number("ending_version", 1), options.text("ending_timestamp")
        if None not in ends:
            raise InvalidInputError(
                "give one of the options 'ending_version' and 'ending_timestamp'"
            )
        changes = [name for name in CHANGES if options.flag(name)]
        if len(changes) > 1:
            raise InvalidInputError(f"give one of the options {changes}")
        return cls(
            _starting_version(starts[0]),
            starts[1],
            *ends,
            options.number("max_versions_per_trigger", 1),
            options.number("max_rows_per_trigger", 1),
            options.number("max_bytes_per_trigger", 1),
            changes[0] if changes else None,
            options.text("streamingqueryid"),
            options.number("streaming_look_back", 1) or LOOK_BACK,
        )

    def check_not_given(self) -> None:
        """Raise `InvalidInputError` if an option of streams or of changes was given for a read."""
        for name, value in {**self._starts, **self._ends}.items():
            if value is not None:
                raise InvalidInputError(
                    f"option {name!r} is for spark.readStream, or for 'read_change_feed'"
                )
        self._check_no_limits(self.changes)

    def check_batch(self) -> None:
        """Raise `InvalidInputError` for options that a batch read of changes does not have."""
        if all(value is None for value in self._starts.values()):
            raise InvalidInputError(
                "'read_change_feed' needs the first version: give the option 'starting_version' or "
                "'starting_timestamp'"
            )
        self._check_no_limits(None)

    def check_stream(self) -> None:
        """Raise `InvalidInputError` for options that streaming reads do not have."""
        for name, value in self._ends.items():
            if value is not None:
                raise InvalidInputError(f"a stream cannot have the option {name!r}")

    def _check_no_limits(self, changes: str | None) -> None:
        limits = {
            "max_versions_per_trigger": self.max_versions,
            "max_rows_per_trigger": self.max_rows,
            "max_bytes_per_trigger": self.max_bytes,
            changes: changes,
        }
        for name, value in limits.items():
            if value is not None:
                raise InvalidInputError(f"option {name!r} is for spark.readStream only")

    @property
    def _starts(self) -> dict[str, int | str | None]:
        return {
            "starting_version": self.starting_version,
            "starting_timestamp": self.starting_timestamp,
        }

    @property
    def _ends(self) -> dict[str, int | str | None]:
        return {"ending_version": self.ending_version, "ending_timestamp": self.ending_timestamp}

    @property
    def reads_change_feed(self) -> bool:
        return self.changes == "read_change_feed"


def _starting_version(text: str | None) -> int | str | None:
    if text is None or text in ("latest", "earliest"):
        return text
    if text.isascii() and text.isdigit() and int(text) >= 1:
        return int(text)
    raise InvalidInputError(
        "option 'starting_version' must be a number of at least 1, 'latest' or 'earliest', not "
        f"{text!r}"
    )
