"""Page layouts of 2.1 and 2.2 files (message ``PageLayout``): levels and values of some rows."""
