"""Requests to S3 as OpenTelemetry gets them: spans in those of commits, and retries."""

from __future__ import annotations

import pyarrow as pa

import lance_core
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Rule
from tests.otel.conftest import Telemetry, telemetry
from tests.servers.moto import Moto

__all__ = ["telemetry"]

ROWS = pa.table({"id": range(100)})


def test_requests_of_a_commit_are_parts_of_its_span_and_retries_are_counted(
    moto: Moto, proxy: FaultProxy, telemetry: Telemetry
) -> None:
    options = moto.options | {"aws_endpoint": proxy.url}
    proxy.set_rules([Rule(Answer(503), "PUT", "*.manifest", times=1)])
    uri = f"s3://{moto.new_bucket()}/t"
    table = lance_core.write_dataset(ROWS, uri, storage_options=options)
    assert table.to_table().num_rows == 100
    (commit,) = telemetry.spans("lance.commit")
    puts = telemetry.spans("lance.store.put")
    inside = [
        dict(span.attributes or {})
        for span in puts
        if span.parent is not None and span.parent.span_id == commit.context.span_id
    ]
    assert {str(each["lance.path"]).partition("/")[0] for each in inside} >= {"_versions"}
    assert all(each["lance.scheme"] == "s3" for each in inside)
    assert telemetry.total("lance.store.bytes", scheme="s3", direction="read") > 0
    assert proxy.struck == 1
    assert telemetry.total("lance.store.retries") == 1
