"""The page of `lance-core inspect --html` in a real browser: `tox -e report`."""
