"""The version of the package, stated once."""

VERSION = "0.3.0"
