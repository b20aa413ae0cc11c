"""The studio: write labeling functions for texts and watch the labels change.

`Project` works without a browser; `serve` shows it in one (extra `studio`).
"""

import importlib
from typing import TYPE_CHECKING, Any

from hyperlabel.errors import require
from hyperlabel.studio._candidates import Candidate
from hyperlabel.studio._demo import write_demo
from hyperlabel.studio._find import Filter
from hyperlabel.studio._folder import GoldLabel, Settings
from hyperlabel.studio._project import Project, run_here
from hyperlabel.studio._snapshot import Effect, ProjectStats, Share
from hyperlabel.studio._source import load_lfs

if TYPE_CHECKING:
    from hyperlabel.studio._app import Address, LFStoppedError, StoppableRun, serve

__all__ = [
    "Address",
    "Candidate",
    "Effect",
    "Filter",
    "GoldLabel",
    "LFStoppedError",
    "ProjectStats",
    "Project",
    "Settings",
    "Share",
    "StoppableRun",
    "load_lfs",
    "run_here",
    "serve",
    "write_demo",
]


def __getattr__(name: str) -> Any:
    """Import the parts for the browser when they are first used."""
    if name not in __all__:
        raise AttributeError(f"module 'hyperlabel.studio' has no attribute {name!r}")
    require("nicegui", extra="studio")
    return getattr(importlib.import_module("hyperlabel.studio._app"), name)
