"""The studio: write labeling functions for texts and watch the labels change.

`Project` does everything without a browser; `app` shows it in the browser (extra `studio`).
"""

from hyperlabel.studio.candidates import Candidate
from hyperlabel.studio.figures import Moment, Share
from hyperlabel.studio.find import Filter
from hyperlabel.studio.folder import GoldLabel, Settings
from hyperlabel.studio.project import Project
from hyperlabel.studio.snapshot import Effect
from hyperlabel.studio.source import load_lfs

__all__ = ["Candidate", "Effect", "Filter", "GoldLabel", "Moment", "Project", "Settings", "Share", "load_lfs"]
