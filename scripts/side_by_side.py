"""Run commands at the same time: the output of the first as it comes, then that of the others.

``python scripts/side_by_side.py "COMMAND" "COMMAND" ...``; fails if one of them does.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence


def run_side_by_side(first: Sequence[str], *others: Sequence[str]) -> int:
    """Run all commands to their end, whether or not one fails. Returns the highest exit code."""
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(tempfile.TemporaryFile()) for _ in others]
        running = [
            subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            for command, output in zip(others, outputs, strict=True)
        ]
        codes = [subprocess.call(first)]
        for command, process, output in zip(others, running, outputs, strict=True):
            codes.append(process.wait())
            output.seek(0)
            text = output.read().decode(errors="replace")
            sys.stdout.write(f"{shlex.join(command)}: exit code {codes[-1]}\n{text}")
            sys.stdout.flush()
    return max(map(abs, codes))


if __name__ == "__main__":
    raise SystemExit(run_side_by_side(*map(shlex.split, sys.argv[1:])))
