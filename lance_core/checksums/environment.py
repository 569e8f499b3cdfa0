"""What the environment says about checksums; it is read once per process."""

import os

WRITTEN = os.environ.get("LANCE_CORE_CHECKSUMS", "")
""""pages": the pages of new data files get checksums; "no": no file gets any."""

CHECKED = os.environ.get("LANCE_CORE_VERIFY", "")
""""pages": pages are checked as they are read."""
