"""Limits on the size of pages, from the caller, the environment or the defaults."""

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
    """Limits that decide when buffered rows become a page.

    ``flush_bytes``: a field's buffered rows become a page if they exceed this number of bytes.
    ``max_page_bytes``: a larger array is split into several pages. ``dictionary_threshold``: a page
    with at least this many strings and fewer distinct values is stored as a dictionary.
    """

    flush_bytes: int
    max_page_bytes: int
    dictionary_threshold: int


def page_limits(
    num_fields: int, data_cache_bytes: int | None, max_page_bytes: int | None
) -> PageLimits:
    """The limits for a file of ``num_fields`` top-level fields.

    ``data_cache_bytes`` is divided evenly among the fields; None means 8 MiB per field. None for
    ``max_page_bytes`` means `MAX_PAGE_BYTES_VARIABLE` from the environment, or 32 MiB. Raises
    `InvalidInputError` for a negative number and for an environment variable that is not a number.
    """
    for name, limit in (("data_cache_bytes", data_cache_bytes), ("max_page_bytes", max_page_bytes)):
        if limit is not None and limit < 0:
            raise InvalidInputError(f"{name} cannot be negative, but is {limit}")
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
