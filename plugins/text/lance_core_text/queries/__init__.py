"""What a search asks for: words or a phrase in a column, and combinations of such queries."""
