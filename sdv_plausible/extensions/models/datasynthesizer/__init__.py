"""DataSynthesizer's correlated attribute mode [DS]: GreedyBayes, with a proof for every look at the rows."""
