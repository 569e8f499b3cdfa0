"""CRC-32C of bytes, and sealed messages: messages that end with the checksums of their file."""
