"""The session of all tests of Spark, and the servers of all tests of clouds."""

from __future__ import annotations

from tests.spark.conftest import spark

__all__ = ["spark"]
