"""Commands that print what a table has, and change nothing."""
