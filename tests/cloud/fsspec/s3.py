"""s3fs on moto's server."""

from __future__ import annotations

from typing import Any

import s3fs

from tests.servers.moto import ACCESS_KEY, REGION, SECRET_KEY, Moto


def s3_file_system(moto: Moto) -> Any:
    """A file system that shares nothing with others."""
    return s3fs.S3FileSystem(
        key=ACCESS_KEY,
        secret=SECRET_KEY,
        endpoint_url=moto.endpoint,
        client_kwargs={"region_name": REGION},
        skip_instance_cache=True,
    )
