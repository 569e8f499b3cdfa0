"""Actors of explored schedules: what writers, readers and cleanups do, call by call."""
