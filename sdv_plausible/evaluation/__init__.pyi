from .metrics import ClassifierAccuracy as ClassifierAccuracy
from .metrics import ClassifierAgreement as ClassifierAgreement
from .metrics import DistinguishingGame as DistinguishingGame
from .metrics import ModelAccuracy as ModelAccuracy
from .metrics import PairwiseTotalVariationDistance as PairwiseTotalVariationDistance
from .metrics import TotalVariationDistance as TotalVariationDistance
from .report.report import PlausibleDeniabilityReport as PlausibleDeniabilityReport

DEFAULT_NUM_BINS: int
DEFAULT_MAX_ROWS: int
DISTINGUISHERS: tuple[str, ...]
