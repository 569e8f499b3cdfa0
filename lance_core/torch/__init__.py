"""Training with PyTorch: `lance_core.torch.data` has what it reads, with the extra ``torch``."""
