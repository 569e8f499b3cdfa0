"""The distribution whose package ``lance`` is lance-core."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_core import __version__
from tests.packaging.distributions import linked
from tests.packaging.environments import Environment

pytestmark = [pytest.mark.wheels, pytest.mark.xdist_group("wheels")]

USE = """
import lance
import lance_core, pyarrow as pa, sys
from lance.dataset import LanceDataset, write_dataset
from lance.fragment import FragmentMetadata
assert lance.write_dataset is write_dataset is lance_core.write_dataset
assert LanceDataset is lance_core.LanceDataset
assert FragmentMetadata is lance_core.FragmentMetadata
lance.write_dataset(pa.table({"id": range(100)}), "t.lance")
assert isinstance(lance.dataset("t.lance"), LanceDataset)
assert "lance_core_alias" in sys.modules
print(lance.__version__, lance.dataset("t.lance").count_rows("id < 10"))
"""

REFUSED = """
for _ in range(2):
    try: import lance
    except Exception as error: print(type(error).__name__, error)
import lance_core
assert lance_core.dataset
"""


@pytest.fixture(scope="module")
def aliased(installed: Environment, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return linked(installed, "lance-core-alias", tmp_path_factory.mktemp("alias"))


def test_programs_of_pylance_get_this_library(aliased: Environment) -> None:
    assert aliased.python(USE).split() == [f"14.0.2+lance.core.{__version__}", "10"]


def test_pylance_in_the_same_folder_is_refused_with_what_to_do(aliased: Environment) -> None:
    """As pip leaves it when the alias is installed last: the metadata of both are there."""
    pylance = aliased.packages / "pylance-14.0.2.dist-info"
    pylance.mkdir()
    (pylance / "METADATA").write_text("Metadata-Version: 2.1\nName: pylance\nVersion: 14.0.2\n")
    try:
        told = aliased.python(REFUSED).splitlines()
    finally:
        (pylance / "METADATA").unlink()
        pylance.rmdir()
    assert len(told) == 2
    for line in told:
        assert line.startswith("PluginConflictError lance-core-alias and pylance 14.0.2 are both")
        assert "`pip uninstall pylance lance-core-alias`" in line


def test_pylance_in_another_folder_of_the_path_is_no_conflict(
    aliased: Environment, tmp_path: Path
) -> None:
    (tmp_path / "pylance-14.0.2.dist-info").mkdir()
    metadata = tmp_path / "pylance-14.0.2.dist-info" / "METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: pylance\nVersion: 14.0.2\n")
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import lance; print(lance.__name__)"
    assert aliased.python(code) == "lance\n"
