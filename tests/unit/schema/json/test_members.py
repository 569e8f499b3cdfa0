"""Members of many binary JSON values at once."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError
from lance_core.schema.json import members as json_members
from lance_core.schema.json import values as json_values
from lance_core.schema.json.encoding import encode_json
from lance_core.schema.json.members import field, members_of

NAMES = ["", "a", "b", "ab", "ä", "a\0", "longer name"]


def encoded(values: list[Any]) -> pa.Array:
    return encode_json(pa.array([json.dumps(value) for value in values]), "j")


@pytest.mark.parametrize("entries", [1, 7, 1 << 16])
def test_fields_of_objects_of_different_sizes_are_found(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_members, "_ENTRIES", entries)
    rng = random.Random(3)
    members: list[Any] = [1, -300, "text", "", None, True, [1, [2]], {"a": {"b": 7}}]
    values: list[Any] = [3, [{"a": 1}], {}]
    for _ in range(300):
        names = rng.sample(NAMES, rng.randrange(len(NAMES)))
        values.append({name: rng.choice(members) for name in names})
    found = members_of(encoded(values))
    for name in (*NAMES, "absent"):
        expected = [
            json.dumps(value[name], separators=(",", ":"))
            if isinstance(value, dict) and name in value
            else None
            for value in values
        ]
        one = field(found, name.encode())
        assert json_values.texts(one).to_pylist() == expected
        again = members_of(json_values.binary(one))
        assert json_values.texts(again).to_pylist() == expected
        is_text = [one.kinds[row] == json_members.STRING for row in range(len(one))]
        strings = json_values.strings(one.where(pa.array(is_text).to_numpy(False)))
        assert strings.to_pylist() == [
            json.loads(text) if text is not None and text[0] == '"' else None for text in expected
        ]


def test_damaged_objects_are_refused() -> None:
    whole = encoded([{"key": 1, "other": [2]}])[0].as_py()
    for place in range(4, 24):
        for byte in (0x00, 0xFF):
            damaged = bytearray(whole)
            damaged[place] = byte
            values = members_of(pa.array([bytes(damaged)], pa.large_binary()))
            try:
                found = field(values, b"key")
            except (CorruptFileError, NotImplementedError):
                continue
            assert (found.ends <= len(whole)).all()
    short = members_of(pa.array([whole[:8]], pa.large_binary()))
    with pytest.raises(CorruptFileError, match="too many members"):
        field(short, b"key")
