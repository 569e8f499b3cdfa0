"""What this project promises, as tests for those who extend it. Needs pytest."""

from lance_core.testing.commit_handler import CommitHandlerTests
from lance_core.testing.encoding import EncodingTests
from lance_core.testing.object_store import ObjectStoreTests

__all__ = ["CommitHandlerTests", "EncodingTests", "ObjectStoreTests"]
