"""Names of this part that need torch; `hyperlabel.training` imports them when the first of them is used."""

from hyperlabel.training._gate_net import GatePlan as GatePlan
from hyperlabel.training._gate_net import train_mixed as train_mixed
from hyperlabel.training._loop import CHECKPOINT as CHECKPOINT
from hyperlabel.training._loop import Run as Run
from hyperlabel.training._loop import load_net as load_net
from hyperlabel.training._loop import run_folder as run_folder
from hyperlabel.training._net import HyperNet as HyperNet
from hyperlabel.training._net import make_net as make_net
from hyperlabel.training._recipe import Recipe as Recipe
from hyperlabel.training._runs import WEIGHTS as WEIGHTS
from hyperlabel.training._runs import check_resumable as check_resumable
from hyperlabel.training._runs import finish as finish
from hyperlabel.training._runs import summarize as summarize
from hyperlabel.training._runs import train_runs as train_runs
from hyperlabel.training._tasks import MakeTask as MakeTask
from hyperlabel.training._tasks import PaperTask as PaperTask
from hyperlabel.training._tasks import TrainingSetPrior as TrainingSetPrior
from hyperlabel.training._tasks import UnrolledTask as UnrolledTask
from hyperlabel.training._tasks import backward_tasks as backward_tasks
from hyperlabel.training._tasks import make_training_task as make_training_task
from hyperlabel.training._tasks import to_weights as to_weights
from hyperlabel.training._unrolled_net import Batch as Batch
from hyperlabel.training._unrolled_net import RowLogits as RowLogits
from hyperlabel.training._unrolled_net import TrainingSet as TrainingSet
from hyperlabel.training._unrolled_net import UnrolledNet as UnrolledNet
