from __future__ import annotations

import subprocess
import sys

import pytest

from tests.old.releases import Release


@pytest.fixture(scope="session", params=["0.19.2", "1.0.1"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("pylance")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", f"pylance=={request.param}"]
    subprocess.run([python, *install], check=True)
    return Release(request.param, python)
