"""Tables on Google Cloud Storage."""
