from . import report_page as report_page
from . import sections as sections
from . import summary as summary
