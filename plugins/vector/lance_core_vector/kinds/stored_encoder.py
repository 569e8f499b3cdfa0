"""The encoder of the codes that an index has."""

from __future__ import annotations

from lance_core.hookspecs.indices import IndexNotWrittenError
from lance_core_vector.kinds.ivf_index import IvfIndex
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer, ResidualRabitQuantizer
from lance_core_vector.quantizers.rotation import FastRotation
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training.encoders import (
    Encoder,
    FlatEncoder,
    ProductEncoder,
    ScalarEncoder,
)
from lance_core_vector.training.rabit_encoder import RabitEncoder


def encoder_of(source: IvfIndex) -> Encoder:
    """The encoder of codes as ``source`` has them.

    Raises `IndexNotWrittenError` for codes of older releases, which are not written any more.
    """
    quantizer, vector = source.quantizer, source.vector
    if isinstance(quantizer, ProductQuantizer):
        is_residual = source.metric.name != "dot"
        return ProductEncoder(quantizer.codebook, quantizer.bits, is_residual=is_residual)
    if isinstance(quantizer, ScalarQuantizer):
        return ScalarEncoder(vector.list_size, quantizer.low, quantizer.high)
    if isinstance(quantizer, RabitQuantizer):
        rotation = quantizer.rotation
        is_old = isinstance(quantizer, ResidualRabitQuantizer)
        if is_old or not isinstance(rotation, FastRotation):
            raise IndexNotWrittenError("rows are not added to IVF_RQ indices of older releases")
        return RabitEncoder(vector.list_size, quantizer.bits, rotation, source.metric.name)
    return FlatEncoder(vector.list_size, vector.value_type)
