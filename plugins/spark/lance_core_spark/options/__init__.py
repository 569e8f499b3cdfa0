"""Options of ``spark.read`` and ``df.write``, as values that are checked."""
