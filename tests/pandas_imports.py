"""Run verbs in a process of its own that notices imports of pandas, also where it is missing."""

from __future__ import annotations

import subprocess
import sys

_WATCH = """
import sys, traceback

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            imports.append("".join(traceback.format_stack(limit=12)))
            raise ImportError(name)

imports = []
sys.meta_path.insert(0, Watch())

def check(verb):
    assert not imports, f"{verb} imports pandas:\\n{imports[0]}"
"""


def run_watched(script: str, *arguments: object) -> None:
    """Run ``script``, which calls ``check(verb)`` after each verb, with ``sys.argv[1:]``."""
    command = [sys.executable, "-W", "ignore", "-c", _WATCH + script, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
