"""Full-zip pages (message ``FullZipLayout``): large values, each behind its control word."""
