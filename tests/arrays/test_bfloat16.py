"""bfloat16 values and arrays."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.arrow import BFloat16, BFloat16Array, BFloat16Type, bfloat16_array, cast


def test_values_are_rounded_to_the_nearest_and_ties_to_even() -> None:
    assert [BFloat16(value).as_float() for value in (1.1, -3.4, 0.0)] == [1.1015625, -3.40625, 0.0]
    step = 2.0**-7  # between neighbours from 1 to 2
    assert float(BFloat16(1 + step / 2)) == 1.0
    assert float(BFloat16(1 + 3 * step / 2)) == 1 + 2 * step
    assert BFloat16(3.4e38).as_float() == math.inf
    assert math.isnan(BFloat16(math.nan).as_float())
    assert math.isnan(bfloat16_array([struct.unpack("<f", b"\x01\x00\x80\x7f")[0]])[0].as_py())


def test_values_are_compared_as_numbers() -> None:
    one, more = BFloat16(1.0), BFloat16(1.1)
    assert one < more
    assert one == BFloat16.from_bytes(b"\x80\x3f")
    assert hash(one) == hash(1.0)
    assert repr(more) == "1.1015625"
    with pytest.raises(ValueError, match="2 bytes, got 3"):
        BFloat16.from_bytes(b"abc")
    with pytest.raises(TypeError):
        _ = one < 1.0  # type: ignore[operator]


def test_arrays_keep_nulls_through_a_table(tmp_path: Path) -> None:
    array = bfloat16_array([1.1, None, 3.4])
    assert array.type == BFloat16Type()
    assert array.to_pylist() == [BFloat16(1.1), None, BFloat16(3.4)]
    assert array[1:].to_pylist() == [None, BFloat16(3.4)]
    assert repr(array).splitlines()[1:] == ["[", "  1.1015625,", "  None,", "  3.40625", "]"]
    table = pa.table({"v": array})
    dataset = lance_core.write_dataset(table, tmp_path / "t")
    # The type is another library's if that has registered the name with Arrow.
    column = dataset.to_table()["v"].combine_chunks()
    assert column.type.extension_name == "lance.bfloat16"
    assert column.storage == array.storage


def test_only_one_dimension_of_bfloat16_is_taken_from_numpy() -> None:
    for wrong in (np.zeros(2, np.float32), np.zeros((2, 2), np.float32)):
        with pytest.raises(ValueError, match="must have one dimension of bfloat16"):
            BFloat16Array.from_numpy(wrong)
    with pytest.raises(ValueError, match="nulls have no value"):
        bfloat16_array([None]).to_numpy()


def test_floats_are_cast_both_ways_also_in_lists() -> None:
    floats = pa.array([1.1, None, 1e300, 2.0], pa.float64())
    for target in ("bf16", "bfloat16", BFloat16Type()):
        made = cast(floats[:3], target)
        assert made.to_pylist() == [BFloat16(1.1), None, BFloat16(math.inf)]
        assert cast(made, target) is made
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        back = cast(cast(floats, "bf16")[1:], kind)
        assert back == pa.array([None, math.inf, 2.0], kind)
    lists = pa.array([[9.0, 9.0], None, [1.1, 2.2], [3.3, 4.4]], pa.list_(pa.float64(), 2))[1:]
    made = cast(lists, pa.list_(BFloat16Type(), 2))
    values = [None, [1.1015625, 2.203125], [3.296875, 4.40625]]
    assert cast(made, pa.list_(pa.float32(), 2)).to_pylist() == values
    assert cast(pa.array([1, 2]), "string").to_pylist() == ["1", "2"]


def test_what_has_no_value_in_bfloat16_is_not_cast() -> None:
    with pytest.raises(ValueError, match="from floats, not int8"):
        cast(pa.array([1], pa.int8()), "bf16")
    with pytest.raises(ValueError, match="from floats, not int32"):
        cast(bfloat16_array([1.0]), pa.int32())
    with pytest.raises(ValueError, match="keep their size"):
        cast(pa.array([[1.0]], pa.list_(pa.float32(), 1)), pa.list_(pa.float32(), 2))
