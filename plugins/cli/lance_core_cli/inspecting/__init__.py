"""What a table has, as facts: for the terminal, for notebooks and as a page of HTML."""
