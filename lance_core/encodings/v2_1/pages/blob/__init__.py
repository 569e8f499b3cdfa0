"""Pages of blobs of version 1 (message ``BlobLayout``)."""
