"""Base paths: what a table may make its readers read, and what only the caller can allow."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.snapshot import base_paths
from lance_core.dataset.snapshot.base_paths import allowing, known_places, open_base, parse_base
from lance_core.errors import BasePathRefusedError, CorruptFileError, LanceError
from lance_core.plugins import open_store
from lance_core.store.config import StoreConfig
from lance_core.store.uri import StoreUrl
from tests.each_case import each_case
from tests.table_surgery import edit_manifest

TABLE = pa.table({"x": [1, 2, 3]})

Place = Callable[..., lance.LanceDataset]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A table beside the one under test, with a file that is worth stealing."""
    lance.write_dataset(TABLE, str(tmp_path / "other"))
    return tmp_path / "other"


@pytest.fixture
def pointing_to(uri: str, other: Path) -> Place:
    """A table whose only data file is said to be under a base path, which its maker chose."""
    dataset = lance.write_dataset(TABLE, uri)
    (stolen,) = (other / "data").iterdir()

    def point(path: str, is_dataset_root: bool = True, branch: str | None = None) -> Any:
        def change(manifest: Any) -> None:
            del manifest.base_paths[:]
            manifest.base_paths.add(id=3, path=path, is_dataset_root=is_dataset_root)
            manifest.reader_feature_flags |= 16
            manifest.writer_feature_flags |= 16
            (file,) = manifest.fragments[0].files
            file.base_id, file.path = 3, stolen.name
            if branch is not None:
                manifest.branch = branch

        edit_manifest(dataset, change)
        return lance.dataset(uri)

    return point


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The places whose stores are opened for base paths."""
    places = []

    def remember(place: StoreUrl, options: Any) -> Any:
        places.append(str(place))
        return open_store(place, options)

    monkeypatch.setattr(base_paths, "open_store", remember)
    return places


def hostile(root: str, other: str) -> list[str]:
    """Base paths that must lead nowhere; ``root`` is the table's own."""
    parent = str(Path(root).parent)
    return [
        other, f"{other}/", f"{root}/../other", f"{root}/..", f"{root}/./../other", f"{root}//",
        f"{root}/x/../../other", f"{root}/%2e%2e/other", f"{root}/%2E%2E/other", f"{root}/.%2e/o",
        f"{root}/..%2fother", f"{root}\\..\\other", f"{root}/a\\..\\..\\other", f"{root}x",
        f"{root}-other", f"{root} ", parent, f"{parent}/", "/", "//", "//host/share", "/etc",
        "/etc/passwd", "/proc/self", "/dev", "/dev/zero", "/net/host", "../other", "other", "./x",
        ".", "..", "", "~", "~/x", "~root", "$HOME", "C:\\x", "C:/x", "\\\\host\\share",
        f"file://{other}", f"file:{other}", f"file://localhost{other}", f"file://{root}/../other",
        f"file://{root}/%2e%2e/other", f"FILE://{other}", f"file://host{other}", "file://",
        f"file+rename://{other}", "s3://bucket/table", "s3://user:pass@bucket/x", "gs://b/x",
        "az://container/x", "http://169.254.169.254/latest", "https://evil.example/x",
        "http://[::1]/x", "s3+ddb://bucket/x?ddbTableName=t", "s3://bucket/x?a=b", "ftp://x/y",
        "memory://", "memory://x", "memory://x/../y", "nonsense://x", "data:text/plain,x", "x:y",
        "javascript://x", f"{other}\0", f"{other}\n", f"{root}\0/../other", "\u202e/etc",
        f"{root}/\uff0e\uff0e/other\u200b", f"{other}?x", f"{other}#x", f"{root}/" + "a/" * 3000,
        "/" + "a" * 5000, "file:///%00", "file://%2e%2e/x", "s3:///x", "s3://../x", "::", ":", "a:",
    ]  # fmt: skip


