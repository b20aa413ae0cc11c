"""The cache of votes: one file per LF and data, in a folder that may be deleted at any time."""

import hashlib
import io
import json
import re
import zipfile
from functools import cached_property
from pathlib import Path

import numpy as np

from hyperlabel.errors import ParameterError
from hyperlabel.files import replacing
from hyperlabel.lf.define import LabelingFunction
from hyperlabel.lf.fingerprint import fingerprint_items, fingerprint_lf
from hyperlabel.lf.items import Items
from hyperlabel.lf.ready import ValueFunction
from hyperlabel.lf.run import Answer

FORMAT = 1
"""Of the files; part of their names, so that another format is never read."""


class Cache:
    """The answers of LFs on some items, kept in a folder.

    Args:
        folder: The folder; made if it is not there.
        items: The items.
    """

    def __init__(self, folder: Path, items: Items) -> None:
        self.folder, self.items = folder, items
        self._paths: dict[str, Path] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError(f"cache is '{folder}', which cannot be made a folder: {error.strerror}") from error

    def load(self, lf: LabelingFunction, *, tolerant: bool) -> Answer | None:
        """The answer that is kept of an LF; None if there is none, or with failures that are now errors."""
        path = self._paths[lf.name] = self._path(lf)  # now: an LF that is run may change what it holds
        try:
            with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
                head = json.loads(str(file["head"]))
                answer = Answer(tuple(head["values"]), file["codes"], head["failures"])
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None  # not there, or damaged: the LF is run again
        return answer if tolerant or not answer.failures else None

    def store(self, lf: LabelingFunction, answer: Answer) -> None:
        """Keep the answer of an LF that was looked for, unless its classes are no texts, numbers or booleans."""
        if not all(type(value) in (str, int, bool) for value in answer.values):
            return
        content = io.BytesIO()
        head = json.dumps({"lf": lf.name, "values": answer.values, "failures": answer.failures})
        np.savez_compressed(content, head=np.array(head), codes=answer.codes)
        with replacing(self._paths[lf.name]) as part:
            part.write_bytes(content.getvalue())

    def _path(self, lf: LabelingFunction) -> Path:
        data = self._column(lf.column) if isinstance(lf, ValueFunction) else self._all
        key = hashlib.sha256(f"{FORMAT} {fingerprint_lf(lf)} {data}".encode()).hexdigest()
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_]+', '_', lf.name)[:40]}-{key[:32]}.npz"

    def _column(self, name: str) -> str:
        """The fingerprint of what a ready-made LF reads."""
        known = self.items.names is not None and name in self.items.names
        return fingerprint_items(self.items, name) if known else self._all

    @cached_property
    def _all(self) -> str:
        return fingerprint_items(self.items)
