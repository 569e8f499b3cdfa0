"""What the bitmap index and the label list index share: a bitmap of rows for each value."""
