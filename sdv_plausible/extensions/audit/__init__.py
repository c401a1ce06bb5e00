"""Audits: what a mechanism really discloses, computed from outside, against what is claimed of it.

Transition matrices of synthesizers of small tables, the exact output distribution of Mechanism 1 and of noisy
learners, and membership attacks. It is for whoever builds or checks a
mechanism: an audit of confidential rows is as confidential as they are. The names below load on first use.
"""

from sdv_plausible.utils.lazy_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, __file__)
