"""Programs that show what this project is for."""
