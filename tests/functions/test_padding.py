"""`lpad` and `rpad` count code points, take columns, and compute the size before the values."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import InvalidInputError, ResultTooLargeError


def padded(text: str | None, count: int | None, fill: str | None, is_left: bool) -> str | None:
    """What the functions mean, for one row."""
    if text is None or count is None or fill is None:
        return None
    missing = max(count - len(text), 0) if fill else 0
    padding = (fill * (missing + 1))[:missing]
    head = text[: max(count, 0)]
    return padding + head if is_left else head + padding


def values(sql: str, data: pa.Table) -> list[Any]:
    result = as_value(sql, data.schema).evaluate(data)
    result.validate(full=True)
    return result.to_pylist()


def test_a_padded_text_has_the_code_points_that_python_gives() -> None:
    rng = random.Random(5)
    alphabet = ["a", "ß", "e\u0301", "漢", "👩\u200d👧", "\x00", " "]
    texts = ["".join(rng.choices(alphabet, k=rng.randrange(6))) for _ in range(300)]
    texts = [None if rng.random() < 0.1 else text for text in texts]
    fills = [rng.choice([None, "", "x", "ß漢", "e\u0301a👧"]) for _ in texts]
    counts = [rng.choice([None, -(2**63), -1, *range(12)]) for _ in texts]
    kinds = [(pa.string(), pa.large_string()), (pa.large_string(), pa.string())]
    for text_kind, fill_kind in kinds:
        data = pa.table(
            {
                "t": pa.array(texts, text_kind),
                "n": pa.array(counts, pa.int64()),
                "f": pa.array(fills, fill_kind),
            }
        )
        sliced = data.slice(7, 200)
        for name, is_left in (("lpad", True), ("rpad", False)):
            given = {
                f"{name}(t, n, f)": (texts, counts, fills),
                f"{name}(t, 5, 'ab')": (texts, [5] * 300, ["ab"] * 300),
                f"{name}(t, 3)": (texts, [3] * 300, [" "] * 300),
                f"{name}('e\u0301', n, f)": (["e\u0301"] * 300, counts, fills),
                f"{name}(t, n, '')": (texts, counts, [""] * 300),
                f"{name}(t, NULL, f)": (texts, [None] * 300, fills),
            }
            for sql, columns in given.items():
                expected = [padded(*row, is_left) for row in zip(*columns, strict=True)]
                assert values(sql, data) == expected, sql
                assert values(sql, sliced) == expected[7:207], sql


def test_lengths_of_every_integer_type_are_accepted() -> None:
    for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.uint64()):
        data = pa.table({"n": pa.array([3, None, 0], kind)})
        assert values("lpad('x', n, '-')", data) == ["--x", None, ""]
    with pytest.raises(InvalidInputError, match="lpad needs an integer as length, not double"):
        values("lpad('x', 2.0)", pa.table({"n": [1]}))


@pytest.mark.parametrize(
    "sql",
    [
        "lpad(t, 2000000000, 'x')",
        "rpad(t, n, 'xy')",
        "lpad(t, u)",
        "lpad('a', 300000000)",
        "lpad(t, 9223372036854775807, '')",
        "rpad(t, 20000000, t)",
    ],
)
def test_a_length_that_makes_too_many_bytes_is_refused_before_they_are_made(sql: str) -> None:
    data = pa.table(
        {"t": ["a"] * 20, "n": [2**62] * 20, "u": pa.array([2**64 - 1] * 20, pa.uint64())}
    )
    with pytest.raises(ResultTooLargeError, match="makes values longer by"):
        values(sql, data)
