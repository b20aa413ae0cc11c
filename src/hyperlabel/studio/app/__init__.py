"""The studio in the browser (extra `studio`): a thin layer over `Project`, one module per panel."""

from hyperlabel.studio.app.serve import Address, serve

__all__ = ["Address", "serve"]
