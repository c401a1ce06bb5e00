"""What all pages have: their server, and the guard in front of them."""
