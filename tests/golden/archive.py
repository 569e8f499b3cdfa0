"""Where the golden files are kept: one archive for each writer, a member for each file."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from zipfile import ZIP_LZMA, ZIP_STORED, ZipFile, ZipInfo

HERE = Path(__file__).parent
PYLANCE = HERE / "pylance-14.0.2.zip"
PYLANCE_TABLES = HERE / "pylance-14.0.2-tables.zip"
"""Tables of pylance, see `store_together`; the first part of a path is the name of a table."""
PYLANCE_NAMES = HERE / "pylance-14.0.2-names.json.gz"
"""The public names of pylance, and of its arguments."""
OURS = HERE / "lance-core.zip"
SUMMED = HERE / "lance-core-checksums.zip"
"""The same files with all checksums, of `columns.SUMMED_FILES`; those of ``OURS`` have none."""
EARLIER = HERE / "lance-core-earlier.zip"
"""What this library wrote before it wrote the files of ``OURS``, where that was different."""


def member(name: str, version: str) -> str:
    """The name of the file of a case and file version within an archive."""
    return f"{version}/{name}.lance"


def stored(archive: Path, name: str, version: str) -> bytes:
    """The bytes of a golden file."""
    with ZipFile(archive) as opened:
        return opened.read(member(name, version))


def store(archive: Path, files: dict[str, bytes]) -> None:
    """Write an archive of ``files``, the same bytes for the same files."""
    _write(archive, files, ZIP_LZMA)


def all_stored(archive: Path) -> dict[str, bytes]:
    """All files of an archive, none if there is no archive yet."""
    if not archive.exists():
        return {}
    return _members(archive)


_TOGETHER = "together.zip"


def store_together(archive: Path, files: dict[str, bytes]) -> None:
    """Write an archive of ``files`` that are compressed as one; many of them are alike."""
    plain = BytesIO()
    _write(plain, files, ZIP_STORED)
    store(archive, {_TOGETHER: plain.getvalue()})


def all_stored_together(archive: Path) -> dict[str, bytes]:
    """All files of an archive that `store_together` has written."""
    return _members(BytesIO(all_stored(archive)[_TOGETHER]))


def _write(archive: Path | BytesIO, files: dict[str, bytes], compression: int) -> None:
    with ZipFile(archive, "w", compression) as opened:
        for path in sorted(files):
            opened.writestr(ZipInfo(path), files[path], compression)


def _members(archive: Path | BytesIO) -> dict[str, bytes]:
    with ZipFile(archive) as opened:
        return {path: opened.read(path) for path in opened.namelist()}
