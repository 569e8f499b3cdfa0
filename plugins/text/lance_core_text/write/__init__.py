"""Text indices are written: postings of texts or of other indices, encoded and stored."""