def test_hostile_base_paths_lead_nowhere(
    pointing_to: Place, uri: str, other: Path, opened: list[str]
) -> None:
    paths = hostile(uri, str(other))
    assert len(paths) >= 60
    for path in paths:
        for is_root in (True, False):
            dataset = pointing_to(path, is_root)
            for read in (dataset.to_table, dataset.validate, lambda d=dataset: d.take([0])):
                with pytest.raises(LanceError):
                    read()
    assert set(opened) <= {uri}


def test_a_refusal_names_the_place_and_the_remedy(pointing_to: Place, other: Path) -> None:
    dataset = pointing_to(str(other))
    assert dataset.count_rows() == 3  # the manifest says so
    with pytest.raises(BasePathRefusedError, match="allow_base_paths") as caught:
        dataset.to_table()
    assert caught.value.base_path == str(other)
    assert str(other) in str(caught.value)
    assert isinstance(caught.value, PermissionError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.base_path, str(copy)) == (str(other), str(caught.value))


@pytest.mark.parametrize("path", ["{}", "{}/", "file://{}"])
def test_the_table_itself_needs_no_permission(uri: str, pointing_to: Place, path: str) -> None:
    (theirs,) = Path(uri).parent.joinpath("other", "data").iterdir()
    shutil.copy(theirs, Path(uri) / "data")
    assert pointing_to(path.format(uri)).to_table().equals(TABLE)


def test_places_inside_of_the_table_need_no_permission(
    uri: str, pointing_to: Place, other: Path
) -> None:
    shutil.copytree(other, Path(uri) / "tree" / "b")
    shutil.copytree(other / "data", Path(uri) / "flat")
    assert pointing_to(f"{uri}/tree/b").to_table().equals(TABLE)
    assert pointing_to(f"{uri}/flat", is_dataset_root=False).to_table().equals(TABLE)


def test_links_inside_of_the_table_do_not_lead_out(
    uri: str, pointing_to: Place, other: Path
) -> None:
    Path(uri, "tree").mkdir()
    Path(uri, "tree", "b").symlink_to(other)
    Path(uri, "flat").symlink_to(other / "data")
    for path, is_root in ((f"{uri}/tree/b", True), (f"{uri}/flat", False)):
        with pytest.raises(LanceError):
            pointing_to(path, is_root).to_table()


def test_a_table_that_is_named_through_a_link_is_the_same_table(
    uri: str, pointing_to: Place, tmp_path: Path
) -> None:
    (theirs,) = (tmp_path / "other" / "data").iterdir()
    shutil.copy(theirs, Path(uri) / "data")
    pointing_to(uri)
    (tmp_path / "link").symlink_to(uri)
    assert lance.dataset(str(tmp_path / "link")).to_table().equals(TABLE)


@pytest.mark.parametrize(
    "allowed",
    ["yes", "YES", "{other}", "{other}/", "/nowhere, {other}", "{parent}", "file://{other}"],
)
def test_the_caller_can_allow_places(
    uri: str, pointing_to: Place, other: Path, monkeypatch: pytest.MonkeyPatch, allowed: str
) -> None:
    pointing_to(str(other))
    text = allowed.format(other=other, parent=other.parent)
    by_option = lance.dataset(uri, storage_options={"allow_base_paths": text})
    assert by_option.to_table().equals(TABLE)
    assert pickle.loads(pickle.dumps(by_option)).to_table().equals(TABLE)
    assert lance.dataset(uri, allow_base_paths=text).to_table().equals(TABLE)
    assert lance.dataset(uri, allow_base_paths=text.split(",")).to_table().equals(TABLE)
    monkeypatch.setenv("LANCE_CORE_ALLOW_BASE_PATHS", text)
    assert lance.dataset(uri).to_table().equals(TABLE)
    refusing = lance.dataset(uri, storage_options={"allow_base_paths": "no"})
    with pytest.raises(BasePathRefusedError):
        refusing.to_table()


