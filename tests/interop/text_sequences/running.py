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

import lance_core
from lance_core_text import analyze
from tests.interop.text_sequences.changes import CHANGES, Change, settings
from tests.interop.text_sequences.questions import COLUMN, Question, random_question
from tests.interop.text_sequences.rows import Rows

MEMORY = Path("/dev/shm")
STEPS = 6
"""Maximum changes of a sequence."""

QUESTIONS = 3
"""After each change."""

TOLERANCE = 1e-5
"""The relative difference of scores."""

Scores = dict[int, float]
"""The score of each row by its id, in the order of an answer."""


@dataclass
class Report:
    """What sequences have compared. ``counts``: answers by what is known of them."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    """Answers of pylance that do not have the rows that match."""


def run(number: int, report: Report) -> None:
    """Run the sequence with this number, which has always the same changes and queries."""
    every = settings()
    setting = every[number * 7919 % len(every)]
    chance = random.Random(number)
    memory = MEMORY if MEMORY.is_dir() else None
    language = setting.parameters.get("language", "English")
    with tempfile.TemporaryDirectory(prefix="lance-texts-", dir=memory) as folder:
        change = Change(f"{folder}/t", setting, Rows(setting.kind, language, chance))
        try:
            change.create()
            check(change, report)
            for _ in range(chance.randrange(1, STEPS + 1)):
                _step(change, report)
                check(change, report)
        except Exception as error:
            steps = "; ".join(change.steps)
            message = f"{type(error).__name__}: {error}"
            report.failures.append(f"{number}: {setting.name}: {steps}: {message}")
    shutil.rmtree(folder, ignore_errors=True)


def _step(change: Change, report: Report) -> None:
    """One change. After a compaction, a query finds the same rows with the same scores."""
    name = change.random.choice(CHANGES)
    library = change.random.choice([lance, lance_core])
    question = random_question(change.rows, _forms(change))
    before = dict(change.rows.texts)
    is_compaction = name.startswith("compact")
    scores = answer(lance_core, change.uri, question) if is_compaction else {}
    try:
        change.step(name, library)
    except BaseException as error:
        if not _is_refusal(error):
            raise
        report.counts[f"refused: {change.steps[-1]}: {str(error)[:70]}"] += 1
        change.rows.texts = before
        return
    if is_compaction:
        after = answer(lance_core, change.uri, question)
        assert after.keys() == scores.keys(), f"other rows after a compaction: {question}"
        report.counts["compactions"] += 1
        if not alike(after, scores):
            report.counts["compactions after which scores are others"] += 1


def _is_refusal(error: BaseException) -> bool:
    """True for an error that pylance raised, whose panics are no ``Exception``."""
    trace, last = error.__traceback__, ""
    while trace is not None:
        last, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return "/lance/" in last and "lance_core" not in last


def _forms(change: Change) -> list[str]:
    """The forms of questions that the index answers."""
    forms = ["any", "any", "any", "all", "boolean", "boost", "fuzzy"]
    if change.setting.texts.base_tokenizer in ("ngram", "code", "raw"):
        forms.remove("fuzzy")  # edits of parts of identifiers and of whole texts
    return [*forms, "phrase", "phrase"] if change.setting.has_positions else forms


def answer(library: Any, uri: str, question: Question, **options: Any) -> Scores:
    """The rows of an answer with their scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("error" if library is lance_core else "ignore")
        found = library.dataset(uri).to_table(
            ["id", "_score"], full_text_query=question.query(library), **options
        )
    ids, scores = found["id"].to_pylist(), found["_score"].to_pylist()
    assert len(ids) == len(set(ids)), "a row is returned twice"
    return dict(zip(ids, scores, strict=True))


def alike(first: Scores, second: Scores) -> bool:
    """True if the scores of all rows are equal."""
    return first.keys() == second.keys() and all(
        _is_near(score, second[id_]) for id_, score in first.items()
    )


def _is_near(first: float, second: float) -> bool:
    return abs(first - second) <= TOLERANCE * max(1.0, abs(first))


