"""Schemas and rows from models of pydantic, as pylance makes them."""

from __future__ import annotations

import enum
from datetime import date, datetime
from pathlib import Path
from typing import Any

import lance
import lance.pydantic as theirs
import numpy as np
import pyarrow as pa
import pydantic
import pytest

import lance_core
import lance_core.pydantic as ours
from lance_core.errors import InvalidInputError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Inner(pydantic.BaseModel):
    x: int
    y: float | None = None


def model(names: Any) -> Any:
    """A model with fields of all types, with the vectors of one library."""
    zone = pydantic.Field(json_schema_extra={"tz": "UTC"})
    fields: dict[str, Any] = {
        "i": (int, 5),
        "f": (float, ...),
        "s": (str | None, None),
        "b": (bool, ...),
        "raw": (bytes, ...),
        "day": (date, ...),
        "time": (datetime, ...),
        "zoned": (datetime, zone),
        "list": (list[int], ...),
        "maybe": (list[str | None], ...),
        "lists": (list[list[float]], ...),
        "tuple": (tuple[int, ...], ...),
        "inner": (Inner, ...),
        "inners": (list[Inner], ...),
        "color": (Color, ...),
        "level": (Level, ...),
        "mixed": (Mixed, ...),
        "vector": (names.Vector(3), ...),
        "half": (names.Vector(2, pa.float16(), nullable=False), ...),
        "several": (names.MultiVector(2), ...),
    }
    return pydantic.create_model("Rows", **fields)


def test_schemas_are_those_of_pylance() -> None:
    assert ours.pydantic_to_schema(model(ours)) == theirs.pydantic_to_schema(model(theirs))


class Reading(pydantic.BaseModel):
    id: int
    color: Color
    inner: Inner
    vector: ours.Vector(2)  # type: ignore[valid-type]
    note: str | None = None


def readings() -> list[Reading]:
    return [
        Reading(id=1, color=Color.RED, inner=Inner(x=1), vector=[1.0, 2.0]),
        Reading(id=2, color=Color.BLUE, inner=Inner(x=2, y=0.5), vector=np.array([3.0, 4.0])),
    ]


def test_instances_are_written_as_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = lance_core.LanceDataset.from_pydantic_model(Reading, readings())
    assert Path(dataset.uri).name == "reading"
    dataset = lance_core.LanceDataset.from_pydantic_model(
        Reading, readings(), "reading", "append", max_rows_per_file=1
    )
    assert dataset.count_rows() == 4
    assert lance.dataset("reading").to_table() == dataset.to_table()
    first = dataset.take([0]).to_pylist()[0]
    assert first == {
        "id": 1,
        "color": "red",
        "inner": {"x": 1, "y": None},
        "vector": [1.0, 2.0],
        "note": None,
    }


def test_what_is_no_model_or_has_no_rows_is_refused() -> None:
    make: Any = lance_core.LanceDataset.from_pydantic_model
    with pytest.raises(TypeError, match="class of pydantic models"):
        make(int, [1])
    with pytest.raises(TypeError, match="data must be of Reading"):
        make(Reading, [Inner(x=1)])
    with pytest.raises(InvalidInputError, match="at least one"):
        make(Reading, [])
    with pytest.raises(pydantic.ValidationError):
        Reading(id=1, color=Color.RED, inner=Inner(x=1), vector=[1.0])
    for annotation in (list, complex, dict[str, int], int | str):
        bad: Any = pydantic.create_model("Bad", x=(annotation, ...))
        with pytest.raises(TypeError):
            ours.pydantic_to_schema(bad)


def test_extras_and_nullability_of_fields() -> None:
    fields = model(ours).model_fields
    assert ours.get_extras(fields["zoned"], "tz") == "UTC"
    assert ours.get_extras(fields["i"], "tz") is None
    assert ours.is_nullable(fields["s"])
    assert not ours.is_nullable(fields["half"])
    assert issubclass(ours.Vector(2), ours.FixedSizeListMixin)
