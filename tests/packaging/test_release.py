"""The script of releases, and what each distribution has to bring along."""

from __future__ import annotations

import datetime
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from scripts import release
from tests.packaging.environments import PLUGINS, ROOT


def test_every_distribution_has_the_text_of_the_licence() -> None:
    text = (ROOT / "LICENSE").read_bytes()
    assert [each.name for each in PLUGINS if (each / "LICENSE").read_bytes() != text] == []


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that a release changes, in a folder of their own."""
    for name in ("CHANGELOG.md", "lance_core/_version.py", "changes/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for project in (ROOT, *PLUGINS):
        target = tmp_path / project.relative_to(ROOT) / "pyproject.toml"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(project / "pyproject.toml", target)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "VERSION_FILE", tmp_path / "lance_core" / "_version.py")
    monkeypatch.setattr(release, "CHANGELOG", tmp_path / "CHANGELOG.md")
    return tmp_path


def test_a_version_is_set_wherever_one_is_named(checkout: Path) -> None:
    release.set_version("7.8.9rc1")
    namespace: dict[str, str] = {}
    exec(release.VERSION_FILE.read_text("utf-8"), namespace)
    assert namespace["__version__"] == "7.8.9rc1"
    assert len(release.projects()) == len(PLUGINS) + 1
    for project in release.projects():
        settings = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
        assert settings.get("version", "7.8.9rc1") == "7.8.9rc1"
        extras = settings.get("optional-dependencies", {}).values()
        requirements = [*settings["dependencies"], *(each for extra in extras for each in extra)]
        own = [each for each in requirements if each.startswith("lance-core")]
        assert own
        assert [each for each in own if "==7.8.9rc1" not in each and "[" not in each] == []


def test_every_distribution_says_where_the_project_lives(checkout: Path) -> None:
    before = [tomllib.loads((each / "pyproject.toml").read_text("utf-8")) for each in PLUGINS]
    for repository in ("https://forge.example/first/place", "https://forge.example/own/lance-core"):
        release.set_urls(repository)
    for project in release.projects():
        settings = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
        urls = settings["project"].pop("urls")
        assert urls["Repository"] == "https://forge.example/own/lance-core"
        assert urls["Changelog"].endswith("/lance-core/blob/main/CHANGELOG.md")
        if project != release.ROOT:
            assert settings in before


def test_links_of_descriptions_lead_to_the_project_while_it_is_built(checkout: Path) -> None:
    for each in release.projects():
        (each / "README.md").write_text("[other](other.md#part), [web](https://e.org), [it](#it)")
        (each / "other.md").touch()
    (checkout / "README.md").write_text("![chart](docs/chart.svg) [pages](docs)")
    (checkout / "docs").mkdir()
    (checkout / "docs" / "chart.svg").touch()
    before = [(each / "README.md").read_text() for each in release.projects()]
    with release.links_for_an_index():  # no address is known
        assert [(each / "README.md").read_text() for each in release.projects()] == before
    release.set_urls("https://forge.example/o/n")
    with release.links_for_an_index():
        core, first = [(each / "README.md").read_text() for each in release.projects()][:2]
    root = "https://forge.example/o/n"
    assert core == f"![chart]({root}/raw/main/docs/chart.svg) [pages]({root}/tree/main/docs)"
    other = f"{root}/blob/main/plugins/alias/other.md#part"
    assert first == f"[other]({other}), [web](https://e.org), [it](#it)"
    assert [(each / "README.md").read_text() for each in release.projects()] == before
    (checkout / "docs" / "chart.svg").unlink()
    with pytest.raises(SystemExit, match=r"chart\.svg, which does not exist"):
        release.links_for_an_index().__enter__()


@pytest.mark.parametrize("address", ["forge.example/own", "https://me:key@forge.example/own"])
def test_what_is_no_address_of_a_repository_is_refused(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        release.main(["1.2.3", "--repository", address])
    assert "is not an address" in capsys.readouterr().err


def test_a_section_that_was_written_by_hand_is_dated(checkout: Path) -> None:
    release.CHANGELOG.write_text("\n## 7.8.9 (unreleased)\n\nWhat users want to know.\n", "utf-8")
    fragment = checkout / "changes" / "files.fix.md"
    fragment.write_text("Something works.\n")
    with pytest.raises(SystemExit, match=r"need of files\.fix\.md"):
        release.collect_changes("7.8.9")
    fragment.unlink()
    release.collect_changes("7.8.9")
    assert f"## 7.8.9 ({datetime.date.today()})" in release.CHANGELOG.read_text("utf-8")
    with pytest.raises(SystemExit, match=r"says what is new in 7\.9\.0"):
        release.collect_changes("7.9.0")


def test_fragments_are_named_by_area_and_kind() -> None:
    areas = "tables|files|sql|indices|stores|commits|spark|plugins|install"
    name = re.compile(rf"({areas})\.(feature|fix|change)(\.\d+)?\.md|README\.md")
    wrong = [each.name for each in (ROOT / "changes").iterdir() if not name.fullmatch(each.name)]
    assert wrong == []
