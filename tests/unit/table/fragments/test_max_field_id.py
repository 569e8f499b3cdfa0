"""The highest field id is read without decoding the files of each fragment."""

from __future__ import annotations

import pytest

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.table.fragments import fragment_list
from lance_core.table.fragments.fragment_list import FragmentList
from tests.each_case import each_case

File = table_pb2.DataFile


def fragment(*files: File) -> bytes:
    return table_pb2.DataFragment(id=1, files=files, physical_rows=9).SerializeToString()


def file(*fields: int) -> File:
    return File(path="a.lance", fields=fields, file_size_bytes=7)


UNPACKED = fragment() + b"\x12\x04\x10\x05\x10\x09"  # a file with the fields 5 and 9, one by one


@each_case(
    ("raw", "expected"),
    [
        ([], -2),
        ([fragment()], -2),
        ([fragment(file(0, 1)), fragment(file(0, 1), file(7))], 7),
        ([fragment(file(-2, -2)), fragment(file(-2, 300))], 300),
        ([fragment(file(-2, -2))], -2),
        ([fragment(file(3)), fragment(file())], 3),
        ([fragment(file(3)), UNPACKED], 9),
    ],
)
def test_the_highest_id_of_all_files_is_returned(raw: list[bytes], expected: int) -> None:
    assert FragmentList(raw).max_field_id == expected


def test_each_list_of_fields_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    parse = fragment_list.parse
    monkeypatch.setattr(
        fragment_list,
        "parse",
        lambda kind, data, name: (decoded.append(data), parse(kind, data, name))[1],
    )
    monkeypatch.setattr(FragmentList, "messages", None)
    raw = [fragment(file(0, 1), file(2 + number % 3)) for number in range(300)]
    assert FragmentList(raw).max_field_id == 4
    assert len(decoded) == 4


def test_bytes_that_are_no_fragment_are_refused() -> None:
    for bad in (b"\xff", b"\x12\x7f"):
        with pytest.raises(CorruptFileError):
            FragmentList([fragment(file(1)), bad]).messages()
        with pytest.raises(CorruptFileError):
            _ = FragmentList([fragment(file(1)), bad]).max_field_id
