"""Compile the inner loops of a plugin with the C compiler that Python or the variable ``CC`` names.

Without a compiler, the wheel is built without the library, and numpy does what the loops would. The
wheel then contains the reason, which `lance-core plugins` shows.

All plugins with inner loops share this file, and the headers beside the sources of the kernels.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
import tempfile
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HAS_STABLE_ABI = not sysconfig.get_config_var("Py_GIL_DISABLED")
"""False for free-threaded Python, which imports no library of the stable ABI."""

LIBRARY = "_native.abi3.so" if HAS_STABLE_ABI else "_native.so"
REASON = "not_compiled.txt"
SIGNATURES = "_native.pyi"
"""Files of the package."""

SHARED_HEADERS = Path(__file__).parent / "src"


class CompileHook(BuildHookInterface[Any]):
    """Adds the compiled library to a wheel, or builds it in place for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library; the build backend calls this before it assembles a wheel."""
        root = Path(self.root)
        package = package_of(root)
        if version == "editable":
            target, reason = package / LIBRARY, package / REASON
        else:
            self._folder = tempfile.TemporaryDirectory()
            target = Path(self._folder.name) / "native.so"
            reason = Path(self._folder.name) / "not_compiled.txt"
        reason.unlink(missing_ok=True)
        try:
            compile_library(root, target)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or error
            self.app.display_warning(f"{package.name} is not compiled, numpy is used: {said}")
            target.unlink(missing_ok=True)
            reason.write_text(_summary(error), "utf-8")
            if version != "editable":
                build_data["force_include"][str(reason)] = f"{package.name}/{REASON}"
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        version_tag = "cp" + sysconfig.get_config_var("py_version_nodot")
        own_abi = f"{version_tag}-{version_tag}t"
        build_data["tag"] = f"{'cp311-abi3' if HAS_STABLE_ABI else own_abi}-{platform}"
        if version != "editable":
            build_data["force_include"][str(target)] = f"{package.name}/{LIBRARY}"


def package_of(root: Path) -> Path:
    """The package of a plugin in the folder ``root``: the one with signatures of a library."""
    (signatures,) = root.glob(f"*/{SIGNATURES}")
    return signatures.parent


def compile_library(root: Path, target: Path) -> None:
    """Compile the library with one compiler call; ``target`` appears only when it is complete.

    The library contains a checksum of the signatures in its sources. Python code compares it at
    import, because a library of older sources may remain in a checkout.
    """
    interface = zlib.crc32((package_of(root) / SIGNATURES).read_bytes())
    settings = sysconfig.get_config_vars()
    command = _linker(settings)
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    command += [
        *shlex.split(settings.get("CCSHARED") or "-fPIC"),
        *("-std=c11", "-O3", "-DNDEBUG", "-Wall", "-Wextra", "-fvisibility=hidden"),
        f"-DINTERFACE={interface}L",
        f"-I{sysconfig.get_path('include')}",
        f"-I{SHARED_HEADERS}",
        *shlex.split(os.environ.get("CFLAGS", "")),
        *sorted(map(str, (root / "src").glob("*.c"))),
        *shlex.split(os.environ.get("LDFLAGS", "")),
        *("-o", str(partial)),
    ]
    try:
        # The command comes from this Python's configuration or from the builder.
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)  # noqa: S603
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _linker(settings: dict[str, Any]) -> list[str]:
    """The command that makes a shared library; `OSError` if this Python knows none (Windows)."""
    linker = shlex.split(settings.get("LDSHARED") or "")
    if "CC" in os.environ:
        flags = linker[len(shlex.split(settings.get("CC") or "")) :] or ["-shared"]
        return shlex.split(os.environ["CC"]) + flags
    if not linker:
        raise OSError("this Python names no C compiler (LDSHARED of sysconfig), nor does CC")
    return linker


def _summary(error: Exception) -> str:
    """One line about a failed compilation, without the flags and paths of the command."""
    if isinstance(error, subprocess.CalledProcessError):
        first = next(iter((error.stderr or "").splitlines()), "it printed nothing")
        return f"the compiler {Path(error.cmd[0]).name} failed: {first}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"the compiler took more than {error.timeout:.0f} s"
    return f"no compiler could be run: {error}"
