"""The analyzers of this project fulfil the contract, whose tests fail on planted defects."""

from __future__ import annotations

import pickle

import pytest

from lance_core.hookspecs.analyzers import AnalyzerSpec
from lance_core_testing import AnalyzerTests
from lance_core_text.plugin import lance_analyzers
from tests.conformance.planted import analyzers
from tests.conformance.planted.runner import Defect, failure_of

SPECS = {spec.name: spec for spec in lance_analyzers()}
TESTS = [name for name in vars(AnalyzerTests) if name.startswith("test_")]
IDENTIFIERS = {"split_identifiers": True, "preserve_original": True, "index_operators": True}


class TestCode(AnalyzerTests):
    spec = SPECS["code"]
    words = {"_getX1 += a_b": ["_getX1", "get", "X1", "+=", "a_b", "a", "b"]}  # noqa: RUF012
    parameters = IDENTIFIERS


class TestNgram(AnalyzerTests):
    spec = SPECS["ngram"]
    words = {"aé b": ["aé ", "é b"]}  # noqa: RUF012


class TestRaw(AnalyzerTests):
    spec = SPECS["raw"]
    words = {"a b": ["a b"], "": []}  # noqa: RUF012


class TestSimple(AnalyzerTests):
    spec = SPECS["simple"]
    words = {"a-b é": ["a", "b", "é"]}  # noqa: RUF012


class TestWhitespace(AnalyzerTests):
    spec = SPECS["whitespace"]
    words = {"a-b é": ["a-b", "é"]}  # noqa: RUF012


def kit_of(spec: AnalyzerSpec) -> AnalyzerTests:
    kit = AnalyzerTests()
    kit.spec, kit.words = spec, {"one two": ["one", "two"]}  # type: ignore[misc]
    return kit


@pytest.mark.parametrize("defect", analyzers.ALL, ids=lambda one: one.name)
def test_every_planted_defect_is_caught(defect: Defect) -> None:
    spec = AnalyzerSpec(name="planted", factory=defect.make)  # type: ignore[arg-type]
    for test in defect.tests:
        assert failure_of(kit_of(spec), test, dict) is not None


def test_an_analyzer_without_a_defect_passes() -> None:
    spec = AnalyzerSpec(name="planted", factory=analyzers.Plain)
    assert [failure_of(kit_of(spec), test, dict) for test in TESTS] == [None] * len(TESTS)


def test_descriptors_are_the_same_in_another_process() -> None:
    assert pickle.loads(pickle.dumps(SPECS)) == SPECS
