"""Write objects atomically: readers see the old or the new object, never a part.

If the file system has atomic writes, this is one write. Otherwise the bytes are written to a
temporary name, which is then renamed; a failure before the rename has no effect.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from lance_core.errors import StoreError
from lance_core.hookspecs.stores import TEMPORARY_PREFIX
from lance_core_fsspec.errors import Redaction, one_line
from lance_core_fsspec.mount import Mount

PIPED = 32 << 20
"""Maximum bytes of an object that is written from memory; larger ones are sent from a file."""


def make_object(mount: Mount, path: str, send: Callable[[str], None], redact: Redaction) -> None:
    """Write the object at ``path`` with ``send``, which writes it to the given key.

    Raises `StoreError` if nothing was applied; after any other exception the write may have been
    applied.
    """
    key = mount.key(path)
    with mount.lock:
        if not mount.traits.stages:
            send(key)
            return
        temporary = f"{key.rpartition('/')[0]}/{TEMPORARY_PREFIX}{uuid.uuid4().hex}"
        try:
            _stage(mount, key, temporary, send)
        except Exception as error:
            _drop(mount, temporary)
            text = f"{path!r} could not be written: {one_line(error, redact)}"
        else:
            _rename(mount, temporary, key)
            return
    raise StoreError(text)


def sent_from(mount: Mount, file: Path) -> Callable[[str], None]:
    """A function that writes the content of a local file to a key."""
    if mount.traits.keeps_bytes or file.stat().st_size <= PIPED:
        content = file.read_bytes()
        return lambda key: mount.filesystem.pipe_file(key, content)
    return lambda key: mount.filesystem.put_file(str(file), key)


def copied_from(mount: Mount, source: str) -> Callable[[str], None]:
    """A function that copies the object ``source`` to a key, through this machine if necessary."""
    filesystem = mount.filesystem

    def send(key: str) -> None:
        try:
            filesystem.cp_file(mount.key(source), key)
        except NotImplementedError:
            with TemporaryDirectory(prefix="lance-core-") as folder:
                file = Path(folder, "copy")
                filesystem.get_file(mount.key(source), str(file))
                sent_from(mount, file)(key)

    return send


def _stage(mount: Mount, key: str, temporary: str, send: Callable[[str], None]) -> None:
    filesystem = mount.filesystem
    try:
        send(temporary)
    except Exception:
        # Most likely the folder does not exist; file systems raise different errors for that.
        filesystem.makedirs(key.rpartition("/")[0], exist_ok=True)
        send(temporary)
    if filesystem.isdir(key):  # a rename would move the file into the folder
        raise IsADirectoryError("a folder of this name exists")


def _rename(mount: Mount, temporary: str, key: str) -> None:
    filesystem = mount.filesystem
    try:
        filesystem.mv(temporary, key)
    except Exception:
        filesystem.invalidate_cache()
        if not filesystem.exists(temporary) or not filesystem.exists(key):
            raise
        # Some refuse to replace. Between both calls there is no object, but never a part of one.
        filesystem.rm_file(key)
        filesystem.mv(temporary, key)


def _drop(mount: Mount, temporary: str) -> None:
    with contextlib.suppress(Exception):
        mount.filesystem.rm_file(temporary)
