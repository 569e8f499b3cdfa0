"""Threads, caches and waiting: what every part of the library shares of them."""
