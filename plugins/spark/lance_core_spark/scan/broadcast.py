"""Spark's limit of tables that it copies to each executor."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from lance_core.errors import InvalidInputError

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"

_SIZE = re.compile(r"(-?\d+)\s*([kmgtp]?)i?b?", re.IGNORECASE)


def max_broadcast_bytes(spark: SparkSession) -> int:
    """The most bytes of a table that Spark copies to each executor; negative: of none."""
    text = spark.conf.get(THRESHOLD) or "-1"
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{THRESHOLD} is not a size: {text!r}")
    unit = match[2].lower()
    return int(match[1]) << 10 * (" kmgtp".index(unit) if unit else 0)
