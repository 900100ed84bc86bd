"""LazyArray: an array whose shape and dtype are known and whose values are not computed yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .aliasing import Window, reshape_is_view, windows
from .errors import LazyValueError
from .expr import build
from .expr.node import ArraySpec, Node, walk
from .expr.recording import ScalarValueNeeded
from .methods import Methods
from .overrides import apply_function, apply_ufunc
from .record import as_node, operate
from .runtime.arrays import as_operand, is_foreign_array

_Maker = Callable[..., Any]


def _binary(op: str) -> tuple[_Maker, _Maker, _Maker]:
    """``a op b``, the reflected and the in-place form."""

    def forward(self: LazyArray, other: Any) -> Any:
        return self._operate(op, self, other)

    def reflected(self: LazyArray, other: Any) -> Any:
        return self._operate(op, other, self)

    def in_place(self: LazyArray, other: Any) -> Any:
        result = self._operate(op, self, other)
        if result is NotImplemented or self.is_number:
            return result
        return self.assign(result, op)

    return forward, reflected, in_place


def _unary(op: str) -> _Maker:
    return lambda self: self._operate(op, self)


class LazyArray(Methods):
    """A recorded value: NumPy's operators and methods record, ``compute`` evaluates.

    Made by ``lazy`` and by operations on other lazy arrays. Slices, transposes, reshapes and parts
    are views as in NumPy: writing into one changes what it is a view of. Arrays of the user are
    never written to.
    """

    __slots__ = ("__weakref__", "_cached", "_node", "_seen", "_window")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node, window: Window | None = None) -> None:
        self._node = node
        self._window = window
        self._seen: Node | None = None
        self._cached: Node | None = None

    # ---- what is known

    @property
    def node(self) -> Node:
        """The graph node of the current value."""
        window = self._window
        if window is None:
            return self._node
        parent = window.parent.node
        if self._seen is not parent:
            self._seen, self._cached = parent, window.read(parent)
        assert self._cached is not None
        return self._cached

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    @property
    def dtype(self) -> np.dtype:
        return self.node.dtype

    @property
    def ndim(self) -> int:
        return self.node.ndim

    @property
    def size(self) -> int:
        return self.node.size

    @property
    def nbytes(self) -> int:
        return self.node.nbytes

    @property
    def itemsize(self) -> int:
        return self.node.dtype.itemsize

    @property
    def device(self) -> str:
        """Where the values will be: "cpu"."""
        return "cpu"

    @property
    def is_number(self) -> bool:
        """A Python or NumPy number rather than an array: in-place operators make a new one."""
        return self.ndim == 0 and self._window is None and self._node.op != "operand"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"LazyArray({self._spec()}, {len(walk([self.node]))} nodes)"

    def _spec(self) -> str:
        return str(ArraySpec(self.shape, self.dtype, ()))

    # ---- values

    def compute(self, out: np.ndarray | None = None) -> np.ndarray:
        """Evaluate: a new array, or ``out``.

        Parameters
        ----------
        out : ndarray, optional
            Of this shape and a dtype the result can be cast to.

        Returns
        -------
        ndarray
        """
        from .fuse import compute

        return compute(self, out=out)  # type: ignore[no-any-return]

    def explain(self, stage: str | None = None) -> Any:
        """How ``compute`` would run; see ``Fused.explain``."""
        from .fuse import explain_lazies

        return explain_lazies((self,), stage)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"a LazyArray {self._spec()} has no memory to share: copy=False")
        values = self.compute()
        return values if dtype is None else values.astype(dtype, copy=False)

    def _no_value(self, what: str) -> Any:
        node = self.node
        slots = tuple(sorted(n.attr for n in walk([node]) if n.op == "scalar"))
        if node.weak and slots:
            raise ScalarValueNeeded(slots)
        if node.op == "const":
            return node.attr.value
        raise LazyValueError(
            f"{what} of a LazyArray {self._spec()}: its values are not computed yet. "
            "Call .compute(), or use fft_fused.xp.where(condition, a, b)."
        )

    def __bool__(self) -> bool:
        return bool(self._no_value("bool()"))

    def __float__(self) -> float:
        return float(self._no_value("float()"))

    def __int__(self) -> int:
        return int(self._no_value("int()"))

    def __complex__(self) -> complex:
        return complex(self._no_value("complex()"))

    def __index__(self) -> int:
        return int(self._no_value("an index"))

    def __contains__(self, item: Any) -> bool:
        return bool(self._no_value("'in'"))

    def __iter__(self) -> Iterator[LazyArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def item(self, *args: Any) -> Any:
        """Not known yet: raises LazyValueError."""
        return self._no_value("item()")

    tolist = item

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a LazyArray {self._spec()} cannot be pickled; call .compute() first")

    def __copy__(self) -> LazyArray:
        return LazyArray(self.node)

    def __deepcopy__(self, memo: Any) -> LazyArray:
        return LazyArray(self.node)

    # ---- operators

    @staticmethod
    def _operate(op: str, *args: Any) -> Any:
        return operate(op, *args)

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __pow__, __rpow__, __ipow__ = _binary("power")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift")
    __lt__, __gt__, _ = _binary("less")
    __le__, __ge__, _ = _binary("less_equal")
    __eq__, _, _ = _binary("equal")  # type: ignore[assignment]
    __ne__, _, _ = _binary("not_equal")  # type: ignore[assignment]
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")

    def __matmul__(self, other: Any) -> LazyArray:
        return LazyArray(build.matmul(self.node, as_node(other)))

    def __rmatmul__(self, other: Any) -> LazyArray:
        return LazyArray(build.matmul(as_node(other), self.node))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from . import xp

        return xp

    # ---- writing

    def assign(self, value: Any, what: str = "assignment") -> LazyArray:
        """Replace the whole value, as ``x[...] = value`` after the check of in-place operators.

        Raises
        ------
        TypeError
            When the dtype of ``value`` cannot be cast by the rule "same_kind".
        ValueError
            When its shape does not broadcast to this one.
        """
        node = as_node(value)
        if not np.can_cast(node.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc '{what}' output from {node.dtype!r} to {self.dtype!r} "
                "with casting rule 'same_kind'"
            )
        if build.broadcast_shapes(what, [node.shape, self.shape]) != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match "
                f"the broadcast shape {build.broadcast_shapes(what, [node.shape, self.shape])}"
            )
        self.store(build.broadcast_to(build.astype(node, self.dtype), self.shape))
        return self

    def store(self, node: Node) -> None:
        """Make ``node`` the value, here and in what this is a view of."""
        if self._window is None:
            self._node = node
        else:
            self._window.parent.store(self._window.write(self._window.parent.node, node))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, LazyArray | np.ndarray) and key.dtype.kind == "b":
            self._set_where(key, as_node(value))
            return
        if isinstance(value, LazyArray) and self._is_own_slice(value, key):
            return
        node = as_node(value)
        with np.errstate(all="ignore"):
            self.store(build.update(self.node, key, node))

    def _is_own_slice(self, value: LazyArray, key: Any) -> bool:
        """``x[key] *= 2`` ends by assigning to ``x[key]`` the view that was just written to."""
        window = value._window
        if window is None or window.parent is not self:
            return False
        return value.node is window.read(self.node) or _same_read(
            value.node, build.getitem(self.node, key)
        )

    def _set_where(self, mask: Any, value: Node) -> None:
        if mask.shape != self.shape:
            raise IndexError(
                f"a boolean index of shape {mask.shape} does not fit an array of {self.shape}; "
                "use fft_fused.xp.where"
            )
        if value.ndim:
            raise IndexError("x[mask] = value: value must be a number; use fft_fused.xp.where")
        cast = build.astype(value, self.dtype)
        self.store(build.elementwise("where", as_node(mask), cast, self.node))

    # ---- views

    def __getitem__(self, key: Any) -> LazyArray:
        return LazyArray(self.node, windows.item(self, key))

    @property
    def T(self) -> LazyArray:  # noqa: N802 - NumPy's name
        """The axes in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> LazyArray:  # noqa: N802 - the array API's name
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError("mT needs at least 2 dimensions")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> LazyArray:
        """Permuted axes; reversed without arguments."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        if order is not None:
            order = build.normalize_axes(order, self.ndim)
        return LazyArray(self.node, windows.transpose(self, order))

    def swapaxes(self, a: int, b: int) -> LazyArray:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        i, j = (build.normalize_axis(x, self.ndim) for x in (a, b))
        order[i], order[j] = order[j], order[i]
        return self.transpose(order)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> LazyArray:
        """The same elements in another shape, in C order."""
        if order != "C":
            raise TypeError(f"reshape: order {order!r} is not recorded; only 'C'")
        dims = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        node = build.reshape(self.node, tuple(dims) if hasattr(dims, "__len__") else dims)
        if copy or not reshape_is_view(self, node.shape):
            return LazyArray(node)
        return LazyArray(self.node, windows.reshape(self, node.shape))

    def ravel(self) -> LazyArray:
        """One axis; a view where NumPy's would be one."""
        return self.reshape(-1)

    def flatten(self) -> LazyArray:
        """One axis; a copy."""
        return LazyArray(build.reshape(self.node, (self.size,)))

    def squeeze(self, axis: Any = None) -> LazyArray:
        """Without axes of length one."""
        drop = [i for i, n in enumerate(self.shape) if n == 1]
        if axis is not None:
            drop = list(build.normalize_axes(axis, self.ndim))
            if any(self.shape[i] != 1 for i in drop):
                raise ValueError(
                    "cannot select an axis to squeeze out which has size not equal to one"
                )
        return self.reshape(tuple(n for i, n in enumerate(self.shape) if i not in drop))

    def view(self, dtype: Any) -> LazyArray:
        """Float pairs as complex numbers, or the other way round; the same dtype."""
        return LazyArray(self.node, windows.view(self, np.dtype(dtype)))

    @property
    def real(self) -> LazyArray:
        """The real part; a view of a complex array."""
        return LazyArray(self.node, windows.part(self, "real"))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> LazyArray:
        """The imaginary part; a view of a complex array."""
        return LazyArray(self.node, windows.part(self, "imag"))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    # ---- copies

    def astype(self, dtype: Any, copy: bool = True) -> LazyArray:
        """Converted to another dtype."""
        node = build.astype(self.node, dtype)
        return self if node is self.node and not copy else LazyArray(node)

    def copy(self) -> LazyArray:
        """The same value, a view of nothing."""
        return LazyArray(self.node)

    def conj(self) -> LazyArray:
        """The complex conjugate."""
        return LazyArray(build.elementwise("conjugate", self.node))

    conjugate = conj


def _same_read(a: Node, b: Node) -> bool:
    return a.op == b.op and a.attr == b.attr and a.args == b.args


def lazy(array: Any, name: str = "") -> LazyArray:
    """An array to write expressions on.

    Parameters
    ----------
    array : array_like
        A NumPy array of bools, integers, floats or complexes, or what ``numpy.asarray`` makes one
        of. Read when the expression is computed, never written to.
    name : str
        What ``explain`` calls it.

    Returns
    -------
    LazyArray
        ``array`` itself when it is lazy already.

    Raises
    ------
    TypeError
        Arrays of other libraries, masked arrays and matrices, dtypes that are no numbers.

    Examples
    --------
    >>> import numpy as np, fft_fused
    >>> x = fft_fused.lazy(np.arange(4.0))
    >>> y = (x * 2 + 1)[::2]
    >>> y
    LazyArray(f8[2], 6 nodes)
    >>> y.compute()
    array([1., 5.])
    """
    if isinstance(array, LazyArray):
        return array
    if not isinstance(array, np.ndarray | np.generic) and not is_foreign_array(array):
        array = np.asarray(array)
    plain = as_operand(array, "lazy")
    return LazyArray(build.operand(name, ArraySpec(plain.shape, plain.dtype, plain.strides), plain))
