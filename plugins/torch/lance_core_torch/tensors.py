"""Tensors from Arrow arrays: numbers, vectors of one length, bfloat16, and images of Hugging Face.

Values are copied: a tensor may be written to, and the pages of a table in memory may not.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.arrays import to_numpy

_BFLOAT16 = "lance.bfloat16"


def to_tensors(
    batch: pa.RecordBatch | Mapping[str, Any],
    *,
    uint64_as_int64: bool = True,
    hf_converter: HuggingFaceConverter | None = None,
    use_blob_api: bool = False,
    **_: Any,
) -> dict[str, Any] | torch.Tensor:
    """The tensor of each column, by name; of a single column the tensor alone.

    Lists of one length become a dimension. A null is NaN where the type has one, and so are nulls
    among integers, which become floats. Raises `UnsupportedFeatureError`, which names the column,
    for other types, also for blobs: they need a ``to_tensor_fn`` of one's own.
    """
    names = batch.schema.names if isinstance(batch, pa.RecordBatch) else list(batch)
    tensors = {name: _column(name, batch[name], hf_converter) for name in names}
    if uint64_as_int64:
        tensors = {
            name: tensor.to(torch.int64) if _is(tensor, torch.uint64) else tensor
            for name, tensor in tensors.items()
        }
    return tensors if len(tensors) != 1 else next(iter(tensors.values()))


def _is(tensor: Any, dtype: torch.dtype) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.dtype == dtype


def _column(name: str, values: Any, hf_converter: HuggingFaceConverter | None) -> Any:
    if isinstance(values, list):
        raise UnsupportedFeatureError(
            f"column {name!r} has blobs: pass a to_tensor_fn that reads them"
        )
    tensor = _tensor(values)
    if tensor is None and hf_converter is not None:
        tensor = hf_converter.to_pytorch(name, values)
    if tensor is None:
        raise UnsupportedFeatureError(
            f"column {name!r} has the type {values.type}: only numbers, booleans and lists of "
            "numbers of one length become tensors; leave it out of `columns`, or pass to_tensor_fn"
        )
    return tensor


def _tensor(array: pa.Array) -> Any:
    """The tensor, None for a type that has none."""
    if isinstance(array.type, pa.FixedShapeTensorType):
        flat = _tensor(array.storage)
        return None if flat is None else flat.reshape(len(array), *array.type.shape)
    if pa.types.is_fixed_size_list(array.type):
        width = array.type.list_size
        values = _tensor(array.values.slice(array.offset * width, len(array) * width))
        return None if values is None else values.reshape(len(array), width)
    if getattr(array.type, "extension_name", "") == _BFLOAT16:
        return _bfloat16(array)
    numeric = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    if numeric or (pa.types.is_boolean(array.type) and not array.null_count):
        return torch.from_numpy(np.array(to_numpy(array)))
    return None


def _bfloat16(array: pa.Array) -> Any:
    stored = array.storage
    buffer, start = stored.buffers()[1], 2 * stored.offset
    bits = np.frombuffer(buffer, np.int16, len(stored), start).copy()
    tensor = torch.from_numpy(bits).view(torch.bfloat16)
    if stored.null_count:
        tensor[torch.from_numpy(np.array(to_numpy(stored.is_null())))] = float("nan")
    return tensor


class HuggingFaceConverter:
    """Values of data sets of Hugging Face, by what the metadata of a schema says of them."""

    def __init__(self, ds_info: Mapping[str, Any]) -> None:
        """``ds_info``: what is in the metadata under ``huggingface``."""
        self.ds_info = ds_info

    def to_pytorch(self, col: str, array: pa.Array) -> list[Any] | None:
        """Images of the feature ``Image``; None for a column that is no feature.

        Raises `UnsupportedFeatureError` for other features.
        """
        features = self.ds_info.get("info", {}).get("features", {})
        if col not in features:
            return None
        if features[col]["_type"] != "Image":
            raise UnsupportedFeatureError(f"column {col!r} is a feature {features[col]['_type']}")
        from PIL import Image

        return [
            Image.open(row["path"] if row.get("bytes") is None else io.BytesIO(row["bytes"]))
            for row in array.to_pylist()
        ]
