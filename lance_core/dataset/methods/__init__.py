"""The methods of `LanceDataset`, a base class for each kind of work."""
