"""Pages that are read to become one page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from lance_core.errors import CorruptFileError
from lance_core_compaction.page_copy.merge_groups import MergedPages
from lance_core_compaction.page_copy.mergeable_pages import PageForm
from lance_core_compaction.page_copy.merged_pages import PageMerges


def test_an_error_of_pages_that_are_fine_one_by_one_is_raised() -> None:
    merges: Any = object.__new__(PageMerges)
    merges._table = SimpleNamespace(files_of=np.zeros_like, rows=np.array([5, 5]))
    form = PageForm(b"", (64,))
    read = mock.Mock(side_effect=[CorruptFileError("together"), None, None])
    with (
        mock.patch.object(PageMerges, "_read", read),
        pytest.raises(CorruptFileError, match="together"),
    ):
        merges.read(np.array([0, 1]), MergedPages(0, 2, 10, [form, form]))
    assert read.call_count == 3
