"""Select the encodings of a page's values; follows pylance's choices."""
