"""DataSynthesizer's correlated attribute mode [DS]: GreedyBayes, with a privacy proof for every query."""
