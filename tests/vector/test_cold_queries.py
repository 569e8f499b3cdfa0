"""How many requests the first query of an index takes on a remote store."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.hookspecs import ObjectStoreSpec, StoreUrl, hookimpl
from lance_core.plugins import get_manager
from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient

ROWS, WIDTH, PARTITIONS = 30_000, 64, 12


@pytest.fixture(scope="module")
def client() -> Iterator[MemoryClient]:
    """The service behind ``cold://`` URLs."""
    client = MemoryClient()

    def open_counted(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        return RemoteStore(client, url.path)

    spec = ObjectStoreSpec("cold", ("cold",), open_counted)
    plugin = SimpleNamespace(lance_object_stores=hookimpl(lambda: [spec]))
    name = get_manager().register(plugin, "cold")
    yield client
    get_manager().unregister(name)


@pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_SQ", "IVF_PQ", "IVF_RQ"])
def test_a_first_query_reads_both_files_and_each_partition_once(
    client: MemoryClient, kind: str
) -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(0, 1, (ROWS, WIDTH)).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH)
    uri = f"cold://service/{uuid.uuid4()}"
    table = lance.write_dataset(pa.table({"id": range(ROWS), "vector": column}), uri)
    parts = {"num_sub_vectors": WIDTH // 2} if kind == "IVF_PQ" else {}
    table.create_index("vector", kind, num_partitions=PARTITIONS, max_iters=4, **parts)
    for probes in (1, 4):
        table = lance.dataset(uri)
        nearest = {"column": "vector", "q": vectors[7], "k": 10, "nprobes": probes}
        client.requests.clear()
        table.to_table(columns=[], with_row_id=True, nearest=nearest)
        paths = [path for _, path in client.requests]
        # The ends of both files have the centroids and the codebook. No file is read whole.
        assert sum(path.endswith(".idx") for path in paths) == 2 + probes
        assert len(paths) <= 3 + probes  # with the end of the file of the rows
