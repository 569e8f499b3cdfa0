"""``python -m lance_core``: the command ``lance-core``."""

from lance_core.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
