"""Helpers on Arrow arrays that the encodings of all file versions share."""
