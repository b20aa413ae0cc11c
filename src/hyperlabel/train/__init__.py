"""Training of hyper label models (extra `train`: torch).

Flow: prior -> votes and targets -> network -> loop -> checkpoint -> selection -> export -> weights file.
"""

from hyperlabel.errors import require

require("torch", extra="train")
