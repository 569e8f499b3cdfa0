"""What users see of errors and values is short, and nothing in it controls their terminal."""

from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.short_tracebacks import VARIABLE
from lance_core.errors import LanceError
from tests.each_case import each_case

NAME = "bad\x1b[31mname\u202e"
ROWS = pa.table({"a": [1, 2], NAME: [3, 4]})


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    return lance.write_dataset(ROWS, tmp_path_factory.mktemp("tables") / "t")


MISTAKES: dict[str, Callable[[lance.LanceDataset], object]] = {
    "columns": lambda ds: ds.to_table(columns=["b"]),
    "filter": lambda ds: ds.to_table(filter="b > 1"),
    "pages of batches": lambda ds: list(ds.to_batches(columns=["b"])),
    "order": lambda ds: ds.scanner(order_by=["b"]).to_table(),
    "count": lambda ds: ds.count_rows("b > 1"),
    "take": lambda ds: ds.take([0], columns=["b"]),
    "fragment": lambda ds: ds.get_fragments()[0].to_table(columns=["b"]),
    "delete": lambda ds: ds.delete("b = 1"),
    "update": lambda ds: ds.update({"b": "1"}),
    "add": lambda ds: ds.add_columns({"c": "b + 1"}),
    "drop": lambda ds: ds.drop_columns(["b"]),
    "merge": lambda ds: ds.merge_insert("b").when_matched_update_all().execute(ROWS),
    "index": lambda ds: ds.create_scalar_index("b", "BTREE"),
    "tag": lambda ds: lance.dataset(ds.uri, version="b"),
    "append": lambda ds: lance.write_dataset(pa.table({"b": [1]}), ds, mode="append"),
    "open": lambda ds: lance.dataset(f"{ds.uri}b"),
}


@each_case("name", list(MISTAKES))
def test_an_error_in_an_argument_is_raised_by_the_call(
    dataset: lance.LanceDataset, name: str
) -> None:
    with pytest.raises(LanceError) as raised:
        MISTAKES[name](dataset)
    lines = traceback.format_exception(raised.value)
    assert len("".join(lines).splitlines()) <= 24, "".join(lines)


def test_the_whole_traceback_can_be_asked_for(
    dataset: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "full")
    with pytest.raises(LanceError) as raised:
        dataset.to_table(columns=["b"])
    assert len(traceback.extract_tb(raised.value.__traceback__)) > 5


def test_the_frames_of_an_error_hold_no_secret(tmp_path: Path) -> None:
    options = {"aws_secret_access_key": "do-not-show"}
    with pytest.raises(LanceError) as raised:
        lance.dataset(tmp_path / "none", storage_options=options)
    frames = [frame for frame, _ in traceback.walk_tb(raised.value.__traceback__)][1:]
    assert frames
    assert not [frame for frame in frames if "do-not-show" in repr(frame.f_locals)]


def test_the_error_of_a_users_function_keeps_its_place(dataset: lance.LanceDataset) -> None:
    @lance.batch_udf(output_schema=pa.schema({"c": pa.int64()}))
    def of_the_user(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise ZeroDivisionError

    with pytest.raises(LanceError) as raised:
        dataset.add_columns(of_the_user, read_columns=["a"])
    assert "of_the_user" in "".join(traceback.format_exception(raised.value))


def test_texts_hold_no_character_that_a_terminal_obeys(dataset: lance.LanceDataset) -> None:
    with pytest.raises(LanceError) as raised:
        dataset.to_table(columns=["nonsense"])
    plan = dataset.scanner(columns=[NAME]).explain_plan()
    transaction = repr(dataset.read_transaction(1))
    for text in (str(raised.value), repr(dataset), repr(dataset.lance_schema), plan, transaction):
        assert "name" in text
        assert not set("\x1b\u202e") & set(text)


def test_a_transaction_of_many_fragments_has_a_short_repr(tmp_path: Path) -> None:
    fast = {"durability": "fast"}
    rows = pa.table({"a": range(1000)})
    dataset = lance.write_dataset(rows, tmp_path, max_rows_per_file=1, storage_options=fast)
    text = repr(dataset.read_transaction(1))
    assert "(1,000 in all)" in text
    assert len(text) < 10_000


def test_a_session_can_be_copied_with_its_dataset_and_pickled() -> None:
    session = lance.Session(1 << 20, 1 << 21)
    dataset = lance.write_dataset(ROWS, "memory://copied", session=session)
    assert copy.deepcopy(session) is session
    assert copy.copy(session) is session
    assert copy.deepcopy(dataset).to_table() == ROWS
    assert isinstance(pickle.loads(pickle.dumps(session)), lance.Session)
