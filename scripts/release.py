"""Make a release: ``python scripts/release.py VERSION [--repository URL] [--wheels FOLDER]``.

Needs ``pip install build towncrier``. In a checkout without changes, it

1. writes the version into every distribution, and into the requirements that pin it, and where the
   project lives: what an index shows beside a distribution,
2. moves the fragments of ``changes/`` into ``CHANGELOG.md``, or dates the section of the version if
   it was written by hand,
3. builds a wheel and a source distribution of every distribution, in whose descriptions links lead
   to the project,
4. installs the wheels into an empty environment and uses them.

It neither commits nor uploads: look at the difference, commit it and tag it ``v<VERSION>``.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION_FILE = ROOT / "lance_core" / "_version.py"
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
"""Versions of releases, of PEP 440."""

REPOSITORY = re.compile(r"https://[\w.-]+(/[\w.~-]+)+/?")
"""Addresses of repositories."""

URLS = re.compile(r"\n\[project\.urls\]\n(.+\n)*")
"""The section of project settings that an earlier release wrote."""

LINK = re.compile(r"(?<=\]\()(?!https?:|#)[^)\s]+(?=\))")
"""Targets of links of a description that lead to files of the checkout."""

TRIED_EXTRAS = ("alias", "all", "s3", "sql", "lease")
"""Extras that the trial installs: not Spark and other clouds, which take minutes."""

TRIAL = """
import pyarrow as pa
import lance, lance_core
from lance_core.plugins import get_manager

assert lance.dataset is lance_core.dataset
table = pa.table({"x": range(1000), "s": ["text"] * 1000})
lance.write_dataset(table, "trial.lance")
dataset = lance.write_dataset(table, "trial.lance", mode="append")
dataset.create_scalar_index("x", "BTREE")
assert dataset.count_rows("x >= 990 AND upper(s) = 'TEXT'") == 20
assert dataset.optimize.compact_files().fragments_added == 1
assert dataset.count_rows("x < 3") == 6
(answer,) = dataset.sql("SELECT max(x) AS x FROM dataset").build().to_batch_records()
assert answer.to_pydict() == {"x": [999]}
assert not get_manager().failures, get_manager().failures
print("lance-core", lance_core.__version__, "works")
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("version", help="of the release, such as 0.1.0")
    parser.add_argument(
        "--repository", metavar="URL", help="of the pages of the project; default: as it was"
    )
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="a folder for the files")
    options = parser.parse_args(arguments)
    if not VERSION.fullmatch(options.version):
        parser.error(f"{options.version!r} is not a version such as 1.2.3 or 1.2.3rc1")
    if options.repository and not REPOSITORY.fullmatch(options.repository):
        parser.error(f"{options.repository!r} is not an address such as https://host/owner/name")
    if _output("git", "status", "--porcelain"):
        parser.error("commit or stash the changes of this checkout first")
    folder = options.wheels.resolve()
    if folder.exists() and any(folder.iterdir()):
        parser.error(f"{folder} is not empty")
    set_version(options.version)
    if options.repository:
        set_urls(options.repository.rstrip("/"))
    collect_changes(options.version)
    build(folder)
    try_wheels(folder, options.version)
    print(f"built in {folder}; commit the changes, then: git tag v{options.version}")
    return 0


def projects() -> list[Path]:
    """The folders of all distributions, that of the core first."""
    return [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]


def set_version(version: str) -> None:
    """Write the version into the core, into every plugin, and where they require each other."""
    text = VERSION_FILE.read_text("utf-8")
    VERSION_FILE.write_text(re.sub(r'(__version__ = )"[^"]+"', rf'\1"{version}"', text), "utf-8")
    for project in projects():
        path = project / "pyproject.toml"
        text = path.read_text("utf-8")
        text = re.sub(r'^version = "[^"]+"', f'version = "{version}"', text, flags=re.MULTILINE)
        text = re.sub(r'"(lance-core[a-z0-9,\[\]-]*)==[^";]+', rf'"\1=={version}', text)
        path.write_text(text, "utf-8")


