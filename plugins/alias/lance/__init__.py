"""`lance_core` under the name ``lance``: this module replaces itself when it is imported."""

from typing import TYPE_CHECKING

from lance_core_alias.module import replace

if TYPE_CHECKING:
    from lance_core import *  # noqa: F403
else:
    replace(__name__, __file__)
