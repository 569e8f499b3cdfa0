"""What the package ``lance`` of this distribution does when it is imported."""
