"""Write rows and commit changes as new versions."""
