"""What may become of a damaged file: valid data or a `LanceError`, soon and in little memory."""

from __future__ import annotations

import resource
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lance_core.datafile import FileReader
from lance_core.encodings.arrow.ordered_rows import AnyRows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.errors import LanceError
from lance_core.schema import Field, Schema
from lance_core_testing.mutants import Mutant
from tests.golden.reading import opened
from tests.sequences import sequence

SECONDS = 2.0
"""Of the processor, for all that is done with one mutant."""
MIB = 1 << 20
MEMORY = 64 * MIB
MOST_ROWS = 1000

Mapper = Callable[[Sequence[Field]], Mapping[int, int]]
"""Field id to column for the fields of a file."""

SHUFFLED = [19, 0, 7, 3, 3, 11, 0, 14, 2, 5]
PARTS = (
    (RowRange(3, 17), [*range(3, 17)]),
    (RowIndices(np.array([0, 2, 3, 19])), [0, 2, 3, 19]),
    (RowRange(7, 8), [7]),
    (sequence(SHUFFLED), SHUFFLED),
)


@dataclass
class Verdict:
    """How many mutants did not open, gave errors, or were read; what is wrong, if anything is."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def fewest(self) -> int:
        """Of each of the three: so many at least."""
        return min(self.outcomes[kind] for kind in ("not opened", "errors", "read"))


def judged(found: Iterable[Mutant], judge: Callable[[bytes], str], memory: int = MEMORY) -> Verdict:
    """``judge`` says what becomes of each mutant; anything that it raises is a failure.

    ``memory``: bytes that one may need.
    """
    verdict = Verdict()
    before = _peak_memory()
    for mutant in found:
        start = time.process_time()
        try:
            verdict.outcomes[judge(mutant.data)] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            verdict.failures.append(f"{mutant.kind}: {error!r} {_place(error)}")
        if time.process_time() - start > SECONDS:
            verdict.failures.append(f"{mutant.kind}: {time.process_time() - start:.1f} s")
        if _peak_memory() - before > memory:
            verdict.failures.append(f"{mutant.kind}: {(_peak_memory() - before) // MIB} MiB")
            before = _peak_memory()
    return verdict


def _place(error: BaseException) -> str:
    """Where an error was raised in the package, or what is nearest to it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "lance_core" in frame.filename] or frames
    return f"({own[-1].filename.rpartition('lance_core')[2]}:{own[-1].lineno})"


def outcome(raw: bytes, schema: Schema, mapper: Mapper) -> str:
    """``not opened``, ``errors`` or ``read``; anything but a `LanceError` is raised."""
    try:
        reader = opened(raw)
        schemas = _schemas(reader, schema)
    except LanceError:
        return "not opened"
    errors = 0
    for one in schemas:
        try:
            mapping = mapper(one.fields)
        except LanceError:
            errors += 1
            continue
        try:
            reader.page_statistics(one.fields)
        except LanceError:
            errors += 1
        for field_ in one.fields:
            errors += _read(reader, field_, mapping, PARTS[zlib.crc32(raw) % len(PARTS)])
    return "errors" if errors else "read"


def _schemas(reader: FileReader, sound: Schema) -> list[Schema]:
    """The one that a table's manifest would have, and the one in the file if it is another."""
    try:
        reader.schema.to_arrow()
    except LanceError:
        return [sound]
    return [sound] if reader.schema == sound else [sound, reader.schema]


def _read(
    reader: FileReader, field_: Field, mapping: Mapping[int, int], part: tuple[AnyRows, list[int]]
) -> int:
    """How many of two ways to read a field ended in an error; they may not contradict."""
    errors = 0
    results = []
    for rows in (None, part[0]):
        try:
            # A file may honestly hold more rows of nothing but nulls than fit into memory.
            wanted = rows or RowRange(0, min(reader.num_rows, MOST_ROWS))
            (column,) = reader.read([field_], mapping, wanted)
        except LanceError:
            errors += 1
            continue
        # Any bytes are a decimal of a column, though not each is of its precision.
        column.validate(full=not pa.types.is_decimal(column.type))
        assert len(column) == len(wanted)
        assert column.type == field_.storage_type
        results.append(column)
    if not errors and len(results[0]) > max(part[1]):
        _same(results[1], results[0].take(pa.array(part[1])))
    return errors


def _same(part: pa.ChunkedArray, expected: pa.ChunkedArray) -> None:
    if not part.equals(expected) and str(part.to_pylist()) != str(expected.to_pylist()):
        raise AssertionError(f"{part.to_pylist()} in part, {expected.to_pylist()} as a whole")


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
