"""The version of this distribution, for the build and for the manifests that we write."""

from __future__ import annotations

__version__ = "0.1.0"
