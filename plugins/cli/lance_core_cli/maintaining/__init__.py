"""Commands that keep a table small and fast."""
