"""Write data files from the pages of other files, whose bytes are copied without decoding."""
