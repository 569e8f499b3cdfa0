"""Generated protobuf code; see scripts/generate_protos.py."""
