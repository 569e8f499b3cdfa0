"""Run commands at the same time, each of which uses one processor: their output comes in turn.

``python scripts/side_by_side.py "COMMAND" "COMMAND" ...``; fails if one of them does.
"""

from __future__ import annotations

import shlex
import subprocess
import sys


def main(commands: list[str]) -> int:
    """Run all of them to their end. Returns the highest of their exit codes."""
    started = [
        subprocess.Popen(shlex.split(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for command in commands
    ]
    for command, process in zip(commands, started, strict=True):
        output, _ = process.communicate()
        sys.stdout.write(f"{command}: exit code {process.returncode}\n{output.decode()}")
        sys.stdout.flush()
    return max(abs(process.returncode) for process in started)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
