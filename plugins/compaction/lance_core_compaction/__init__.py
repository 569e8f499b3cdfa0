"""Compactions: small fragments are merged, and deleted rows removed.

`compaction` is what users call, `compact` plans, executes and commits; `tasks` travel between
processes. `rewrite` writes rows anew: it decodes and encodes them, or `page_copy` copies pages.
"""
