"""Repetition and definition levels: from arrays, to arrays, and as control words."""
