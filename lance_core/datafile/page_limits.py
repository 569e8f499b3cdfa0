"""When collected rows become pages: what a caller asks for, the environment, the defaults."""

from __future__ import annotations

import os

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass

MAX_PAGE_BYTES_VARIABLE = "LANCE_FILE_WRITER_MAX_PAGE_BYTES"
DICTIONARY_THRESHOLD_VARIABLE = "LANCE_DICT_ENCODING_THRESHOLD"

_FIELD_BYTES = 8 << 20
_MAX_PAGE_BYTES = 32 << 20
_DICTIONARY_THRESHOLD = 100


@dataclass(frozen=True, slots=True)
class PageLimits:
    """``flush_bytes``: a field's rows become a page when they exceed this many bytes.

    ``max_page_bytes``: more than this from one array becomes several pages.
    ``dictionary_threshold``: at least this many strings of fewer different values are stored as a
    dictionary.
    """

    flush_bytes: int
    max_page_bytes: int
    dictionary_threshold: int


def page_limits(
    num_fields: int, data_cache_bytes: int | None, max_page_bytes: int | None
) -> PageLimits:
    """The limits for a file of ``num_fields`` top-level fields.

    ``data_cache_bytes`` are shared evenly among the fields; None means 8 MiB for each. None for
    ``max_page_bytes`` means the environment variable or 32 MiB. Raises `InvalidInputError` for
    negative numbers and for environment variables that are not numbers.
    """
    for name, given in (("data_cache_bytes", data_cache_bytes), ("max_page_bytes", max_page_bytes)):
        if given is not None and given < 0:
            raise InvalidInputError(f"{name} cannot be negative, but is {given}")
    if max_page_bytes is None:
        max_page_bytes = _from_environment(MAX_PAGE_BYTES_VARIABLE, _MAX_PAGE_BYTES)
    flush_bytes = _FIELD_BYTES
    if data_cache_bytes is not None:
        flush_bytes = data_cache_bytes // max(1, num_fields)
    threshold = _from_environment(DICTIONARY_THRESHOLD_VARIABLE, _DICTIONARY_THRESHOLD)
    return PageLimits(flush_bytes, max(1, max_page_bytes), threshold)


def _from_environment(name: str, default: int) -> int:
    text = os.environ.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit():
        raise InvalidInputError(f"environment variable {name} must be a number, but is {text!r}")
    return int(text)
