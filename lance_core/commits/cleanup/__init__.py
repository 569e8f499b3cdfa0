"""Cleanup: removing old versions and the files that no remaining version needs."""
