"""Drop-in replacements for parts of other tools: their names and signatures, with hyperlabel's models."""
