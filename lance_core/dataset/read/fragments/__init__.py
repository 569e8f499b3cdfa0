"""Rows as they are stored: of a fragment, or of several small ones as if they were one."""
