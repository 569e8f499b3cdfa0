"""The contract of namespaces fails on each planted defect, and on nothing without one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lance_core_testing.namespaces import NamespaceTests
from tests.conformance.planted import namespaces
from tests.conformance.planted.runner import failure_of


class Kit(NamespaceTests):
    secrets = (namespaces.SECRET,)


def test_every_planted_defect_of_a_namespace_is_caught(tmp_path: Path) -> None:
    missed = [
        one.name
        for one in namespaces.ALL
        for test in one.tests
        if not failure_of(Kit(), test, partial(namespaces.fixtures, one.make, tmp_path))
    ]
    assert missed == []
    assert len(namespaces.ALL) >= 25


def test_a_namespace_without_a_defect_passes(tmp_path: Path) -> None:
    tests = sorted({test for one in namespaces.ALL for test in one.tests})
    kinds = [(namespaces.Good, tests), (namespaces.Managed, [tests[-1]])]
    told = [
        f"{test}: {text}"
        for make, names in kinds
        for test in names
        if (text := failure_of(Kit(), test, partial(namespaces.fixtures, make, tmp_path)))
    ]
    assert told == []
