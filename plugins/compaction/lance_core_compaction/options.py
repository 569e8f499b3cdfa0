"""Options of a compaction: the caller's, those in the table's config, and the defaults."""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from lance_core.errors import (
    CompactionError,
    InvalidInputError,
    InvalidTypeError,
    UnsupportedFeatureError,
)
from lance_core.maintenance import (
    FileVersion,
    Snapshot,
    did_you_mean,
    may_mix,
    shortened,
    warn_caller,
)
from lance_core.optimize import CompactionOptions

CONFIG_PREFIX = "lance.compaction."
"""Prefix of the keys of a table's config that replace the defaults."""


class CompactionMode(enum.Enum):
    """How rows get into new files; the value is the name in options and in the config."""

    REENCODE = "reencode"
    TRY_BINARY_COPY = "try_binary_copy"
    FORCE_BINARY_COPY = "force_binary_copy"


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """The options of a compaction with all defaults; see `CompactionOptions`.

    ``data_storage_version`` is an exact version, such as ``"2.2"``.
    """

    target_rows_per_fragment: int = 1 << 20
    max_rows_per_group: int = 1024
    max_bytes_per_file: int | None = None
    materialize_deletions: bool = True
    materialize_deletions_threshold: float = 0.1
    num_threads: int | None = None
    batch_size: int | None = None
    io_buffer_size: int | None = None
    defer_index_remap: bool = False
    compaction_mode: CompactionMode = CompactionMode.REENCODE
    binary_copy_read_batch_bytes: int = 16 << 20
    verify_pages: bool = False
    max_source_fragments: int | None = None
    max_source_rows: int | None = None
    max_source_bytes: int | None = None
    excluded_fragment_ids: tuple[int, ...] = ()
    data_storage_version: str = ""

    @classmethod
    def of(cls, snapshot: Snapshot, options: Mapping[str, Any]) -> CompactionSettings:
        """The settings for ``snapshot``: ``options`` first, then its config, then the defaults.

        Raises `InvalidTypeError` and `InvalidInputError` for invalid options, and
        `CompactionError` for those that do not fit the table.
        """
        values = {**_from_config(snapshot.manifest.config), **from_options(options)}
        settings = cls(**values)
        settings = replace(settings, data_storage_version=_version(snapshot, settings).value)
        settings.check(snapshot)
        return settings

    def check(self, snapshot: Snapshot) -> None:
        """Raise `CompactionError` if ``snapshot`` cannot be compacted with these settings."""
        for name in ("max_source_fragments", "max_source_rows", "max_source_bytes"):
            if getattr(self, name) == 0:
                raise CompactionError(f"{name} must be greater than 0 (None for no limit)")
        if self.defer_index_remap and snapshot.manifest.uses_stable_row_ids:
            raise CompactionError(
                "defer_index_remap is only for tables without stable row ids: with stable row "
                "ids, indices stay valid when rows move"
            )
        target, stored = self.data_storage_version, snapshot.storage_version.value
        if not may_mix(target, stored):
            raise CompactionError(
                f"files of version {target} cannot be written to a table with files of version "
                f"{stored}: 0.1 does not mix with other versions"
            )

    @property
    def file_version(self) -> FileVersion:
        """The version of new files."""
        return FileVersion.from_selector(self.data_storage_version)


def _version(snapshot: Snapshot, settings: CompactionSettings) -> FileVersion:
    selector = settings.data_storage_version
    return FileVersion.from_selector(selector) if selector else snapshot.storage_version


