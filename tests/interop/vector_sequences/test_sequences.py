"""Whatever is done in whatever order, an index finds what exact search and pylance find.

``python -m tests.interop.vector_sequences`` (`tox -e vector-sequences`) runs thousands.
"""

from __future__ import annotations

import os

import pytest

from tests.interop.vector_sequences.running import Report, run

SEQUENCES = int(os.environ.get("LANCE_CORE_VECTOR_SEQUENCES", "5"))


@pytest.mark.usefixtures("without_waiting_for_the_disk")
def test_an_index_finds_what_exact_search_and_pylance_find() -> None:
    report = Report()
    for number in range(SEQUENCES):
        run(number, report)
    assert report.failures == []
    agreed = sum(count for text, count in report.counts.items() if "pylance agrees" in text)
    assert agreed > report.counts["answers"] * 0.8
