"""Data sets and samplers for training with PyTorch.

The names are used from the modules of lance-core: `lance_core.torch.data` and
`lance_core.sampler`.
"""
