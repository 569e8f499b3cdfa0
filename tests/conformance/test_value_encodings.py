"""The example's encoding keeps the contract that it is held to by inheriting it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from lance_core_example_alp import SPEC

from lance_core_testing.encodings.value_encoding import ValueEncodingTests


class TestAlp(ValueEncodingTests):
    spec = SPEC

    def samples(self) -> dict[str, pa.Array]:
        prices = np.round(np.random.default_rng(3).normal(100, 30, 5000), 2)
        return {
            "prices": pa.array(prices),
            "prices as float32": pa.array(prices.astype(np.float32)),
            "prices and nulls": pa.array(prices, mask=prices > 120),
        }
