"""Create packages for new plugins that pass the tests of their contracts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from lance_core.errors import InvalidInputError, StoreError
from lance_core.hookspecs.options import hint

COMMON = {"pyproject.toml.in": "pyproject.toml", "README.md.in": "README.md"}
"""Templates of all packages, with the path of the created file."""

KINDS: Mapping[str, tuple[str, str]] = {
    "store": ("A store of lance-core in SQLite files", "store"),
    "handler": ("A commit handler of lance-core that copies manifests", "handler"),
    "manifest-store": ("An external manifest store of lance-core in a folder", "rows"),
    "encoding": ("An encoding of lance-core for ascending numbers", "encoding"),
    "index": ("An index type of lance-core for integers", "index"),
    "search": ("A search of lance-core for the closest numbers, with an index", "search"),
    "analyzer": ("An analyzer of lance-core for Chinese, Japanese and Korean texts", "analyzer"),
    "function": ("An SQL function of lance-core that counts words", "function"),
}
"""Description of each kind of package, and the name of its module."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def render(name: str, provides: str) -> dict[str, str]:
    """The files of a package: content by path, relative to the package's folder.

    ``name``: name of the plugin and of its scheme or suffix. ``provides``: a key of `KINDS`. Raises
    `InvalidInputError` for an invalid name or kind.
    """
    if provides not in KINDS:
        raise InvalidInputError(f"{provides!r} is not a kind of plugin{hint(provides, KINDS)}")
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise InvalidInputError(f"name {name!r}: lower-case letters and digits, with '-' inside")
    what, module = KINDS[provides]
    meant = {
        "@name@": name,
        "@module@": f"lance_core_{name.replace('-', '_')}",
        "@function@": name.replace("-", "_"),
        "@Class@": "".join(part.capitalize() for part in name.split("-")),
        "@what@": what,
    }
    folder = resources.files("lance_core_testing").joinpath("templates")
    templates = [(folder.joinpath(source), target) for source, target in COMMON.items()]
    own = {
        "init.py.in": "@module@/__init__.py",
        f"{module}.py.in": f"@module@/{module}.py",
        f"test_{module}.py.in": f"tests/test_{module}.py",
    }
    templates += [(folder.joinpath(provides, source), target) for source, target in own.items()]
    return {
        _filled(target, meant): _filled(source.read_text("utf-8"), meant)
        for source, target in templates
    }


def write_package(name: str, provides: str, folder: Path) -> Path:
    """Write the package ``lance-core-NAME`` below ``folder``; returns the package's folder.

    Raises `InvalidInputError` if the package's folder exists, and `StoreError` if a write fails.
    """
    files = render(name, provides)
    package = folder / f"lance-core-{name}"
    if package.exists():
        raise InvalidInputError(f"{package} already exists")
    try:
        for path, content in files.items():
            target = package / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, "utf-8")
    except OSError as error:
        raise StoreError(f"{package} cannot be written: {error}") from error
    return package


def _filled(template: str, meant: Mapping[str, str]) -> str:
    return re.sub(r"@\w+@", lambda match: meant[match[0]], template)
