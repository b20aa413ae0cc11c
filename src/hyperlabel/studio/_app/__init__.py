"""The studio in the browser (extra `studio`): a thin layer over `Project`, one class per panel."""

from hyperlabel.studio._app._serve import Address, serve
from hyperlabel.studio._app._worker import LFStoppedError, StoppableRun

__all__ = ["Address", "LFStoppedError", "StoppableRun", "serve"]
