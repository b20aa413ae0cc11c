"""The mixture hlm3's learned parts are trained on."""

import numpy as np

from hyperlabel.training._labeled_priors import CrowdPrior, MixturePrior, PanelPrior, drop_silent, is_poor
from hyperlabel.training._rule_priors import TopicsPrior
from hyperlabel.training import RulesPrior
from training.hlm3.judges import JudgesPrior
from training.hlm3.panels import GradedPrior, MisledPanelPrior

SHARES = (
    (JudgesPrior(), 0.34),
    (RulesPrior(max_cells=50_000), 0.1),
    (RulesPrior(lfs=(3, 10), items=(300, 40_000), max_cells=160_000), 0.09),
    (CrowdPrior(max_votes=15_000, max_cells=300_000), 0.15),
    (CrowdPrior(items=(500, 12_000), max_votes=100_000, max_cells=6_000_000), 0.02),
    (PanelPrior(max_votes=15_000), 0.1),
    (MisledPanelPrior(max_votes=15_000), 0.08),
    (GradedPrior(max_votes=15_000), 0.08),
    (PanelPrior(items=(1000, 12_000), max_votes=150_000), 0.01),
    (MisledPanelPrior(items=(1000, 12_000), max_votes=150_000), 0.01),
    (TopicsPrior(max_cells=50_000), 0.02),
)
MANY = (41, 128)
MANY_SHARES = (  # dense sets of many LFs
    (JudgesPrior(max_cells=100_000, least_judges=41, most_judges=110), 0.5),
    (PanelPrior(judges=MANY, max_votes=25_000), 0.2),
    (MisledPanelPrior(judges=MANY, max_votes=25_000), 0.15),
    (GradedPrior(judges=MANY, max_votes=25_000), 0.15),
)
REJECTED = {"judges": 0.6, "panel2": 0.6, "graded": 0.6}  # chance to draw again if majority vote is poor


def sample(rng, shares=SHARES):
    chances = np.array([s for _, s in shares])
    while True:
        task = drop_silent(shares[rng.choice(len(chances), p=chances / chances.sum())][0].sample(rng))
        if len(task.truth) < 30 or task.votes.shape[1] < 2:
            continue
        if not is_poor(task) or rng.random() >= REJECTED.get(task.family, 0.85):
            return task
