"""Generate `lance_core/_pb` from `protos`, or check that it is up to date.

    python -m pip install -r scripts/requirements-protos.txt
    python scripts/generate_protos.py            # rewrite the checked-in code
    python scripts/generate_protos.py --check    # compare, exit 1 on a difference

The exit code is 2 if nothing could be generated, e.g. with other generator versions.

The output depends on the `.proto` files and on the pinned generator only. The
`.proto` files are compiled as `lance_core/_pb/<name>.proto`, so that in a process
with other protobuf users no descriptor is registered as plain `file.proto`.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "protos"
PACKAGE = Path("lance_core", "_pb")
REQUIREMENTS = Path("scripts", "requirements-protos.txt")
DIFF_LINES = 40


class GenerationError(Exception):
    """The code could not be generated; the text says why."""


def check_pins() -> None:
    """Raise `GenerationError` unless every pinned distribution has its pinned version."""
    wrong: list[str] = []
    pins = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / REQUIREMENTS).read_text("utf-8"), re.MULTILINE)
    for name, pinned in pins:
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = "nothing"
        if found != pinned:
            wrong.append(f"{name}: {found} is installed, {pinned} is pinned")
    if wrong:
        remedy = f"python -m pip install -r {REQUIREMENTS.as_posix()}"
        raise GenerationError("\n".join([*wrong, f"Install the pinned versions: {remedy}"]))


def generate(target: Path) -> dict[str, str]:
    """Generate into the empty directory `target`; return the text of each file by its name."""
    staged = target / "sources" / PACKAGE
    output = target / "output"
    staged.mkdir(parents=True)
    output.mkdir()
    names = sorted(path.name for path in SOURCES.glob("*.proto"))
    for name in names:
        shutil.copyfile(SOURCES / name, staged / name)
    plugin = shutil.which("protoc-gen-mypy", path=sysconfig.get_path("scripts"))
    if plugin is None:
        raise GenerationError("protoc-gen-mypy is not in this Python's scripts directory")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--plugin=protoc-gen-mypy={plugin}"]
    command += [f"-I{target / 'sources'}", f"--python_out={output}", f"--mypy_out=quiet:{output}"]
    command += [(PACKAGE / name).as_posix() for name in names]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise GenerationError(f"protoc failed:\n{result.stderr}")
    files = sorted((output / PACKAGE).iterdir())
    return {path.name: path.read_text("utf-8") for path in files}


def checked_in() -> dict[str, str]:
    """Return the text of each generated file of the checkout by its name."""
    files = sorted((ROOT / PACKAGE).glob("*_pb2.py*"))
    return {path.name: path.read_text("utf-8") for path in files}


def differences(expected: dict[str, str], present: dict[str, str]) -> list[str]:
    """Return a readable line (or diff) for each file that is missing, left over or different."""
    found = [f"{PACKAGE / name} is missing" for name in expected.keys() - present.keys()]
    found += [
        f"{PACKAGE / name} has no .proto file in {SOURCES.name}/"
        for name in present.keys() - expected.keys()
    ]
    for name in sorted(expected.keys() & present.keys()):
        if expected[name] != present[name]:
            old, new = present[name].splitlines(), expected[name].splitlines()
            diff = difflib.unified_diff(old, new, "checked in", "generated", lineterm="", n=1)
            found.append(f"{PACKAGE / name} differs:")
            found += [f"    {line[:160]}" for line in list(diff)[:DIFF_LINES]]
    return found


def write(files: dict[str, str]) -> None:
    """Make the generated files of the checkout exactly `files`."""
    for name in checked_in().keys() - files.keys():
        (ROOT / PACKAGE / name).unlink()
    for name, text in files.items():
        (ROOT / PACKAGE / name).write_text(text, "utf-8", newline="\n")


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(description="Generate lance_core/_pb from protos/.")
    parser.add_argument("--check", action="store_true", help="only compare, exit 1 if different")
    check_only: bool = parser.parse_args().check
    try:
        check_pins()
        with tempfile.TemporaryDirectory() as directory:
            files = generate(Path(directory))
    except GenerationError as error:
        print(error, file=sys.stderr)
        return 2
    if not check_only:
        write(files)
        print(f"wrote {len(files)} files to {PACKAGE}")
        return 0
    found = differences(files, checked_in())
    if found:
        found.append("Run `python scripts/generate_protos.py` and commit the result.")
        print("\n".join(found), file=sys.stderr)
        return 1
    print(f"{len(files)} files in {PACKAGE} are up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
