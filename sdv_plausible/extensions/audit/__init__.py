"""Audits: the actual disclosure of a mechanism, measured independently, compared with its claim.

Contains transition matrices of synthesizers of small tables, exact output distributions of Mechanism 1 and of
noisy learners, and membership attacks. It is for developers and reviewers of mechanisms. An audit of
confidential rows is as confidential as the rows. The names below load on first use.
"""

from sdv_plausible.utils.lazy_names import lazy_attributes

__getattr__, __dir__, __all__ = lazy_attributes(__name__, __file__)
