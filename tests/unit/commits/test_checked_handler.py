"""What a plugin's commit handler says of versions is believed only if it can be true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lance_core.commits.base import CommitHandlerSpec, ManifestLocation
from lance_core.commits.checked_handler import checked, unchecked
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import InvalidInputError, OutcomeUnknownError, StoreError
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import NamingScheme, manifest_path
from lance_core_testing.sample_transactions import first_candidate


def at(version: int, **others: Any) -> ManifestLocation:
    scheme = NamingScheme.V2
    return replace(ManifestLocation(version, manifest_path(version, scheme), scheme), **others)


class Saying(PutIfAbsentCommitHandler):
    """Says ``answer`` to every question."""

    answer: Any = None

    def latest(self) -> Any:
        return self.answer

    def locate(self, version: int) -> Any:
        return self.answer

    def list_versions(self) -> Any:
        return self.answer

    def commit(self, candidate: Any) -> Any:
        super().commit(candidate)
        return self.answer


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"version": "1"}, "whose version is"),
        ({"version": True}, "whose version is"),
        ({"version": 0}, "of version 0 "),
        ({"version": 1 << 64}, f"of version {1 << 64} "),
        ({"path": b"x"}, "whose path is"),
        ({"path": "_versions/2.manifest"}, "the path '_versions/2.manifest'"),
        ({"naming": "V2"}, "whose naming is"),
        ({"size": "1"}, "whose size is"),
        ({"size": -1}, "and size -1"),
        ({"etag": 5}, "whose etag is"),
    ],
)
def test_locations_with_wrong_fields_are_refused(wrong: dict[str, Any], match: str) -> None:
    handler = Saying(MemoryStore())
    handler.answer = replace(at(1), **wrong)
    guarded = checked(handler, handler.store, "handler 'x'")
    with pytest.raises(StoreError, match=f"handler 'x': latest returned .*{match}"):
        guarded.latest()
    with pytest.raises(StoreError, match=match):
        guarded.locate(1)
    with pytest.raises(OutcomeUnknownError, match=match):
        guarded.commit(first_candidate())


def test_right_answers_are_forwarded() -> None:
    handler = Saying(MemoryStore())
    guarded = checked(handler, handler.store)
    assert guarded.latest() is None
    for answer in (at(1), at(1, size=5, etag="e"), at((1 << 63) - 1)):
        handler.answer = answer
        assert guarded.latest() is guarded.locate(answer.version) is answer
    handler.answer = [at(1), at(3)]
    assert guarded.list_versions() == [at(1), at(3)]
    assert unchecked(guarded) is handler
    own = PutIfAbsentCommitHandler(handler.store)
    assert checked(own, handler.store) is own


def test_answers_about_other_versions_are_refused() -> None:
    handler = Saying(MemoryStore())
    guarded = checked(handler, handler.store)
    handler.answer = at(1 << 63 | 1)
    with pytest.raises(StoreError, match="detached version"):
        guarded.latest()
    handler.answer = at(2)
    with pytest.raises(StoreError, match="version 2 instead of 1"):
        guarded.locate(1)
    for answer, match in (
        ([at(3), at(1)], "version 1 after 3"),
        ([at(1), at(1)], "version 1 after 1"),
        ([at(1 << 63 | 1)], "detached version"),
        ("text", "str"),
        (None, "None"),
    ):
        handler.answer = answer
        with pytest.raises(StoreError, match=match):
            guarded.list_versions()


def test_a_commit_is_unknown_unless_its_location_is_that_of_the_candidate() -> None:
    store, candidate = MemoryStore(), first_candidate()
    handler = Saying(store)
    guarded = checked(handler, store)
    size = len(candidate.data)
    for answer in (None, True, at(2), at(1, size=size + 1)):
        handler.answer = answer
        with pytest.raises(OutcomeUnknownError, match="commit returned"):
            guarded.commit(candidate)
        store.delete(candidate.path)
    handler.answer = at(1, size=size)
    assert guarded.commit(candidate) is handler.answer


def test_a_handler_that_requires_what_no_store_can_have_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'strong_read', which is not a store capability"):
        CommitHandlerSpec(name="x", factory="m:f", requires=frozenset({"strong_read"}))
    with pytest.raises(InvalidInputError, match="not a set of capability names"):
        CommitHandlerSpec(name="x", factory="m:f", requires=["strong_reads"])  # type: ignore[arg-type]
