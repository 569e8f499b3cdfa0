"""Pages of version 1 blobs (message ``BlobLayout``)."""
