"""All label models, in the order in which they are listed. A new model is one more line here."""
# ruff: noqa: I001

from hyperlabel.models._pretrained import HyperLabelModel as HyperLabelModel
from hyperlabel.models._majority import MajorityVote as MajorityVote
from hyperlabel.models._majority import BalancedVote as BalancedVote
from hyperlabel.models._ordered import MedianVote as MedianVote
from hyperlabel.models._ordered import MeanVote as MeanVote
from hyperlabel.models._data_programming import DataProgramming as DataProgramming
from hyperlabel.models._flying_squid import FlyingSquid as FlyingSquid
from hyperlabel.models._metal import MeTaL as MeTaL
from hyperlabel.models._nplm import NPLM as NPLM
from hyperlabel.models._dawid_skene import DawidSkene as DawidSkene
from hyperlabel.models._dawid_skene import HierarchicalDawidSkene as HierarchicalDawidSkene
from hyperlabel.models._ebcc import EBCC as EBCC
from hyperlabel.models._cll import CLL as CLL
from hyperlabel.models._automatic import AutomaticModel as AutomaticModel
from hyperlabel.models._random_forest import RandomForest as RandomForest
from hyperlabel.models._amcl import AMCL as AMCL
