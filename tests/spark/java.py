"""Options of the Java that runs Spark in tests."""

from __future__ import annotations

JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""For tiny jobs: what compilers could gain is less than what they cost, and Spark's own classes
need no verification."""
