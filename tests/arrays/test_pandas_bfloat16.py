"""bfloat16 columns of data frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lance_core.arrow import BFloat16, PandasBFloat16Array, bfloat16_array

VALUES = [1.1, None, 3.4, -2.0]


def test_columns_keep_values_and_missing_ones() -> None:
    frame = pa.table({"x": bfloat16_array(VALUES)}).to_pandas()
    assert str(frame["x"].dtype) == "lance.bfloat16"
    assert frame["x"].isna().tolist() == [False, True, False, False]
    assert frame["x"][0] == BFloat16(1.1)
    assert pa.array(frame["x"].array).to_pylist()[1] is None
    again = pa.Table.from_pandas(frame)
    assert again["x"].to_pylist() == bfloat16_array(VALUES).to_pylist()


def test_columns_are_selected_changed_and_joined() -> None:
    series = pd.Series(PandasBFloat16Array._from_sequence(VALUES))
    assert series[series.notna()].tolist() == [BFloat16(1.1), BFloat16(3.4), BFloat16(-2.0)]
    assert series.iloc[[3, -1, 0]].tolist() == [BFloat16(-2.0)] * 2 + [BFloat16(1.1)]
    assert series[1:3].isna().tolist() == [True, False]
    assert series.reindex([0, 9]).isna().tolist() == [False, True]
    assert len(pd.concat([series, series])) == 8
    series[1] = 5.0
    assert series.tolist()[1] == BFloat16(5.0)
    assert (series == series.copy()).all()
    assert series.astype("float32").tolist() == pytest.approx([1.1015625, 5.0, 3.40625, -2.0])
    assert np.asarray(series.to_numpy(dtype="float64"))[3] == -2.0
    assert series.array.nbytes > 0


def test_missing_values_have_no_number() -> None:
    array = PandasBFloat16Array._from_sequence(VALUES)
    with pytest.raises(ValueError, match="nulls have no value"):
        array.to_numpy()
    assert not (array == PandasBFloat16Array(array.data))[1]
