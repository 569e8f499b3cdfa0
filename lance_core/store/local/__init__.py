"""The store of local files: confined to a folder, memory-mapped reads, atomic writes."""

from lance_core.store.durability import Durability
from lance_core.store.local.disk import Disk
from lance_core.store.local.store import LocalStore, open_local

__all__ = ["Disk", "Durability", "LocalStore", "open_local"]
