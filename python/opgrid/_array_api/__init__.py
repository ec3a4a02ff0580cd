"""The namespace of the array API standard: `_namespace` is the mechanism, `_array` the class of arrays, and the other files have
the functions."""

from . import _beyond, _creation, _dtypes, _elementwise, _extensions, _linear, _reductions, _sets, _shapes
from ._array import Array
from ._namespace import VERSIONS, Namespace, array_namespace, namespace, to_device

__all__ = ["VERSIONS", "Array", "Namespace", "array_namespace", "namespace", "to_device"]

# They have put their functions into the namespace, and the class of arrays is made of them.
del _beyond, _creation, _dtypes, _elementwise, _extensions, _linear, _reductions, _sets, _shapes
