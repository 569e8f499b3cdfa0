"""Making versions: rows in, changes committed."""
