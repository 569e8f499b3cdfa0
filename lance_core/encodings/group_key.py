"""What the pages of small columns share that are decoded together."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple


class GroupKey(NamedTuple):
    """What the pages of a group of columns share.

    ``max_page_bytes``: maximum stored bytes of a page; a larger one is decoded alone.
    ``is_copied``: True if the arrays of the columns may share memory that is not of the file.
    """

    value: Any
    max_page_bytes: int = sys.maxsize
    is_copied: bool = True
