"""Options of the Java that runs Spark in tests."""

from __future__ import annotations

SOCKET_TIMEOUT = 300
"""Seconds in which processes of Spark connect to each other. Spark's default of 15 is too short on
a busy machine."""

JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    f"-Dspark.python.authenticate.socketTimeout={SOCKET_TIMEOUT}s"
)
"""For tiny jobs: what compilers could gain is less than what they cost, and Spark's own classes
need no verification."""

CLIENT_ENVIRONMENT = {"SPARK_AUTH_SOCKET_TIMEOUT": str(SOCKET_TIMEOUT)}
"""Variables of the Python process that starts Spark: where it reads this limit, and no setting."""

ENVIRONMENT = {"JDK_JAVA_OPTIONS": JAVA_OPTIONS, **CLIENT_ENVIRONMENT}
"""Variables of a Python process whose Spark gets no options in another way."""
