"""Scans and takes.

A scan reads like a sentence, and each folder is a part of it, the first one lowest in the layers:
the ``columns`` of the result, rows as they stand in ``fragments``, the ``sources`` that name the
rows to read, the ``windows`` in which they are read, the ``steps`` of a window (early columns and
the filter, then late columns), and the ``output``, in batches and in order. ``given_rows`` reads
rows that the caller names, ``ranking`` the best rows of a search. `scan` runs the steps of a
`plan`, which `scan_options` makes, with the numbers of `scan_tuning`.
"""
