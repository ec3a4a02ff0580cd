"""The namespace of the array API standard: `_namespace` is the mechanism, the other files have its functions."""

from . import _creation, _dtypes, _elementwise, _extensions, _linear, _reductions, _sets, _shapes
from ._namespace import VERSIONS, Namespace, array_namespace, namespace, to_device

__all__ = ["VERSIONS", "Namespace", "array_namespace", "namespace", "to_device"]

# They have put their functions into the namespace.
del _creation, _dtypes, _elementwise, _extensions, _linear, _reductions, _sets, _shapes
