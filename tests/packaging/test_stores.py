"""What the extra of a store brings: all that it needs, and nothing of it before it is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import lance_core_dynamodb
from lance_core.plugins.known_plugins import EXTRA_OF_HANDLER, EXTRA_OF_SCHEME
from tests.examples import only_on_spark_in_full
from tests.packaging.distributions import distributions_in, linked
from tests.packaging.environments import ROOT, Environment, lowest_versions
from tests.servers.azurite import running_azurite
from tests.servers.gcs import running_gcs
from tests.servers.moto import running_moto

pytestmark = [pytest.mark.wheels, pytest.mark.xdist_group("wheels")]

STORES = ("azure", "dynamodb", "fsspec", "gcs", "s3")
"""The extras that bring a store, or what decides about commits to one."""

Places = dict[str, tuple[str, dict[str, str]]]
"""The URI of a table, and options, by name of an extra. ``{}`` in a URI is a folder of its own."""

LOOKED_UP = """
import json, os, sys
import lance_core as lance
from lance_core.plugins import get_manager
manager = get_manager()
for plugin in manager.plugins:
    for spec in plugin.object_stores:
        manager.object_store(spec.schemes[0])
    for spec in plugin.manifest_stores:
        manager.url_suffix(spec.url_suffix)
assert not manager.failures, manager.failures
sdks = "boto3", "botocore", "azure.core", "google.auth", "fsspec", "requests", "urllib3", "ssl"
early = [sdk for sdk in sdks if sdk in sys.modules]
assert not early, early
"""
PLUGINS = """
from lance_core.cli import main
assert not main(["plugins"])
print("---")
"""
A_TABLE = """
import pyarrow as pa
uri, options = sys.argv[1].replace("{}", os.getcwd()), json.loads(sys.argv[2])
for _ in range(2):
    lance.write_dataset(
        pa.table({"x": range(50_000)}), uri, mode="append", storage_options=options
    )
"""
A_REGISTERED_FILE_SYSTEM = """
import fsspec, lance_core_fsspec
uri = lance_core_fsspec.register_file_system("disk", fsspec.filesystem("file"), uri)
"""
READ = """
found = lance.dataset(uri, storage_options=options)
print(found.version, found.count_rows("x >= 10"), found.take([3, 50_004])["x"].to_pylist())
"""
PROGRAMS = dict.fromkeys(STORES, A_TABLE + READ) | {
    "fsspec": A_TABLE + A_REGISTERED_FILE_SYSTEM + READ
}
READ_BACK = "2 99980 [3, 4]"


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    with ExitStack() as stack:
        moto = stack.enter_context(running_moto())
        azurite = stack.enter_context(running_azurite())
        gcs = stack.enter_context(running_gcs())
        of_rows = moto.options | {"dynamodb_endpoint": moto.endpoint}
        lance_core_dynamodb.create_table("commits", of_rows)
        yield {
            "azure": (f"az://{azurite.new_container()}{{}}", azurite.options),
            "dynamodb": ("file+ddb://{}/decided?ddbTableName=commits", of_rows),
            "fsspec": ("{}/read", {}),
            "gcs": (f"gs://{gcs.new_bucket()}{{}}", gcs.options),
            "s3": (f"s3://{moto.new_bucket()}{{}}", moto.options),
        }


def test_an_environment_has_what_a_requirement_brings_and_no_more(core: Environment) -> None:
    brought = set(distributions_in(core.packages))
    assert brought >= {"lance-core", "numpy", "pyarrow"}
    assert not brought & {f"lance-core-{extra}" for extra in STORES}
    absent = (
        "azure",
        "boto3",
        "botocore",
        "fsspec",
        "google.auth",
        "hypothesis",
        "pytest",
        "urllib3",
    )
    ours = ("lance_core_indices", "lance_core_remote", "lance_core_s3", "lance_core_testing")
    core.python(
        "import importlib.util, sys, google.protobuf\n"
        "for name in sys.argv[1:]: assert not importlib.util.find_spec(name), name",
        *absent,
        *ours,
    )


@pytest.mark.parametrize("extra", STORES)
def test_an_extra_brings_all_that_its_plugin_needs(
    installed: Environment, places: Places, extra: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = linked(installed, f"lance-core[{extra}]", tmp_path_factory.mktemp(extra))
    uri, options = places[extra]
    program = LOOKED_UP + PLUGINS + PROGRAMS[extra]
    plugins, _, table = made.python(program, uri, json.dumps(options)).partition("---")
    assert f"\n{extra} (lance-core-{extra}" in plugins
    assert "failed" not in plugins
    assert table.strip() == READ_BACK


@only_on_spark_in_full  # tox -e lowest-each has each of them, too
def test_the_lowest_versions_that_plugins_take_are_enough(
    core: Environment, places: Places, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Those of the core are its own; some of them are compiled, and not for every Python."""
    of_core = lowest_versions([ROOT])
    lowest = lowest_versions(ROOT / "plugins" / extra for extra in STORES)
    made = Environment.make(tmp_path_factory.mktemp("lowest"), core.wheels, above=core)
    pinned = [f"{name}=={version}" for name, version in lowest.items() if name not in of_core]
    assert len(pinned) >= 5
    made.install(f"lance-core[{','.join(STORES)}]", *pinned)
    program = LOOKED_UP
    for extra in STORES:
        uri, options = places[extra]
        program += f"sys.argv[1:] = {[uri, json.dumps(options)]!r}\n{PROGRAMS[extra]}"
    assert made.python(program).splitlines() == [READ_BACK] * len(STORES)


def test_what_is_missing_is_named_with_the_extra_that_brings_it(core: Environment) -> None:
    uris = {f"{scheme}://a/b": extra for scheme, extra in EXTRA_OF_SCHEME.items()}
    uris |= {f"file+{name}:///a/b": extra for name, extra in EXTRA_OF_HANDLER.items()}
    told = core.python(
        "import json, sys, lance_core as lance\n"
        "for uri, extra in json.loads(sys.argv[1]).items():\n"
        "    try: lance.dataset(uri)\n"
        "    except lance.errors.PluginNotFoundError as error:\n"
        "        assert f'pip install \"lance-core[{extra}]\"' in str(error), (uri, error)\n"
        "        print(uri)",
        json.dumps(uris),
    )
    assert told.split() == list(uris)


def test_file_version_0_1_is_named_with_its_extra(core: Environment, tmp_path: Path) -> None:
    program = (
        "import sys, pyarrow as pa, lance_core as lance\n"
        "rows = pa.table({'id': [1]})\n"
        "try: lance.write_dataset(rows, sys.argv[1], data_storage_version='legacy')\n"
        "except lance.errors.PluginNotFoundError as error: print(error)"
    )
    told = core.python(program, str(tmp_path / "t.lance"))
    assert 'pip install "lance-core[legacy]"' in told
    assert not (tmp_path / "t.lance").exists()


@pytest.mark.parametrize(
    ("former", "extra"),
    [
        ("from lance_core.testing import ObjectStoreTests", "testing"),
        ("import lance_core.testing.stores", "testing"),
        ("from lance_core.store.remote.client import RemoteClient", "remote"),
        ("from lance_core.index.scalar.btree import BTree", "indices"),
    ],
)
def test_a_module_that_has_moved_is_named_with_the_extra_that_brings_it(
    core: Environment, former: str, extra: str
) -> None:
    told = core.python(
        "import lance_core.store.remote, lance_core.testing, lance_core as lance\n"
        f"try: {former}\n"
        "except lance.errors.PluginNotFoundError as error: print(error)"
    )
    assert f'pip install "lance-core[{extra}]"' in told