def check(change: Change, report: Report) -> None:
    """Compare searches with the definition of queries, and with pylance."""
    rows = change.rows.positions(change.rows.texts, change.setting.texts)
    for _ in range(QUESTIONS):
        question = random_question(change.rows, _forms(change))
        scan: dict[str, Any] = {}
        divisor = change.random.choice([0, 0, 2, 40])
        if divisor:
            scan = {"filter": f"id % {divisor} = 1", "prefilter": True}
        own = {id_: one for id_, one in rows.items() if not divisor or id_ % divisor == 1}
        try:
            ours = answer(lance_core, change.uri, question, **scan)
            expected = question.matches(own, change.setting.texts)
            if question.form == "fuzzy":
                known = question.matches(rows, change.setting.texts)
                expected = {id_ for id_ in known if id_ in own}
            missing, more = expected - ours.keys(), ours.keys() - expected
            assert not missing, f"{missing} are missing"
            assert not more, f"{more} do not match"
            _check_heads(change, question, scan, ours)
            report.counts["answers"] += 1
            _check_pylance(change, question, scan, ours, report)
        except AssertionError as error:
            raise AssertionError(f"{question} {scan}: {error}") from None


def _check_heads(change: Change, question: Question, scan: dict[str, Any], ours: Scores) -> None:
    """The best rows are the head of all rows, also where several have the same score."""
    every = list(ours.items())
    scores = [score for _, score in every]
    assert scores == sorted(scores, reverse=True), "the rows are not sorted"
    for count in (1, change.random.randrange(2, 12)):
        head = answer(lance_core, change.uri, question, limit=count, **scan)
        assert list(head.items()) == every[:count], f"{head} instead of {every[:count]}"


def _check_pylance(
    change: Change, question: Question, scan: dict[str, Any], ours: Scores, report: Report
) -> None:
    """pylance finds the same rows and scores, unless it is known not to."""
    if _differs(change, question):
        report.counts["pylance is known to differ"] += 1
        return
    by = "+".join(sorted(change.indexed_by))
    try:
        theirs = answer(lance, change.uri, question, **scan)
        best = answer(lance, change.uri, question, limit=7, **scan)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        report.counts[f"index of {by}: pylance cannot search: {str(error)[:90]}"] += 1
        if change.indexed_by == {"lance_core"}:
            report.differences.append(_message(change, question, f"cannot search: {error}"))
        return
    if alike(ours, theirs):
        pairs = zip(list(ours.values())[: len(best)], best.values(), strict=True)
        if len(best) == min(7, len(ours)) and all(_is_near(*pair) for pair in pairs):
            report.counts[f"index of {by}: pylance agrees"] += 1
        else:
            report.counts[f"index of {by}: pylance's best rows are others"] += 1
            report.differences.append(_message(change, question, f"best: {best}, {ours}"))
        return
    missing, more = ours.keys() - theirs.keys(), theirs.keys() - ours.keys()
    if missing or more:
        report.counts[f"index of {by}: pylance has other rows"] += 1
        text = f"without {sorted(missing)[:5]}, with {sorted(more)[:5]}"
    else:
        report.counts[f"index of {by}: pylance has other scores"] += 1
        others = [
            (id_, score, theirs[id_])
            for id_, score in ours.items()
            if not _is_near(score, theirs[id_])
        ]
        text = f"scores (id, ours, theirs): {others[:4]}"
    report.differences.append(_message(change, question, f"{scan}: {text}"))


def _differs(change: Change, question: Question) -> bool:
    """True where `docs/plugins/text.md` says that pylance finds other rows or scores."""
    texts = change.setting.texts
    stats = lance_core.dataset(change.uri).stats.index_stats(f"{COLUMN}_idx")
    is_whole = stats["num_unindexed_rows"] == 0
    for leaf in question.leaves:
        if leaf.form == "fuzzy" and (texts.stem or not is_whole):
            return True
        if leaf.form == "phrase" and leaf.number and len(analyze(leaf.text, texts)) > 2:
            return True
        if texts.base_tokenizer == "ngram" and not is_whole:
            return True
    return False


def _message(change: Change, question: Question, text: str) -> str:
    return f"{change.setting.name}: {'; '.join(change.steps)}: {question}: {text}"