def from_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The checked values of ``options`` that are not None, by the names of the settings."""
    if not isinstance(options, Mapping):
        raise InvalidTypeError(f"options of a compaction are a dict, got {type(options).__name__}")
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name not in CompactionOptions.__annotations__:
            known = CompactionOptions.__annotations__
            raise InvalidInputError(
                f"Invalid compaction option: {shortened(str(name))}{did_you_mean(str(name), known)}"
            )
        if value is not None and name not in _DEPRECATED:
            checked[name] = _CHECKS[name](name, value)
    mode = _deprecated_mode(options)
    if mode is not None:
        checked.setdefault("compaction_mode", mode)
    return checked


_DEPRECATED = ("enable_binary_copy", "enable_binary_copy_force")


def _deprecated_mode(options: Mapping[str, Any]) -> CompactionMode | None:
    """The mode that the older switches select, None without them."""
    used = [name for name in _DEPRECATED if options.get(name) is not None]
    for name in used:
        warn_caller(f"{name} is deprecated: use compaction_mode", DeprecationWarning)
    switches = [name for name in used if _flag(name, options[name])]
    if not switches:
        return None
    is_forced = _DEPRECATED[1] in switches
    return CompactionMode.FORCE_BINARY_COPY if is_forced else CompactionMode.TRY_BINARY_COPY


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool):
        raise InvalidTypeError(f"{name} must be a whole number, got {value!r}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # raises TypeError for other types
    except TypeError:
        raise InvalidTypeError(f"{name} must be a whole number, got {value!r}") from None
    if not 0 <= number < 1 << 64:
        raise InvalidInputError(f"{name} must be from 0 to 2**64 - 1, got {number}")
    return number


def _positive(name: str, value: object) -> int:
    number = _whole(name, value)
    if number == 0:
        raise InvalidInputError(f"{name} must be greater than 0")
    return number


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidTypeError(f"{name} must be True or False, got {value!r}")
    return value


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTypeError(f"{name} must be a number, got {value!r}")
    if math.isnan(value):
        raise InvalidInputError(f"{name} must be a number, got {value!r}")
    return float(value)


def _mode(name: str, value: object) -> CompactionMode:
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name} must be text, got {value!r}")
    try:
        return CompactionMode(value)
    except ValueError:
        valid = ", ".join(repr(mode.value) for mode in CompactionMode)
        raise InvalidInputError(
            f"Invalid compaction mode {shortened(value)}. Valid values: {valid}"
        ) from None


def _ids(name: str, value: object) -> tuple[int, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidTypeError(f"{name} must be a list of fragment ids, got {value!r}")
    return tuple(dict.fromkeys(_whole(name, id_) for id_ in value))


def _selector(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name} must be text, got {value!r}")
    return FileVersion.from_selector(value).value


_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "target_rows_per_fragment": _whole,
    "max_rows_per_group": _positive,
    "max_bytes_per_file": _positive,
    "materialize_deletions": _flag,
    "materialize_deletions_threshold": _share,
    "num_threads": _positive,
    "batch_size": _positive,
    "io_buffer_size": _whole,
    "compaction_mode": _mode,
    "binary_copy_read_batch_bytes": _positive,
    "verify_pages": _flag,
    "defer_index_remap": _flag,
    "max_source_fragments": _whole,
    "max_source_rows": _whole,
    "max_source_bytes": _whole,
    "excluded_fragment_ids": _ids,
    "data_storage_version": _selector,
}

_NOT_IN_CONFIG = ("num_threads", "io_buffer_size", "excluded_fragment_ids", "verify_pages")
_TEXTS = ("compaction_mode", "data_storage_version")


def _from_config(config: Mapping[str, str]) -> dict[str, Any]:
    """The settings in the table's config; keys of unknown names are ignored."""
    values = {}
    for name, check in _CHECKS.items():
        text = config.get(CONFIG_PREFIX + name)
        if text is None or name in _NOT_IN_CONFIG:
            continue
        try:
            values[name] = check(name, text if name in _TEXTS else _parsed(name, text))
        except (InvalidInputError, UnsupportedFeatureError) as error:
            raise InvalidInputError(
                f"Invalid value for {CONFIG_PREFIX}{name}: {shortened(text)}: {error}"
            ) from error
    return values


def _parsed(name: str, text: str) -> bool | float | int:
    check = _CHECKS[name]
    if check is _flag:
        if text.lower() not in ("true", "false"):
            raise InvalidInputError("expected 'true' or 'false'")
        return text.lower() == "true"
    if check is _share:
        try:
            return float(text)
        except ValueError:
            raise InvalidInputError("expected a number") from None
    if not (text.isascii() and text.isdigit()):
        raise InvalidInputError("expected a whole number from 0 on")
    return int(text)


_JSON_MODES = {
    "Reencode": CompactionMode.REENCODE,
    "TryBinaryCopy": CompactionMode.TRY_BINARY_COPY,
    "ForceBinaryCopy": CompactionMode.FORCE_BINARY_COPY,
}
"""The modes by their names in the JSON form of tasks."""


def settings_to_json(settings: CompactionSettings) -> dict[str, Any]:
    """The JSON form of the settings, with pylance's keys."""
    names = {mode: name for name, mode in _JSON_MODES.items()}
    values = {field.name: getattr(settings, field.name) for field in fields(CompactionSettings)}
    return values | {
        "compaction_mode": names[settings.compaction_mode],
        "excluded_fragment_ids": list(settings.excluded_fragment_ids),
        "index_remap_mode": "Direct",
        "enable_binary_copy": False,
        "enable_binary_copy_force": False,
        "max_overlays_per_fragment": 10,
        "has_eager_remappable_index": None,
    }


def settings_from_json(tree: Mapping[str, Any]) -> CompactionSettings:
    """The settings from their JSON form; raises `InvalidInputError` for invalid values."""
    mode = _JSON_MODES.get(tree.get("compaction_mode") or "Reencode")
    if mode is None:
        raise InvalidInputError(f"unknown compaction mode {tree['compaction_mode']!r}")
    values = {
        name: _CHECKS[name](name, tree[name])
        for name in _CHECKS
        if name != "compaction_mode" and tree.get(name) is not None
    }
    return CompactionSettings(**values, compaction_mode=mode)
