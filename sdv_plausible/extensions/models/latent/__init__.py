"""A variational autoencoder whose privacy test looks at the latent point."""
