"""Which values get a dictionary, and what is in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.context import EncodeContext
from lance_core.encodings.v2_1.codecs.arrow_values import flat_values_of, values_of
from lance_core.encodings.v2_1.codecs.values import as_variable
from lance_core.encodings.v2_1.selection.dictionary import as_dictionary, least_distinct, of_keys
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.errors import InvalidInputError

PLAIN = FieldOptions()
Encoding = Callable[[str], EncodeContext]
NUMBERS = np.arange(20_000) * 7919 % 20_011

FEW = {
    "strings": pa.array([f"value {n % 50}" for n in NUMBERS]),
    "large strings": pa.array([f"value {n % 50}" for n in NUMBERS], pa.large_string()),
    "binaries": pa.array([b"value %d" % (n % 50) for n in NUMBERS]),
    "decimals": pa.array(NUMBERS % 50).cast(pa.decimal128(30, 2)),
    "16 bytes": pa.array([b"%016d" % (n % 50) for n in NUMBERS], pa.binary(16)),
    "integers": pa.array(NUMBERS % 50),
    "doubles": pa.array(NUMBERS % 50 / 4),
    "times": pa.array(NUMBERS % 50, pa.timestamp("us")),
    "8 bytes": pa.array([b"%08d" % (n % 50) for n in NUMBERS], pa.binary(8)),
}
OF_64_BITS = ("integers", "doubles", "times", "8 bytes")


@pytest.mark.parametrize("name", FEW)
def test_indices_and_items_give_the_values_again(name: str, encoding: Encoding) -> None:
    array = FEW[name].slice(3)
    found = as_dictionary(flat_values_of(array), PLAIN, encoding("2.2"))
    assert found is not None
    assert found.count == found.items.count == 50
    assert found.indices.bits == 32
    items = found.items.to_arrow(array.type)
    assert items.take(pa.array(found.indices.words())).equals(array)


@pytest.mark.parametrize("name", FEW)
def test_values_of_64_bits_have_dictionaries_from_2_2_on(name: str, encoding: Encoding) -> None:
    found = as_dictionary(flat_values_of(FEW[name]), PLAIN, encoding("2.1"))
    assert (found is None) == (name in OF_64_BITS)


@pytest.mark.parametrize(
    "array",
    [
        FEW["strings"].slice(0, 99),
        pa.array([f"value {n}" for n in NUMBERS]),
        pa.array([f"value {n // 2}" for n in np.sort(NUMBERS)]).slice(0, 1001),
        pa.array(["", "a"] * 5000),
        FEW["integers"].cast(pa.int32()),
        FEW["integers"].cast(pa.decimal256(40, 2)),
        pa.array(NUMBERS % 2 == 0),
        pa.FixedSizeListArray.from_arrays(FEW["integers"], 2),
        pa.StructArray.from_arrays([FEW["integers"]], ["a"]),
        pa.nulls(1000),
    ],
    ids=["few", "unique", "pairs", "short", "32", "256", "bits", "vectors", "structs", "null"],
)
def test_what_would_not_get_smaller_or_cannot_have_one_has_none(
    array: pa.Array, encoding: Encoding
) -> None:
    values = flat_values_of(array)
    assert values is None or as_dictionary(values, PLAIN, encoding("2.2")) is None


def test_a_null_is_an_item_of_what_it_holds(encoding: Encoding) -> None:
    array = pa.array(["a value", None, "another value", None] * 50)
    found = as_dictionary(flat_values_of(array), PLAIN, encoding("2.1"))
    assert found is not None
    assert found.items.to_arrow(pa.string()).to_pylist() == ["a value", "", "another value"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (FieldOptions(dict_divisor=50), True),
        (FieldOptions(dict_divisor=500), False),
        (FieldOptions(dict_divisor=0), True),
        (FieldOptions(dict_divisor=1 << 63), False),
        (FieldOptions(dict_size_ratio=1.0), True),
        (FieldOptions(dict_size_ratio=0.36), True),
        (FieldOptions(dict_size_ratio=0.33), False),
        (FieldOptions(dict_size_ratio=float("nan")), False),
    ],
)
def test_limits_can_be_set(options: FieldOptions, expected: bool, encoding: Encoding) -> None:
    found = as_dictionary(flat_values_of(FEW["strings"].sort()), options, encoding("2.1"))
    assert (found is not None) == expected


@pytest.mark.parametrize("ratio", [0.0, -1.0, 1.01, float("inf")])
def test_an_impossible_ratio_is_refused(ratio: float, encoding: Encoding) -> None:
    options = FieldOptions(dict_size_ratio=ratio)
    with pytest.raises(InvalidInputError, match="dict-size-ratio"):
        as_dictionary(flat_values_of(FEW["strings"]), options, encoding("2.1"))


def test_keys_of_nulls_are_kept_where_they_name_an_item() -> None:
    mask = np.array([False, True, False, True])
    items = pa.array(["a", "b", "c"])
    for stored, expected in (([2, 1, 0, 2], [2, 1, 0, 2]), ([2, 3, 0, -1], [2, 0, 0, 0])):
        array = pa.DictionaryArray.from_arrays(
            pa.array(np.array(stored, np.int8), mask=mask), items
        )
        assert of_keys(array).indices.words().tolist() == expected


LONG = ["", "a", *(f"{n:05}" * 400 for n in range(300)), "", "b"]


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (LONG, None),
        (LONG[:60] * 5, 60),
        (LONG[:150] * 2, 150),
        ([text[:1600] + "x" * 400 for text in LONG], None),
        ([text[:1600] + "x" * 400 for text in LONG[:60]] * 5, 60),
        (["x" * 2000 + text for text in LONG[:60]] * 5, 60),
        (["x" * 2000] * 200, 1),
    ],
)
def test_long_values_have_a_dictionary_where_it_is_small(
    texts: list[str], count: int | None, encoding: Encoding
) -> None:
    found = as_dictionary(flat_values_of(pa.array(texts)), PLAIN, encoding("2.1"))
    assert (found and found.count) == count


@pytest.mark.parametrize("longest", [0, 1, 7, 8, 9, 30])
def test_a_sample_never_seems_to_have_more_distinct_values_than_it_has(longest: int) -> None:
    rng = np.random.default_rng(longest)
    texts = [rng.bytes(size) for size in rng.integers(0, longest + 1, 3000)]
    places = np.sort(rng.choice(len(texts), 1500, replace=False))
    texts[places[-1]] = b"\xff"  # the last bytes of all
    found = least_distinct(as_variable(values_of(pa.array(texts[: places[-1] + 1]))), places)
    assert found <= len({texts[place] for place in places})
    if longest in (1, 7, 8):  # all bytes of such values are compared
        assert found == len({texts[place] for place in places})


@pytest.mark.parametrize("few", [True, False])
def test_values_that_differ_in_their_first_bytes_only_are_told_apart(
    few: bool, encoding: Encoding
) -> None:
    array = pa.array([f"{n % 50 if few else n:05}" + "x" * 40 for n in NUMBERS])
    assert (as_dictionary(flat_values_of(array), PLAIN, encoding("2.1")) is not None) == few
