"""Files that appear whole or not at all: written under another name, then renamed."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` to write to; it takes the place of `path`, or vanishes if writing fails.

    It has the permissions of any new file, whatever writes it: safetensors makes files that nobody else may read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with replacing(path) as part:
    ...         _ = part.write_text("whole")
    ...     path.read_text(), len(list(Path(folder).iterdir()))
    ('whole', 1)
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    part.touch()
    mode = part.stat().st_mode
    try:
        yield part
        part.chmod(mode)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
