"""The group `texts`: full-text search beside pylance."""
