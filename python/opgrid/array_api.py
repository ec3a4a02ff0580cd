"""``import opgrid.array_api`` gives the namespace that arrays have by ``__array_namespace__``."""

import sys

from ._array_api import namespace

sys.modules[__name__] = namespace
