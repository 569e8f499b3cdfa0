"""Inner loops of lance-core's encodings, compiled; they replace those of numpy."""
