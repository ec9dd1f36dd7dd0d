"""What runs in helper processes: `main` is the loop, the other modules answer its questions.

They run as scripts without this package on the path, so each imports the standard library and what it is
given directories for, and nothing of CoRP.
"""
