"""The options of a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lance_core.errors import InvalidInputError
from lance_core_spark.options.option_reader import OptionReader

IF_EXISTS = ("append", "error", "ignore")
"""The values of the option ``if_exists``; the first is the default."""


@dataclass(frozen=True, slots=True)
class LanceWriteOptions:
    """The options of a write.

    ``files`` and ``commit`` are keyword arguments of `lance_core.write_dataset`; only the driver
    uses those of ``commit``.
    """

    if_exists: str = IF_EXISTS[0]
    files: Mapping[str, int | str] = field(default_factory=dict)
    commit: Mapping[str, bool] = field(default_factory=dict)
    message: str | None = None

    @classmethod
    def parse(cls, options: OptionReader) -> LanceWriteOptions:
        """Parse the options of a write; raises `InvalidInputError` for a malformed option."""
        if_exists = options.text("if_exists") or IF_EXISTS[0]
        if if_exists not in IF_EXISTS:
            raise InvalidInputError(f"option 'if_exists' is one of {IF_EXISTS}, not {if_exists!r}")
        rows = options.number("max_rows_per_file", 1), options.number("max_row_per_file", 1)
        files = {
            "max_rows_per_file": rows[0] or rows[1],
            "max_bytes_per_file": options.number("max_bytes_per_file", 1),
            "data_storage_version": options.text("data_storage_version"),
        }
        commit = {
            "enable_v2_manifest_paths": options.flag("enable_v2_manifest_paths", default=True),
            "enable_stable_row_ids": options.flag("enable_stable_row_ids"),
        }
        return cls(
            if_exists,
            {name: value for name, value in files.items() if value is not None},
            commit,
            options.text("commit_message"),
        )
