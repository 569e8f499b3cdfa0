"""Sets of texts, made of what botocore ships, or given as a file.

``manuals``: the descriptions of all operations, shapes and values of Amazon's services, in English,
each once and without its tags. They differ with the version of botocore.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE_VARIABLE = "LANCE_CORE_BENCH_TEXTS"
"""A Parquet file whose first column of strings has the texts that are measured instead."""

MAX_TEXTS = 200_000
MIN_CHARACTERS = 20
TAG = re.compile("<[^>]*>")


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Texts of a table, one a row: a `pyarrow.StringArray` without nulls."""

    name: str
    texts: pa.StringArray


def corpus(*, quick: bool) -> Corpus:
    """The texts; with ``quick``, a tenth of them."""
    given = os.environ.get(FILE_VARIABLE)
    made = _of_file(Path(given)) if given else Corpus("manuals", manuals())
    rows = min(len(made.texts), MAX_TEXTS)
    return Corpus(made.name, made.texts[: rows // 10 if quick else rows])


def _of_file(path: Path) -> Corpus:
    table = pq.read_table(path)
    names = [field.name for field in table.schema if pa.types.is_string(field.type)]
    (name, *_) = names
    texts = table[name].combine_chunks()
    return Corpus(path.stem, texts.drop_null())


def manuals() -> pa.StringArray:
    """All descriptions, in random order."""
    import botocore

    folder = Path(botocore.__file__).parent / "data"
    found: dict[str, None] = {}
    for path in sorted(folder.glob("*/*/service-2.json*")):
        raw = path.read_bytes()
        content = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        for text in descriptions(content):
            if len(text) > MIN_CHARACTERS:
                found[text] = None
    texts = list(found)
    order = np.random.default_rng(0).permutation(len(texts)).tolist()
    return pa.array([texts[number] for number in order], pa.string())


def descriptions(value: Any) -> Iterator[str]:
    """The texts of all keys ``documentation`` of a JSON value, without tags."""
    if isinstance(value, dict):
        for key, own in value.items():
            if key == "documentation" and isinstance(own, str):
                yield " ".join(TAG.sub(" ", own).split())
            else:
                yield from descriptions(own)
    elif isinstance(value, list):
        for own in value:
            yield from descriptions(own)
