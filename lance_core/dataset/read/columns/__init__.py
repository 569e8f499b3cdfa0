"""The columns of a read, and what is known of their bytes."""
