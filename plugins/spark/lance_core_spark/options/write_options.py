"""The options of a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lance_core.errors import InvalidInputError
from lance_core_spark.options.column_options import ColumnOptions
from lance_core_spark.options.option_reader import OptionReader

IF_EXISTS = ("append", "error", "ignore")
"""The values of the option ``if_exists``; the first is the default."""

CASTS = ("safe", "checked")
"""The values of the option ``casts``; the first is the default."""


@dataclass(frozen=True, slots=True)
class LanceWriteOptions:
    """The options of a write.

    ``files`` and ``commit`` are keyword arguments of `lance_core.write_dataset`; only the driver
    uses those of ``commit``. ``replace_where``: the SQL condition of the rows to replace.
    ``replace_where_check``: the new rows must satisfy it. ``checked_casts``: cast values to
    narrower types if they fit. ``overwrite_schema``: an overwrite may change the columns.
    ``columns``: options of single columns. ``transaction``: the
    application and the version of the write, ``look_back``: the number of versions in which an
    earlier run is looked for.
    """

    if_exists: str = IF_EXISTS[0]
    files: Mapping[str, int | str] = field(default_factory=dict)
    commit: Mapping[str, bool] = field(default_factory=dict)
    message: str | None = None
    replace_where: str | None = None
    replace_where_check: bool = True
    merge_schema: bool = False
    overwrite_schema: bool = True
    checked_casts: bool = False
    columns: ColumnOptions = field(default_factory=dict)
    transaction: tuple[str, int] | None = None
    look_back: int | None = None

    @classmethod
    def parse(cls, options: OptionReader) -> LanceWriteOptions:
        """Parse the options of a write; raises `InvalidInputError` for a malformed option."""
        commit = {
            "enable_v2_manifest_paths": options.flag("enable_v2_manifest_paths", default=True),
            "enable_stable_row_ids": options.flag("enable_stable_row_ids"),
        }
        return cls(
            if_exists=_choice(options, "if_exists", IF_EXISTS),
            files=_files(options),
            commit=commit,
            message=options.text("commit_message"),
            replace_where=options.text("replace_where"),
            replace_where_check=options.flag("replace_where_check", default=True),
            merge_schema=options.flag("merge_schema"),
            overwrite_schema=options.flag("overwrite_schema", default=True),
            checked_casts=_choice(options, "casts", CASTS) == "checked",
            columns=options.columns(),
            transaction=_transaction(options),
            look_back=options.number("txn_look_back", 1),
        )


def _choice(options: OptionReader, name: str, choices: tuple[str, ...]) -> str:
    text = options.text(name) or choices[0]
    if text not in choices:
        raise InvalidInputError(f"option {name!r} is one of {choices}, not {text!r}")
    return text


def _files(options: OptionReader) -> dict[str, int | str]:
    """The options of files."""
    files = {
        "max_rows_per_file": options.number("max_rows_per_file", 1),
        "max_bytes_per_file": options.number("max_bytes_per_file", 1),
        "max_rows_per_group": options.number("max_rows_per_group", 1),
        "data_storage_version": options.text("data_storage_version"),
    }
    return {name: value for name, value in files.items() if value is not None}


def _transaction(options: OptionReader) -> tuple[str, int] | None:
    app_id, version = options.text("txn_app_id"), options.number("txn_version", 0)
    if app_id is None and version is None:
        return None
    if app_id is None or version is None:
        raise InvalidInputError("give both of the options 'txn_app_id' and 'txn_version'")
    return app_id, version
