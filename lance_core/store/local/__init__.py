"""Local files as a store: confined to a folder, mapped when read, atomic when written."""

from lance_core.store.durability import Durability
from lance_core.store.local.disk import Disk
from lance_core.store.local.store import LocalStore, open_local

__all__ = ["Disk", "Durability", "LocalStore", "open_local"]