def set_urls(repository: str) -> None:
    """Write the addresses of pages, changes and issues into every distribution."""
    pages = {
        "Repository": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
    section = "\n[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in pages.items())
    for project in projects():
        path = project / "pyproject.toml"
        text = URLS.sub("", path.read_text("utf-8")).rstrip("\n")
        path.write_text(f"{text}\n{section}", "utf-8")


def collect_changes(version: str) -> None:
    """Move the fragments into the change log, or date a section that was written by hand."""
    fragments = sorted(
        path.name for path in (ROOT / "changes").glob("*.md") if path.name != "README.md"
    )
    text = CHANGELOG.read_text("utf-8")
    if f"\n## {version} " in text:
        if fragments:
            raise SystemExit(
                f"the section {version} of CHANGELOG.md was written by hand: add to it what users "
                f"need of {', '.join(fragments)} in changes/, and remove these files"
            )
        title = f"## {version} ({datetime.date.today()})"
        CHANGELOG.write_text(text.replace(f"## {version} (unreleased)", title), "utf-8")
    elif fragments:
        _run(sys.executable, "-m", "towncrier", "build", "--yes", "--version", version)
    else:
        raise SystemExit(f"neither changes/ nor CHANGELOG.md says what is new in {version}")


def build(folder: Path) -> None:
    """Build a wheel and a source distribution of every distribution."""
    # Each build has an environment of its own, which pip takes longer to install.
    installer = ["--installer", "uv"] if shutil.which("uv") else []
    with links_for_an_index():
        for project in projects():
            _run(sys.executable, "-m", "build", *installer, "--outdir", str(folder), str(project))
    for pattern in ("*.whl", "*.tar.gz"):
        if len(list(folder.glob(pattern))) != len(projects()):
            raise SystemExit(f"{folder} does not hold one {pattern} for each distribution")


@contextmanager
def links_for_an_index() -> Iterator[None]:
    """Let links of descriptions lead to the project's pages while distributions are built.

    In a checkout they lead to its files, which an index does not have.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    if "urls" not in settings:
        print("no --repository was ever given: links of descriptions lead nowhere on an index")
        yield
        return
    repository = settings["urls"]["Repository"]
    descriptions = [each / "README.md" for each in projects()]
    before = {path: path.read_text("utf-8") for path in descriptions}
    try:
        for path, text in before.items():
            path.write_text(LINK.sub(partial(_address, repository, path.parent), text), "utf-8")
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, "utf-8")


def _address(repository: str, folder: Path, link: re.Match[str]) -> str:
    """Where the file lies that a description in ``folder`` links to."""
    name, mark, part = link[0].partition("#")
    target = (folder / name).resolve()
    if not target.exists():
        raise SystemExit(f"{folder / 'README.md'} links to {name}, which does not exist")
    view = "raw" if target.suffix in (".svg", ".png") else "tree" if target.is_dir() else "blob"
    return f"{repository}/{view}/main/{target.relative_to(ROOT)}{mark}{part}"


def try_wheels(folder: Path, version: str) -> None:
    """Install the wheels into an empty environment, and use them there."""
    with tempfile.TemporaryDirectory(prefix="a release ") as trial:
        python = Path(trial) / "environment" / "bin" / "python"
        venv.create(python.parents[1], with_pip=True)
        wanted = f"lance-core[{','.join(TRIED_EXTRAS)}]=={version}"
        _run(str(python), "-m", "pip", "install", "--quiet", "--find-links", str(folder), wanted)
        _run(str(python), "-c", TRIAL, folder=trial)
        _run(str(python.with_name("lance-core")), "plugins", folder=trial)


def _run(*command: str, folder: Path | str = ROOT) -> None:
    print(">", *_shortened(command), flush=True)
    subprocess.run(command, cwd=folder, check=True)


def _shortened(command: Iterable[str]) -> list[str]:
    return [argument if len(argument) < 200 else "…" for argument in command]


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
