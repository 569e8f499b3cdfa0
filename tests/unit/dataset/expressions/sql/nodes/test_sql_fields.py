"""NOT NULL and metadata of computed columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.dataset import LanceDataset

INNER = pa.struct([pa.field("z", pa.int64(), nullable=False, metadata={"of": "z"})])
STRUCT = pa.struct(
    [
        pa.field("a", pa.int32(), nullable=False, metadata={"of": "a"}),
        pa.field("in", INNER, nullable=False),
    ]
)
SCHEMA = pa.schema(
    [
        pa.field("i", pa.int32(), nullable=False, metadata={"of": "i"}),
        pa.field("n", pa.int32(), metadata={"of": "n"}),
        pa.field("t", pa.bool_(), nullable=False, metadata={"of": "t"}),
        pa.field("s", pa.string(), nullable=False, metadata={"of": "s"}),
        pa.field("d", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("o", STRUCT, nullable=True, metadata={"of": "o"}),
        pa.field("p", STRUCT, nullable=False, metadata={"of": "p"}),
        pa.field("a b", pa.int8(), nullable=False, metadata={"of": "space"}),
    ]
)
ROWS = [
    {
        "i": 1,
        "n": 2,
        "t": True,
        "s": "x",
        "d": "x",
        "a b": 1,
        "o": {"a": 1, "in": {"z": 1}},
        "p": {"a": 1, "in": {"z": 1}},
    },
    {
        "i": 2,
        "n": None,
        "t": False,
        "s": "y",
        "d": "y",
        "a b": 2,
        "o": None,
        "p": {"a": 1, "in": {"z": 1}},
    },
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> LanceDataset:
    path: Path = tmp_path_factory.mktemp("fields") / "t.lance"
    return lance_core.write_dataset(pa.Table.from_pylist(ROWS, SCHEMA), path)


def field(dataset: LanceDataset, text: str) -> pa.Field:
    """The field of an expression, the same in everything that a scan returns."""
    scanner = dataset.scanner(columns={"x": text})
    found = scanner.projected_schema
    for schema in (scanner.to_table().schema, next(scanner.to_batches()).schema):
        assert schema.equals(found, check_metadata=True), text
    return found.field("x")


def expressions(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]


def mark(field: pa.Field) -> str | None:
    return field.metadata[b"of"].decode() if field.metadata else None


def test_references_negations_and_casts_keep_not_null_and_metadata(dataset: LanceDataset) -> None:
    kept = {
        "i": ["i", "`i`", "(i)", "I", "-i", "cast(i as string)", "-cast(-i as bigint)", "i::float"],
        "t": ["t", "`t`", "NOT t", "NOT NOT t"],
        "s": ["s", "cast(s as binary)"],
        "space": ["`a b`"],
        "a": ["p.a", "p['a']", "`p`.`a`", "get_field(p, 'a')", "-p.a", "cast(p.a as double)"],
        "z": ["p.in.z", "p['in'].z"],
        "p": ["p", "`p`"],
    }
    for source, texts in kept.items():
        for text in texts:
            found = field(dataset, text)
            assert (found.nullable, mark(found)) == (False, source), text
    for text, source in [("`n`", "n"), ("-n", "n"), ("cast(n as int)", "n"), ("o", "o")]:
        found = field(dataset, text)
        assert (found.nullable, mark(found)) == (True, source), text


def test_a_member_of_a_nullable_struct_is_nullable(dataset: LanceDataset) -> None:
    for text in ["o.a", "`o`.`a`", "o.in.z", "-o.a", "o.a + 1", "get_field(o, 'a')"]:
        assert field(dataset, text).nullable, text


def test_operators_are_not_null_if_all_operands_are(dataset: LanceDataset) -> None:
    for text in expressions("""
        i + 1; i + i; i * p.a; i % 2; 1 - i; -(i + i); i = 1; i <> p.a; 1 < i; t AND i = 1;
        t OR t; NOT (i = 1); s LIKE 'x%'; s ILIKE 'X'; i BETWEEN 1 AND 2; i IN (1, 2);
        i IN (1, 2, 3, 4, 5); s || 'x'; s || i; s IN ('a', 'b', 'c', 'd'); d = 'x';
        d IN ('a', 'b', 'c', 'd'); d LIKE 'x%'; i IS DISTINCT FROM 1; t IS TRUE;
        t IS NOT FALSE; i NOT IN (1, 2); cast(i + 1 as bigint); 1; 'x';
        CASE WHEN t THEN i ELSE 1 END
    """):
        found = field(dataset, text)
        assert (found.nullable, mark(found)) == (False, None), text
    for text in expressions("""
        i + n; n + 1; i = n; t AND n = 1; n BETWEEN 1 AND 2; i BETWEEN 1 AND n; i IN (1, NULL);
        i IN (1, n); i IN (1, 2, 3, 4, NULL); n IN (1, 2, 3, 4, 5); (n = 1) IS TRUE;
        n IS DISTINCT FROM 1; t AND NULL; NULL; CASE WHEN t THEN 1 END; d IN ('x', NULL)
    """):
        assert field(dataset, text).nullable, text


def test_is_null_is_never_null(dataset: LanceDataset) -> None:
    for text in ["n IS NULL", "n IS NOT NULL", "o.a IS NULL", "NOT (n IS NULL)", "is_valid(n)"]:
        found = field(dataset, text)
        assert (found.nullable, mark(found)) == (False, None), text


def test_coalesce_is_not_null_if_one_argument_is(dataset: LanceDataset) -> None:
    for text in ["coalesce(n, 1)", "coalesce(n, n, i)", "ifnull(n, i)", "nvl(n, 1)"]:
        found = field(dataset, text)
        assert (found.nullable, mark(found)) == (False, None), text
    assert field(dataset, "coalesce(n, n)").nullable
    assert mark(field(dataset, "coalesce(i, n)")) == "i"


def test_other_functions_are_nullable(dataset: LanceDataset) -> None:
    for text in expressions("""
        abs(i); sqrt(i); lower(s); length(s); concat(s, s); repeat(s, 2); greatest(i, 1);
        nullif(i, 1); isnan(i); regexp_match(s, 'x'); replace(s, 'a', 'b'); contains(s, 'a');
        abs(i) + 1
    """):
        found = field(dataset, text)
        assert (found.nullable, mark(found)) == (True, None), text
    for text in ["round(i)", "starts_with(s, 'a')", "strpos(s, 'a')", "regexp_like(s, 'a')"]:
        assert not field(dataset, text).nullable, text


def test_a_literal_takes_the_type_of_a_column_only(dataset: LanceDataset) -> None:
    assert field(dataset, "i + 1").type == pa.int32()
    assert field(dataset, "p.a + 1").type == pa.int32()
    for text in ["-i + 1", "abs(i) + 1", "i + i + 1", "cast(i as int) + 1"]:
        assert field(dataset, text).type == pa.int64(), text
