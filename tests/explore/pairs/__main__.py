"""``python -m tests.explore.pairs [--processes N]``."""

from __future__ import annotations

import argparse
import sys

from tests.explore.pairs.running import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    raise SystemExit(0 if main(sys.stdout.write, parser.parse_args().processes) else 1)
