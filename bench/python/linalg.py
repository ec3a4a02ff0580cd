"""Measures linear algebra for ``cargo xtask bench linalg``: ``linalg.py MODULE measure [BEGINNING]``."""

from operators import main

if __name__ == "__main__":
    main("linalg")
