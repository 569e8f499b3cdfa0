"""Open tables, find their versions, and open one version as a `Snapshot`."""
