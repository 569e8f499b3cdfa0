"""Builds in processes of their own: their memory, their threads, and what a killed one leaves.

``LANCE_CORE_LONG_MEMORY=1`` also builds an index of a million vectors of 768 numbers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from tests.vector.test_build import clustered, recall, table_of

LONG = "LANCE_CORE_LONG_MEMORY"

MIB = 1 << 20

MEASURE = """
import sys
import lance_core as lance
import lance_core_vector.training.build

def bytes_of(key):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])

dataset = lance.dataset(sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak is that of now
before = bytes_of("VmRSS")
parts = {"num_sub_vectors": 48} if sys.argv[2] == "IVF_PQ" else {}
dataset.create_index("v", sys.argv[2], memory_limit=int(sys.argv[3]), replace=True, **parts)
print(bytes_of("VmHWM") - before)
"""

OPTIONS: dict[str, Any] = {"num_partitions": 8, "num_sub_vectors": 8, "num_bits": 4, "seed": 3}

BUILD = f"""
import os, signal, sys
import lance_core as lance

def progress(event):
    if event.stage == sys.argv[2] and sys.argv[3] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)

dataset = lance.dataset(sys.argv[1])
dataset.create_index("v", "IVF_PQ", replace=True, progress_callback=progress, **{OPTIONS})
"""

needs_proc = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")


def run(code: str, *arguments: str, threads: int = 1) -> subprocess.CompletedProcess[str]:
    variables = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def large_table(path: Path, rows: int, width: int) -> None:
    random = np.random.default_rng(0)
    centers = random.normal(size=(500, width)).astype(np.float32)

    def batch() -> npt.NDArray[np.float32]:
        found = random.standard_normal((10_000, width), np.float32) * np.float32(0.5)
        found += centers[random.integers(0, len(centers), len(found))]
        return found

    kind = pa.list_(pa.float32(), width)
    batches = (
        pa.record_batch(
            [pa.FixedSizeListArray.from_arrays(pa.array(batch().ravel()), width)], names=["v"]
        )
        for _ in range(rows // 10_000)
    )
    lance.write_dataset(batches, path, schema=pa.schema({"v": kind}), max_rows_per_file=100_000)


@needs_proc
@pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_PQ"])
def test_a_build_keeps_to_its_memory(tmp_path: Path, kind: str) -> None:
    is_long = os.environ.get(LONG) == "1"
    if kind == "IVF_PQ" and not is_long:
        pytest.skip(f"{LONG} is not set")
    rows, limit = (1_000_000, 512 * MIB) if is_long else (40_000, 256 * MIB)
    large_table(tmp_path / "t", rows, 768)  # of 3 GB, or 117 MiB
    result = run(MEASURE, str(tmp_path / "t"), kind, str(limit))
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) <= limit


def test_the_files_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    dataset = table_of(tmp_path, clustered())
    other = 2 if os.environ.get("OPENBLAS_NUM_THREADS") == "1" else 1
    result = run(BUILD, dataset.uri, "", "", threads=other)
    assert result.returncode == 0, result.stderr
    dataset = lance.dataset(dataset.uri)
    contents = [files_of(dataset)]
    dataset.create_index("v", "IVF_PQ", replace=True, **OPTIONS)
    contents.append(files_of(dataset))
    assert len(contents[0]) == 2
    assert contents[0] == contents[1]


def files_of(dataset: lance.LanceDataset) -> list[bytes]:
    """The files of the only index."""
    (index,) = dataset.list_indices()
    folder = Path(dataset.uri) / "_indices" / index["uuid"]
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_a_killed_build_leaves_nothing_that_breaks(tmp_path: Path) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    result = run(BUILD, dataset.uri, "encode", "kill")
    assert result.returncode == -signal.SIGKILL
    dataset = lance.dataset(dataset.uri)
    assert dataset.version == 1
    assert dataset.describe_indices() == []
    assert recall(dataset, matrix[:200:100]) == 1
    dataset.create_index("v", "IVF_SQ", num_partitions=4)
    assert recall(dataset, matrix[:200:100], nprobes=4, refine_factor=5) == 1
