"""What services, scripts and notebooks do all day: operations on few rows, and many threads."""
