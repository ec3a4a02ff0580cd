"""The exceptions of opgrid: one tree, each also of the builtin class that fits.

A call that fails raises one of them with the operator's name in ``op``, the keys of the call in ``keys``, and a text from
``explain()`` that says which kernel was looked for and why. What a kernel written in Python raises comes out as itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class OpgridError(Exception):
    """The base class of the exceptions of opgrid."""

    op: str | None = None
    """The operator that was called, as in ``aten::add.Tensor``."""
    keys: Any = None
    """The keys that the call went by."""
    _explanation: str | None = None

    def explain(self) -> str:
        """Which kernel the call was to run, and why."""
        return self._explanation or "this error belongs to no call of an operator"


class OperatorError(OpgridError, RuntimeError):
    """An operator refused its arguments, or failed."""


class MissingAttributeError(OperatorError, AttributeError):
    """An attribute that tensors of this dtype do not have, for which ``hasattr`` gives ``False``."""


class ArgumentError(OpgridError, TypeError):
    """The arguments of a function or method are not of the types that it takes."""


class OutOfRangeError(OpgridError, IndexError):
    """An index or a dimension is beyond its range."""


class SchemaError(OpgridError, RuntimeError):
    """A schema could not be read."""


class RegistrationError(OpgridError, RuntimeError):
    """A registration that is not allowed, or exists already."""


class MissingKernelError(OpgridError, NotImplementedError):
    """The operator has no kernel for the key that the call reached."""


class AmbiguousKernelError(OpgridError, RuntimeError):
    """The operator has ambiguous kernels."""


class SlowPathError(OpgridError, RuntimeError):
    """A slow path, where they are refused."""


class DepthError(OpgridError, RecursionError):
    """Calls are nested too deep."""


class StaleError(OpgridError, RuntimeError):
    """The operator or kernel is no longer registered."""


class NotSupportedError(OpgridError, NotImplementedError):
    """The feature exists by name only, or not for this combination."""


class DeviceError(OpgridError, RuntimeError):
    """A device was asked for that is not there, or cannot do what was asked."""


class OutOfMemoryError(DeviceError):
    """A device has no memory left for a tensor."""


class ScriptError(OpgridError):
    """Something that needs TorchScript, which is not there."""


AcceleratorError = DeviceError
JITException = ScriptError


class FileError(OpgridError, OSError):
    """A file could not be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file, or the folder of a new one, is not where it was looked for."""


class LinAlgError(OpgridError, RuntimeError):
    """A matrix is singular or not positive definite, or nothing was found that iterations look for."""


class PanicError(OpgridError, RuntimeError):
    """Rust code failed in a way that it did not expect: please report it."""


class OverrideWarning(UserWarning):
    """A kernel replaced another one."""


class PluginWarning(UserWarning):
    """A plugin warns of something."""
