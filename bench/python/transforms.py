"""Measures transforms of functions for ``cargo xtask bench transforms``: ``transforms.py MODULE measure [BEGINNING]``."""

from operators import main

if __name__ == "__main__":
    main("transforms")
