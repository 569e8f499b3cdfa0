"""Mini-block pages (message ``MiniBlockLayout``): small values, compressed in chunks."""
