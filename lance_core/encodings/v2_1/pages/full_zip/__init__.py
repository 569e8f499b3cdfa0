"""Full-zip pages (message ``FullZipLayout``): large values, each preceded by its control word."""
