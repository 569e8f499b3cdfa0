"""The training that several processes share, each of which builds a segment of one index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lance_core_vector.training.build import train
from lance_core_vector.training.encoders import ProductEncoder, ScalarEncoder
from lance_core_vector.training.parameters import BuildParameters
from lance_core_vector.training.sample import sample_size
from lance_core_vector.vectors import one_vector

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexRows


def shared_training(
    sample: Callable[[int], IndexRows], num_rows: int, parameters: BuildParameters
) -> dict[str, Any]:
    """The centroids, and what codes need, as parameters of `BuildParameters`.

    ``sample`` returns about as many of the ``num_rows`` rows as it is asked for. Raises
    `TooFewRowsError`.
    """
    data_type = sample(1).type
    parameters.check_column(data_type)
    vector = one_vector(data_type)
    count = parameters.partitions_for(num_rows)
    rows = sample(sample_size(vector.list_size, num_rows, parameters))
    training = train(rows, replace(parameters, num_partitions=count), lambda *_: None)
    # The number is that of the centroids; as long as it is not given, none is asked for later.
    shared: dict[str, Any] = {"ivf_centroids": training.centroids, "num_partitions": None}
    if parameters.num_partitions is not None and parameters.partition_rows is None:
        shared["target_partition_size"] = max(1, -(-num_rows // count))
    encoder = training.encoder
    if isinstance(encoder, ProductEncoder):
        shared["pq_codebook"] = encoder.codebook
    if isinstance(encoder, ScalarEncoder):
        shared["sq_bounds"] = encoder.bounds
    return shared