@pytest.mark.parametrize(
    "allowed", ["no", "", "/nowhere", "{other}x", "{other}/data/x", "s3://other"]
)
def test_other_places_stay_closed(uri: str, pointing_to: Place, other: Path, allowed: str) -> None:
    pointing_to(str(other))
    options = {"allow_base_paths": allowed.format(other=other)}
    with pytest.raises(BasePathRefusedError):
        lance.dataset(uri, storage_options=options).to_table()


def test_links_out_of_an_allowed_place_are_not_followed(
    uri: str, pointing_to: Place, other: Path, tmp_path: Path
) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "link").symlink_to(other)
    pointing_to(str(allowed / "link"))
    with pytest.raises(LanceError):
        lance.dataset(uri, allow_base_paths=str(allowed)).to_table()
    assert lance.dataset(uri, allow_base_paths=str(allowed / "link")).to_table().equals(TABLE)


def test_a_branch_by_its_own_uri_may_read_the_table_above(pointing_to: Place, uri: str) -> None:
    pointing_to(str(Path(uri).parent / "other"), branch="a/b")
    home = Path(uri).parent / "other" / "tree" / "a" / "b"
    shutil.copytree(uri, home)
    assert lance.dataset(str(home)).to_table().equals(TABLE)
    for wrong in ("a/c", "c", "a"):
        elsewhere = Path(uri).parent / "other" / "tree" / wrong / "x"
        shutil.copytree(uri, elsewhere)
        with pytest.raises(BasePathRefusedError):
            lance.dataset(str(elsewhere)).to_table()


@pytest.mark.parametrize("branch", ["..", "../..", "", "/", "main", "a b", "tree/../..", "x" * 500])
def test_what_a_manifest_calls_its_branch_opens_nothing(
    pointing_to: Place, uri: str, other: Path, branch: str
) -> None:
    dataset = pointing_to(str(other), branch=branch)
    with pytest.raises(BasePathRefusedError):
        dataset.to_table()
    assert dataset.tags.list() == {}


def test_the_account_in_a_url_is_part_of_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        base_paths, "open_store", lambda place, options: given.update({place.netloc: options})
    )
    own = "abfss://a@one.dfs.core.windows.net/table"
    config = StoreConfig(own, {"account_key": "canary", "allow_base_paths": "yes"})
    for path in ("abfss://a@one.dfs.core.windows.net/x", "abfss://a@two.dfs.core.windows.net/x"):
        open_base(config, None, path)
    assert given == {
        "a@one.dfs.core.windows.net": config.options,
        "a@two.dfs.core.windows.net": {},
    }


def test_a_bucket_whose_name_begins_alike_is_another_place() -> None:
    config = StoreConfig("s3://bucket/table", {"allow_base_paths": "s3://bucket/tab,gs://bucket"})
    for path in ("s3://bucket/table2", "s3://bucket2/tab", "s3://bucket", "az://bucket/tab"):
        with pytest.raises(BasePathRefusedError):
            open_base(config, None, path)


def test_permissions_add_up() -> None:
    config = StoreConfig("/t", {"allow_base_paths": "/a"})
    more = allowing(config, ["/a", "s3://b/c%20d", "/with,comma"])
    assert known_places(more) == ["/a", "s3://b/c%20d", "file:///with%2Ccomma"]
    assert known_places(allowing(more, ["yes"])) == ["yes"]


@each_case("path", ["/a/b", "/", "s3://bucket/a b", "file:///x", "memory://m/x"])
def test_absolute_places_are_base_paths(path: str) -> None:
    assert str(parse_base(path)).endswith(path.removeprefix("file://"))


def test_what_no_place_can_be_is_corrupt() -> None:
    for path in ("x", "", "/a/../b", "s3://u:p@b/x", "s3://b/x?y", "/a\\b", "http:x", "/a//b"):
        with pytest.raises(CorruptFileError, match="base path"):
            parse_base(path)
