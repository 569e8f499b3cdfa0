"""Run random sequences of changes, and compare what searches find after each."""

from __future__ import annotations

import random
import shutil
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.interop.vector_sequences.answers import TOLERANCE, alike, answer, finite, text
from tests.interop.vector_sequences.changes import Change, settings
from tests.interop.vector_sequences.codes import COMPARED_BY_CODES, check_codes
from tests.interop.vector_sequences.rows import Rows
from tests.scan_numbers import tune

MEMORY = Path("/dev/shm")
STEPS = 6
"""Maximum changes of a sequence."""


@dataclass
class Report:
    """What sequences have compared. ``counts``: answers by what is known of them."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    """Answers of pylance by an index that are not its own exact ones."""


def run(number: int, report: Report) -> None:
    """Run the sequence with this number, which has always the same changes and queries.

    Indices rank the rows of filters that few rows satisfy, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        tune(patch, ranking={"few_rows": 0})
        _run(number, report)


def _run(number: int, report: Report) -> None:
    every = settings()
    setting = every[number * 7919 % len(every)]
    chance = random.Random(number)
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="lance-vectors-", dir=memory) as folder:
        change = Change(f"{folder}/t", setting, Rows(setting.number, setting.metric, chance))
        try:
            change.create()
            check(change, report)
            for _ in range(chance.randrange(1, STEPS + 1)):
                before = dict(change.rows.vectors)
                try:
                    change.step()
                except BaseException as error:
                    if not _is_refusal(error):
                        raise
                    report.counts[f"refused: {change.steps[-1]}: {str(error)[:70]}"] += 1
                    change.rows.vectors = before
                check(change, report)
        except Exception as error:
            steps = "; ".join(change.steps)
            message = f"{type(error).__name__}: {error}"
            report.failures.append(f"{number}: {setting.name}: {steps}: {message}")
    shutil.rmtree(folder, ignore_errors=True)


def _is_refusal(error: BaseException) -> bool:
    """True for an error that pylance raised, whose panics are no ``Exception``.

    Also if there are too few rows to train codes.
    """
    trace, last = error.__traceback__, ""
    while trace is not None:
        last, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    is_of_pylance = "/lance/" in last and "lance_core" not in last
    return is_of_pylance or "Not enough rows to train PQ" in str(error)


