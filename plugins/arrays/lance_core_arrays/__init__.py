"""Arrays of bfloat16 values, images and tensors, writers of blobs, and schemas of pydantic models.

The names are used from the modules of lance-core: `lance_core.arrow`, `lance_core.blob` and
`lance_core.pydantic`.
"""
