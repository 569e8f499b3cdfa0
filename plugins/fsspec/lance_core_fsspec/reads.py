"""Read ranges of an object with few requests, and check their lengths."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pyarrow as pa

from lance_core.errors import StoreError
from lance_core.hookspecs.stores import ByteRange, check_ranges, plan_reads
from lance_core_fsspec.listing import is_folder
from lance_core_fsspec.mount import Mount


def read_ranges(mount: Mount, path: str, ranges: Sequence[ByteRange], gap: int) -> list[pa.Buffer]:
    """The bytes of each range; ranges less than ``gap`` bytes apart are read together.

    Raises `CorruptFileError` if a range ends past the object, and the exceptions of the file
    system.
    """
    check_ranges(ranges, sys.maxsize, path)
    plan = plan_reads(ranges, gap, sys.maxsize)
    if not plan.extents:
        return plan.cut(())
    spans = [ByteRange(*extent) for extent in plan.extents]
    key = mount.key(path)
    with mount.lock:
        answers = mount.filesystem.cat_ranges(
            [key] * len(spans),
            [span.start for span in spans],
            [span.stop for span in spans],
            on_error="return",
        )
    buffers = [
        _checked(mount, path, ranges, span, answer)
        for span, answer in zip(spans, answers, strict=True)
    ]
    return plan.cut(buffers)


def _checked(
    mount: Mount,
    path: str,
    ranges: Sequence[ByteRange],
    span: ByteRange,
    answer: bytes | Exception,
) -> pa.Buffer:
    """The bytes of ``span``; raises an error with the reason if they are missing."""
    if isinstance(answer, bytes) and len(answer) == span.length:
        return pa.py_buffer(answer)
    with mount.lock:
        mount.filesystem.invalidate_cache()
        entry = mount.filesystem.info(mount.key(path))
    if is_folder(entry):
        raise FileNotFoundError(path)
    size = entry.get("size")
    if size is not None:
        check_ranges(ranges, size, path)
    if isinstance(answer, Exception):
        raise answer
    if len(answer) == size:  # a server without support for ranges sends the whole object
        return pa.py_buffer(answer).slice(span.start, span.length)
    raise StoreError(f"{len(answer)} bytes of {path!r} were received instead of {span.length}")
