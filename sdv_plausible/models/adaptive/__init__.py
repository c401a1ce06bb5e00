"""The default learner: measure what the model gets most wrong, with noise, and fit again."""
