"""An extension of opgrid: the module `_C` is a Python module and a plugin at once."""

import opgrid

from . import _C

opgrid.ops.load_library(_C.__file__)

add_1 = _C.add_1
enable_hook = _C.enable_hook
hello_world = _C.hello_world

__all__ = ["add_1", "enable_hook", "hello_world"]