def check(change: Change, report: Report) -> None:
    """Compare a search by the index with exact search, the model and pylance."""
    rows, setting, chance = change.rows, change.setting, change.random
    query = rows.query()
    k = chance.choice([1, 5, 10, 10, len(rows.vectors) + 3])
    nearest: dict[str, Any] = {"column": "v", "q": query, "k": k}
    indices = lance_core.dataset(change.uri).describe_indices()
    is_used = any(one.num_rows_indexed for one in indices)
    if chance.random() < 0.5 or not is_used:
        nearest["metric"] = setting.metric  # of few rows, pylance trains no codebook
    every = {"nprobes": 1_000, "refine_factor": 2 + len(rows.vectors) // k}
    exactly = {"use_index": False, "metric": setting.metric}
    scan: dict[str, Any] = {}
    divisor = chance.choice([0, 0, 2, 3, 40])
    if divisor:
        scan = {"filter": f"id % {divisor} = 1", "prefilter": True}
    ids = [id_ for id_ in rows.vectors if not divisor or id_ % divisor == 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = answer(lance_core, change.uri, nearest | every, scan)
        exact = answer(lance_core, change.uri, nearest | exactly, scan)
    # An index has no infinite vectors, which are last.
    expected = exact.filter(pa.compute.is_finite(exact["_distance"]))
    found = ours.filter(pa.compute.is_finite(ours["_distance"]))
    if not found.equals(expected):
        lost = set(expected["id"].to_pylist()) - set(found["id"].to_pylist())
        message = f"by the index {text(found)}, exactly {text(expected)}"
        raise AssertionError(f"{message}; {_who_lost(change, lost, nearest | every, scan)}")
    report.counts["answers"] += 1
    _check_model(rows.nearest(query, ids), exact, k, setting.number)
    if "HNSW" in setting.kind:
        every["ef"] = every["refine_factor"] * k + 1
    _check_pylance(change, nearest, every, exactly, scan, ours, report)
    if setting.kind in COMPARED_BY_CODES and is_used and not divisor and k <= 10:
        check_codes(change, nearest, report.counts)


def _who_lost(change: Change, lost: set[int], nearest: dict[str, Any], scan: dict[str, Any]) -> str:
    """Whether a search lost rows, or a change of the index: pylance then lacks them, too."""
    try:
        theirs = set(answer(lance, change.uri, nearest, scan)["id"].to_pylist())
    except Exception as error:
        return f"pylance cannot search: {error}"
    if lost & theirs:
        return f"pylance finds {sorted(lost & theirs)[:5]} by the same files"
    return f"pylance does not find these rows by the index either, after {change.steps[-1:]}"


def _check_model(distances: dict[int, float], exact: pa.Table, k: int, number: str) -> None:
    """The rows of an exact search are the nearest by the plain definition."""
    ids, found = exact["id"].to_pylist(), exact["_distance"].to_numpy()
    assert len(ids) == len(set(ids)) == min(k, len(distances)), f"{len(ids)} of {len(distances)}"
    assert set(ids) <= distances.keys(), f"rows that there are not: {set(ids) - distances.keys()}"
    expected = np.array(sorted(distances.values())[:k])
    tolerance = TOLERANCE[number]
    same = np.isclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert same.all(), f"distances {found.tolist()} instead of {expected.tolist()}"
    own = np.array([distances[id_] for id_ in ids])
    same = np.isclose(found, own, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert same.all(), f"distances {found.tolist()} of rows at {own.tolist()}"


def _check_pylance(
    change: Change,
    nearest: dict[str, Any],
    every: dict[str, Any],
    exactly: dict[str, Any],
    scan: dict[str, Any],
    ours: pa.Table,
    report: Report,
) -> None:
    """pylance finds the same, unless its index does not agree with its own exact search."""
    by = "+".join(sorted(change.indexed_by))
    try:
        theirs = answer(lance, change.uri, nearest | every, scan)
        exact = answer(lance, change.uri, nearest | exactly, scan)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if change.indexed_by == {"lance_core"} and not _has_graph_of_removed_rows(change, error):
            raise AssertionError(f"index of ours: pylance cannot search: {error}") from None
        report.counts[f"index of {by}: pylance cannot search: {str(error)[:70]}"] += 1
        return
    own, tolerance = finite(ours), TOLERANCE[change.setting.number]
    if not alike(own, finite(exact), tolerance):
        report.counts["pylance's exact search differs"] += 1
        report.failures.append(f"exact {text(exact)} by pylance, {text(ours)}")
    elif alike(own, finite(theirs), tolerance):
        report.counts[f"index of {by}: pylance agrees"] += 1
    else:
        kind = "HNSW" if "HNSW" in change.setting.kind else "others"
        report.counts[f"index of {by}: pylance differs from itself ({kind})"] += 1
        message = f"{text(theirs)} by the index, {text(exact)} exactly"
        report.differences.append(f"{change.setting.name}: {'; '.join(change.steps)}: {message}")
        if change.indexed_by == {"lance_core"}:
            raise AssertionError(f"pylance by an index of ours: {message}")


def _has_graph_of_removed_rows(change: Change, error: BaseException) -> bool:
    """True where pylance cannot search any graph, its own neither.

    After a compaction that defers the remap of indices, it reads the vectors of the rows that are
    left, and refuses the graph, which still has the removed ones.
    """
    is_deferred = any(step.startswith("compact_and_defer") for step in change.steps)
    return is_deferred and "HNSW graph has" in str(error)
