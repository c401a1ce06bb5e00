from .census import census_like as census_like
from .census import census_like_codes as census_like_codes
from .census import census_like_metadata as census_like_metadata
from .households import families_like as families_like
from .households import families_like_domain as families_like_domain
from .households import families_like_metadata as families_like_metadata
