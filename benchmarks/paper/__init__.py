"""Section 6 of Bindschaedler, Shokri, Gunter (PVLDB 2017), reproduced: ``python -m benchmarks.paper --help``."""
