"""SQL expressions: text to a syntax tree (`grammar`), to nodes (`plan`), to values (`node`)."""
