from . import guarantee as guarantee
from . import pages as pages
from . import sections as sections
from . import summary as summary
