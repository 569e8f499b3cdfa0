"""Whatever is done in whatever order, text queries find the rows that match, as pylance does.

``python -m tests.interop.text_sequences`` (`tox -e text-sequences`) runs thousands.
"""

from __future__ import annotations

import os

import pytest

from tests.interop.text_sequences.running import Report, run

SEQUENCES = int(os.environ.get("LANCE_CORE_TEXT_SEQUENCES", "3"))


@pytest.mark.usefixtures("without_waiting_for_the_disk")
def test_text_queries_find_the_rows_that_match() -> None:
    report = Report()
    for number in range(SEQUENCES):
        run(number, report)
    assert report.failures == []
    agreed = sum(count for text, count in report.counts.items() if "pylance agrees" in text)
    assert agreed > (report.counts["answers"] - report.counts["pylance is known to differ"]) * 0.9
