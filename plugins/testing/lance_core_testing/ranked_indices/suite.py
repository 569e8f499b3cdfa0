"""The contract of searches and ranked indices, as tests to inherit.

::

    class TestSortedNumbers(RankedIndexTests):
        spec = lance_core_example_closest.SPEC
        search = lance_core_example_closest.SEARCH

        def values(self):
            return pa.array([...])

        def targets(self):
            return [0.5, 7.0, 1e9]

        def argument(self, targets, k):
            return {"column": "value", "to": targets, "k": k}

        def naive_score(self, value, target):
            return abs(value - target)

Every answer is compared with a plain evaluation of all values.
"""

from __future__ import annotations

from lance_core_testing.ranked_indices.answers import AnswerTests, FileTests, QueryTests
from lance_core_testing.ranked_indices.changes import MergeTests
from lance_core_testing.ranked_indices.tables import TableTests


class RankedIndexTests(QueryTests, AnswerTests, MergeTests, FileTests, TableTests):
    """The contract of a search and of a type of index that answers it.

    Set ``spec`` and ``search``, and override `values`, `targets`, `argument` and `naive_score`.
    ``parameters``: those of all built indices. If indices have approximate scores, set
    ``is_exact`` to False.
    """
