"""What all verbs of a table have: the table, and the session that works on it."""

from __future__ import annotations

from lance_core_spark.table.target import Target


class TableVerbs:
    """A part of the verbs of `LanceTable`."""

    _target: Target
