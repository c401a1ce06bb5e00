"""The default learner: adaptive measurements of marginals with noise, and a Bayesian network."""
