"""What a scan returns: batches, in an order."""
