"""How the reference-free family is trained."""
