"""The kinds of verifier, one module each."""
