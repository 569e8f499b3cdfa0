"""A home of Spark in which a cluster may write the folders of its executors."""

from __future__ import annotations

from pathlib import Path

import pyspark


def spark_home(folder: Path) -> Path:
    """Make ``folder`` a home of Spark as it is installed."""
    folder.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        if part.name != "work":
            (folder / part.name).symlink_to(part)
    return folder
