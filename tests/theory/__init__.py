"""Theorems that proof pages state and nothing in the package uses: with the tests that check them."""
