"""``scripts/install.py`` hands pip's settings to uv."""

from __future__ import annotations

import pytest

from scripts.install import settings_of_uv


@pytest.mark.parametrize(
    ("listing", "settings"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("global.timeout='60'\n", {}, id="a setting that uv does not need"),
        pytest.param(
            "global.index-url='https://example.org/simple?a=b'\n",
            {"UV_DEFAULT_INDEX": "https://example.org/simple?a=b"},
            id="an index",
        ),
        pytest.param(
            "global.extra-index-url='https://a.org\\nhttps://b.org'\nglobal.find-links='/a /b'\n",
            {"UV_INDEX": "https://a.org https://b.org", "UV_FIND_LINKS": "/a,/b"},
            id="several indexes and folders",
        ),
        pytest.param(
            ":env:.cert='/of/environment'\nglobal.cert='/of/file'\n",
            {"SSL_CERT_FILE": "/of/environment"},
            id="the environment wins",
        ),
        pytest.param(
            'install.find-links="/it\'s-here"\n',
            {"UV_FIND_LINKS": "/it's-here"},
            id="a quote in a value",
        ),
    ],
)
def test_settings_of_pip_are_those_of_uv(listing: str, settings: dict[str, str]) -> None:
    assert settings_of_uv(listing) == settings
