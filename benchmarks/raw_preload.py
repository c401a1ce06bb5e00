"""What every run of ours and of SDV needs, imported once by the server that forks their processes."""

import warnings

warnings.simplefilter("ignore")

import sdv.single_table

import benchmarks.raw_methods
import sdv_plausible.synthesizer

__all__ = ["benchmarks", "sdv", "sdv_plausible"]
