"""Scripts that complete commands and options; bash runs its own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from lance_core.cli import main
from lance_core.plugins import get_manager

COMMANDS = sorted(spec.name for plugin in get_manager().plugins for spec in plugin.commands)


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(file: Path, *words: str) -> list[str]:
    """What bash offers for the last word of a line, as it does at the Tab key."""
    line = " ".join(words)
    asks = f"""
        source {shlex.quote(str(file))}
        COMP_WORDS=({" ".join(map(shlex.quote, words))}) COMP_CWORD={len(words) - 1}
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        [[ $(complete -p lance-core) == *"-F _lance_core lance-core" ]] || exit 3
        _lance_core
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    bash = shutil.which("bash")
    assert bash is not None
    shell = subprocess.run(
        [bash, "--norc", "-euc", asks], check=True, capture_output=True, text=True
    )
    assert shell.stderr == ""
    return shell.stdout.split()


def test_bash_completes_commands_options_and_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "completion"
    file.write_text(script("bash", capsys))
    assert completed(file, "lance-core", "") == [*COMMANDS, "--help", "--version"]
    assert completed(file, "lance-core", "ins") == ["inspect"]
    assert completed(file, "lance-core", "inspect", "t", "--h") == ["--help", "--html"]
    assert completed(file, "lance-core", "verify", "t", "--level", "") == [
        *("structure", "checksums", "pages", "full"),
    ]
    assert completed(file, "lance-core", "completion", "z") == ["zsh"]
    assert completed(file, "lance-core", "count", "") == []  # a path, which bash completes


def test_every_shell_gets_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, option in (("zsh", "--html["), ("fish", "-l html")):
        text = script(shell, capsys)
        assert [name for name in COMMANDS if name not in text] == []
        assert option in text
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
