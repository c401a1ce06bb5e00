"""Learners besides the default: the paper's, DataSynthesizer's, copulas and an autoencoder."""
