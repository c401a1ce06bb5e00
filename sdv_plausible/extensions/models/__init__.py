"""Optional learners: the paper's, DataSynthesizer's GreedyBayes, copulas and an autoencoder."""
