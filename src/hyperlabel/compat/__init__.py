"""Doors for the users of other tools: their names and signatures, hyperlabel behind them."""
