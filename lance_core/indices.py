"""Values that describe indices, and the parameters of new ones."""

from lance_core.dataset.values.index import Index, IndexFile
from lance_core.dataset.values.index_config import IndexConfig
from lance_core.dataset.values.index_description import IndexDescription, IndexSegmentDescription

__all__ = ["Index", "IndexConfig", "IndexDescription", "IndexFile", "IndexSegmentDescription"]
