"""Tags and branches as values: what other writers store, names that must not be, garbage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lance_core.errors import CorruptFileError, InvalidRefError
from lance_core.table.refs import (
    Branch,
    Tag,
    branch_folder,
    branch_or_main,
    branch_path,
    check_branch_name,
    check_tag_name,
    name_of_branch_file,
    name_of_tag_file,
    recorded_branch,
    tag_path,
)
from tests.each_case import each_case

TAG = b"""{
  "branch": "b1",
  "version": 3,
  "createdAt": "2026-11-21T02:41:16.266190359Z",
  "updatedAt": "2026-11-21T02:41:17.000000001Z",
  "manifestSize": 532,
  "metadata": {
    "z": "1"
  }
}"""
BRANCH = b"""{
  "parentBranch": null,
  "identifier": {
    "version_mapping": [
      [
        2,
        "f4fe877411b24ee7828f0a0952061909"
      ]
    ]
  },
  "parentVersion": 2,
  "createAt": 1795228876,
  "manifestSize": 416,
  "metadata": {}
}"""

HOSTILE = [
    "", ".", "..", "/", "//", "/a", "a/", "a//b", "../a", "a/..", "a/../b", "a/../../b",
    "./a", "a/.", "a/./b", "..\\a", "a\\b", "\\", "C:", "C:\\x", "C:/x", "\\\\host\\share",
    "//host/share", "%2e%2e", "%2e%2e/a", "a%2fb", "a%2Fb", "a%5cb", "%00", "a\0b", "\0", "a\nb",
    "a\rb", "a\tb", "a b", " ", " a", "a ", "~", "~/a", "~root/a", "$HOME", "${HOME}", "a;b",
    "a|b", "a&b", "a?b", "a#b", "a*b", "a:b", "file:///etc", "s3://bucket/a", "http://host/a",
    "a@b", "\u2215etc", "\uff0fetc", "\u2044etc", "\u2024\u2024", "\uff0e\uff0e", "\u202e",
    "\u200b", "\ud800", "a..b", "...", "a/b/..", "x" * 201, "a/" * 150 + "b", "é" * 150, "a.lock",
]  # fmt: skip


@each_case("name", HOSTILE)
def test_what_could_lead_elsewhere_is_no_name(name: str) -> None:
    for check in (check_tag_name, check_branch_name, tag_path, branch_path, branch_folder):
        with pytest.raises(InvalidRefError):
            check(name)
    assert recorded_branch(name) is None


@each_case("name", [None, 5, b"a", ["a"], object()])
def test_what_is_no_text_is_no_name(name: Any) -> None:
    for check in (check_tag_name, check_branch_name):
        with pytest.raises(InvalidRefError, match="not text"):
            check(name)


@each_case("name", [".a", "a.", "a/b", "a.lock"])
def test_tags_have_no_dots_at_their_ends_and_one_segment(name: str) -> None:
    with pytest.raises(InvalidRefError):
        check_tag_name(name)


@each_case("name", ["main", "a/b.lock", "a.lock"])
def test_names_that_branches_must_not_have_are_refused(name: str) -> None:
    with pytest.raises(InvalidRefError):
        check_branch_name(name)


@each_case("name", ["a/data", "a/_versions", "a/b/_deletions", "é"])
def test_new_branches_do_not_lie_among_files_of_others(name: str) -> None:
    assert check_branch_name(name) == name  # other writers may have made it
    with pytest.raises(InvalidRefError):
        check_branch_name(name, new=True)


@each_case("name", ["a", "1", "-x", "_", "v1.2-rc_3", "main", "A" * 200])
def test_names_of_tags_lead_to_their_files_and_back(name: str) -> None:
    assert check_tag_name(name, new=True) == name
    assert tag_path(name) == f"_refs/tags/{name}.json"
    assert name_of_tag_file(f"{name}.json") == name


@each_case(
    ("name", "file"),
    [("a", "a.json"), ("a/b", "a%2Fb.json"), (".a", ".a.json"), ("é/1", "%C3%A9%2F1.json")],
)
def test_names_of_branches_lead_to_their_files_and_back(name: str, file: str) -> None:
    assert branch_path(name) == f"_refs/branches/{file}"
    assert name_of_branch_file(file) == name
    assert branch_folder(name) == f"tree/{name}"


def test_files_that_are_no_json_hold_no_ref() -> None:
    assert name_of_tag_file("a.json.tmp") is None
    assert name_of_branch_file(".DS_Store") is None


@each_case(
    "file", [".json", "..json", "a b.json", "%2e%2e.json", "a%2fb.json", "%ff.json", "main.json",
             "a%252Fb.json", "%61.json", "a%00.json"]
)  # fmt: skip
def test_files_whose_names_are_not_those_of_branches_are_corrupt(file: str) -> None:
    with pytest.raises(CorruptFileError):
        name_of_branch_file(file)


def test_main_is_the_branch_without_a_name() -> None:
    assert branch_or_main(None) is None
    assert branch_or_main("main") is None
    assert branch_or_main("a/b") == "a/b"


def test_what_other_writers_store_is_read_and_written_byte_by_byte() -> None:
    tag = Tag.from_json(TAG)
    assert (tag.version, tag.branch, tag.manifest_size, tag.metadata) == (3, "b1", 532, {"z": "1"})
    assert tag.created_at_ns == 1795228876266190359
    assert tag.updated_at_ns == 1795228877000000001
    assert tag.to_json() == TAG
    branch = Branch.from_json(BRANCH)
    assert branch.identifier == ((2, "f4fe877411b24ee7828f0a0952061909"),)
    assert (branch.parent_version, branch.parent_branch, branch.created_at) == (2, None, 1795228876)
    assert branch.to_json() == BRANCH


def test_files_of_old_writers_have_fewer_members() -> None:
    assert Tag.from_json(b'{"version": 4, "manifestSize": 5}') == Tag(4, None, 5)
    old = b'{"parentBranch": "main", "parentVersion": 2, "createAt": 3, "manifestSize": 4}'
    assert Branch.from_json(old) == Branch(2, None, (), 3, 4)


def test_members_that_are_not_known_stay() -> None:
    stored = {**json.loads(TAG), "later": [1, {"x": None}]}
    tag = Tag.from_json(json.dumps(stored).encode())
    assert json.loads(tag.to_json()) == stored


@each_case(
    ("text", "time_ns"),
    [
        ("2026-11-21T02:41:16+01:00", 1795225276_000_000_000),
        ("2026-11-21t02:41:16.5z", 1795228876_500_000_000),
        ("1970-01-01 00:00:00.0000000019Z", 1),
    ],
)
def test_times_may_have_a_zone_and_any_precision(text: str, time_ns: int) -> None:
    tag = Tag.from_json(json.dumps({"version": 1, "createdAt": text}).encode())
    assert tag.created_at_ns == time_ns


GARBAGE: list[bytes] = [
    b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 100_000, b"{}",
    b'{"version": NaN}', b'{"version": 1e400}', b'{"version": "1"}', b'{"version": -1}',
    b'{"version": true}', b'{"version": 18446744073709551616}', b'{"version": 1.0}',
    b'{"version": ' + b"9" * 5000 + b"}", b'{"version": 1, "branch": "../x"}',
    b'{"version": 1, "branch": 5}', b'{"version": 1, "metadata": []}',
    b'{"version": 1, "metadata": {"a": 1}}', b'{"version": 1, "createdAt": "yesterday"}',
    b'{"version": 1, "createdAt": 5}', b'{"version": 1, "createdAt": "2026-13-41T00:00:00Z"}',
    b'{"version": 1, "createdAt": "0001-01-01T00:00:00+23:59"}',
    b'{"version": 1, "manifestSize": -1}', b'{"version": 1, "later": NaN}',
]  # fmt: skip


@each_case("data", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_tag_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptFileError) as caught:
        Tag.from_json(data, "_refs/tags/t.json")
    assert caught.value.path == "_refs/tags/t.json"


@each_case(
    "change",
    [{"parentVersion": None}, {"parentBranch": "a/../b"}, {"identifier": 5}, {"createAt": "x"},
     {"identifier": {"version_mapping": [[1]]}}, {"identifier": {"version_mapping": [[1, 2]]}},
     {"identifier": {"version_mapping": [["1", "x"]]}}, {"identifier": {"version_mapping": 3}}],
)  # fmt: skip
def test_what_is_no_branch_is_corrupt(change: dict[str, Any]) -> None:
    data = json.dumps({**json.loads(BRANCH), **change}).encode()
    with pytest.raises(CorruptFileError):
        Branch.from_json(data)
