"""Options of ``spark.read`` and ``df.write``, parsed and checked."""
