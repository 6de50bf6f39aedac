from typing import Any

import numpy

from .. import Stats as _Stats
from .arrays import Array as Array

__all__: list[str]

def array(array: numpy.ndarray[Any, Any]) -> Array:
    """An argument for Triton's kernels that has the memory of an array of numpy."""

def last_stats() -> _Stats | None:
    """Statistics of the last launch of this thread; `None` before the first."""
