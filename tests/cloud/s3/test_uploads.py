"""Uploads that killed processes leave are found and dropped."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import CorruptFileError, StoreError
from lance_core_s3.uploads import drop_unfinished_uploads, unfinished_uploads
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Rule, xml_error
from tests.cloud.s3.places import store_of
from tests.servers.moto import Moto

PART = bytes(11 << 20)


def test_uploads_that_nobody_finished_are_listed_and_dropped(moto: Moto, bucket: str) -> None:
    uri = f"s3://{bucket}/folder/t.lance"
    for place in (uri, f"{uri}-other"):
        with store_of(moto, place) as store:
            left, dropped = store.open_writer("data/left"), store.open_writer("data/dropped")
            for writer in (left, dropped):
                writer.write(PART)
            dropped.abort()
            with store.open_writer("data/whole") as whole:
                whole.write(PART)
    (found,) = unfinished_uploads(uri, moto.options)
    assert found.key == "folder/t.lance/data/left"
    assert found.started < datetime.now(UTC)
    # The server says that all uploads were started in 2010.
    assert drop_unfinished_uploads(uri, moto.options, timedelta(days=36500)) == []
    assert drop_unfinished_uploads(uri, moto.options) == [found]
    assert unfinished_uploads(uri, moto.options) == []
    assert len(unfinished_uploads(f"s3://{bucket}", moto.options)) == 1
    with store_of(moto, uri) as store:
        assert store.head("data/whole").size == len(PART)


def test_an_upload_whose_end_got_no_answer_is_found(moto: Moto, bucket: str) -> None:
    uri = f"s3://{bucket}/t"
    with FaultProxy(moto.endpoint) as proxy, store_of(moto, uri, aws_endpoint=proxy.url) as store:
        proxy.set_rules(
            [
                Rule(xml_error(403, "AccessDenied"), "DELETE"),
                Rule(xml_error(403, "AccessDenied"), "POST", query="uploadId=*"),
            ]
        )
        with pytest.raises(StoreError), store.open_writer("a") as writer:
            writer.write(PART)
    assert [one.key for one in drop_unfinished_uploads(uri, moto.options)] == ["t/a"]
    assert unfinished_uploads(uri, moto.options) == []


def test_long_ranges_of_objects_are_copied_inside_the_service(moto: Moto, bucket: str) -> None:
    content = random.Random(1).randbytes(32 << 20)
    uri = f"s3://{bucket}/t"
    with FaultProxy(moto.endpoint) as proxy, store_of(moto, uri, aws_endpoint=proxy.url) as store:
        store.put("source", content)
        proxy.set_rules([])
        with store.open_writer("new") as writer:
            writer.write(b"head")
            store.append_from(writer, "source", [ByteRange(5, len(content) - 1)])
            writer.write(b"end")
        # One part fills the first bytes, two are copied, one has the last bytes.
        parts = [one.sent for one in proxy.requests if "partNumber=" in one.query]
        assert sorted(parts) == [0, 0, (2 << 20) + 1, 10 << 20]
        assert proxy.count("GET") <= 3
        assert store.get("new").to_pybytes() == b"head" + content[5:-1] + b"end"
        with pytest.raises(CorruptFileError), store.open_writer("other") as writer:
            store.append_from(writer, "source", [ByteRange(5, len(content) + 1)])
    assert unfinished_uploads(f"s3://{bucket}", moto.options) == []
