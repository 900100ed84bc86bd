"""LazyArray: an array whose shape and dtype are known and whose values are not computed yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import aliasing
from .aliasing import Window
from .expr import build
from .expr.node import Node, Source, walk
from .methods import Methods
from .operators import Operators
from .record import as_node, combine
from .runtime.arrays import as_operand, is_cupy, is_foreign_array, spec_of
from .runtime.exchange import TORCH, imported, is_array, is_torch
from .values import Values


class LazyArray(Operators, Methods, Values):
    """A recorded value: NumPy's operators and methods record, ``compute`` evaluates.

    Made by ``lazy`` and by operations on other lazy arrays. Slices, transposes, reshapes and parts
    are views as in NumPy: writing into one changes what it is a view of. Arrays of the user are
    never written to.

    Examples
    --------
    >>> import numpy as np, fft_fused
    >>> x = fft_fused.lazy(np.zeros(4))
    >>> middle = x[1:3]
    >>> middle += 1
    >>> x.compute()
    array([0., 1., 1., 0.])
    """

    __slots__ = ("__weakref__", "_node", "_seen", "layout", "window")

    def __init__(self, node: Node, window: Window | None = None) -> None:
        self._node = node
        self._seen: Node | None = None
        self.layout = aliasing.layout(node)
        self.window = window

    @classmethod
    def through(cls, window: Window) -> LazyArray:
        """A view."""
        return cls(window.read(window.parent.node), window)

    # ---- what is known

    @property
    def node(self) -> Node:
        """The graph node of the current value."""
        if self.window is not None and self._seen is not self.window.root._node:
            self._refresh()
        return self._node

    def _refresh(self) -> None:
        """Read again what was written to, from the root's side on: chains may be long."""
        stale, view, current = [], self, self.root._node
        while view.window is not None and view._seen is not current:
            stale.append(view)
            view = view.window.parent
        for view in reversed(stale):
            assert view.window is not None
            view._node = view.window.read(view.window.parent._node)
            view._seen = current

    @property
    def root(self) -> LazyArray:
        """What this is a view of in the end; itself for an array of its own."""
        root: LazyArray = self if self.window is None else self.window.root
        return root

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
        """Where the values will be: "cpu", or "cuda:0" and so on."""
        sources = (n.attr for n in walk([self.node]) if n.op == "operand")
        return next((s.spec.device for s in sources if not s.goes_along), "cpu")

    @property
    def is_number(self) -> bool:
        """A Python or NumPy number rather than an array: in-place operators make a new one."""
        return self.ndim == 0 and self.window is None and self._node.op != "operand"

    def __repr__(self) -> str:
        return f"LazyArray({self._spec()}, {len(walk([self.node]))} nodes)"

    def __copy__(self) -> LazyArray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> LazyArray:
        return self.copy("K")

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
        target = self
        while target.window is not None:
            parent = target.window.parent
            node = target.window.write(parent.node, node)
            target = parent
        target._node = node

    def __setitem__(self, key: Any, value: Any) -> None:
        if (isinstance(key, LazyArray) or is_array(key)) and as_node(key).dtype.kind == "b":
            self._set_where(key, self._assignable(value))
            return
        key = aliasing.checked_key(key)
        if isinstance(value, LazyArray) and _same(value.node, build.getitem(self.node, key)):
            return  # ``x[key] *= 2`` ends by assigning the view that was just written to
        self.store(build.update(self.node, key, self._assignable(value)))

    def _assignable(self, value: Any) -> Node:
        """The node of a value; a Python number as NumPy's assignment converts it."""
        node = as_node(value)
        if node.op == "const" and node.weak and node.dtype.kind != "c":
            return build.const(np.full((), node.attr.value, self.dtype)[()])
        if node.dtype.kind == "c" and self.dtype.kind != "c":
            raise TypeError(
                f"x[...] = value: value is {node.dtype}, x is {self.dtype}; "
                "take value.real or abs(value)"
            )
        return node

    def _set_where(self, mask: Any, value: Node) -> None:
        if mask.shape != self.shape:
            raise IndexError(
                f"a boolean index of shape {mask.shape} does not fit an array of {self.shape}; "
                "use fft_fused.xp.where"
            )
        if value.size != 1 or value.ndim > 1:
            raise IndexError("x[mask] = value: value must be a number; use fft_fused.xp.where")
        cast = build.astype(build.reshape(value, ()), self.dtype)
        self.store(build.elementwise("where", as_node(mask), cast, self.node))

    # ---- views

    def __getitem__(self, key: Any) -> LazyArray:
        key = aliasing.checked_key(key)
        node = build.getitem(self.node, key)
        if not node.shape and not aliasing.keeps_dimension(key):
            return LazyArray(node)
        return LazyArray(node, aliasing.item(self, key))

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
        given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes or None
        order = tuple(reversed(range(self.ndim)))
        if given is not None:
            order = build.normalize_axes(given, self.ndim)
            if len(order) != self.ndim:
                raise ValueError("axes don't match array")
        return LazyArray.through(aliasing.transpose(self, order))

    def swapaxes(self, a: int, b: int) -> LazyArray:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        i, j = (build.normalize_axis(x, self.ndim) for x in (a, b))
        order[i], order[j] = order[j], order[i]
        return self.transpose(order)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> LazyArray:
        """The same elements in another shape, in C order."""
        aliasing.require_c_order("reshape", order)
        dims = shape[0] if len(shape) == 1 and hasattr(shape[0], "__len__") else shape
        node = build.reshape(self.node, tuple(dims))
        if copy or not aliasing.reshape_is_view(self, node.shape):
            if copy is False:
                raise ValueError("Unable to avoid creating a copy while reshaping.")
            return LazyArray(node)
        return LazyArray(node, aliasing.reshape(self, node.shape))

    def ravel(self, order: str = "C") -> LazyArray:
        """One axis; a view of what is contiguous, else a copy."""
        aliasing.require_c_order("ravel", order)
        return self.reshape(-1) if aliasing.is_contiguous(self) else self.flatten()

    def flatten(self, order: str = "C") -> LazyArray:
        """One axis; a copy."""
        aliasing.require_c_order("flatten", order)
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
        return LazyArray.through(aliasing.view(self, np.dtype(dtype)))

    @property
    def real(self) -> LazyArray:
        """The real part; a view of a complex array."""
        return self._part("real")

    @real.setter
    def real(self, value: Any) -> None:
        self._part("real")[...] = value

    @property
    def imag(self) -> LazyArray:
        """The imaginary part; a view of a complex array."""
        return self._part("imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        self._part("imag")[...] = value

    def _part(self, name: str) -> LazyArray:
        if self.is_number:
            return LazyArray(combine(name, self.node))
        return LazyArray.through(aliasing.part(self, name))

    # ---- copies

    def astype(self, dtype: Any, copy: bool = True) -> LazyArray:
        """Converted to another dtype."""
        node = build.astype(self.node, dtype)
        if node is self.node and not copy:
            return self
        return self._laid_out(node, aliasing.kept_order(self))

    def copy(self, order: str = "C") -> LazyArray:
        """The same value, a view of nothing: in C order, or as this lies in memory ("K")."""
        if order not in ("C", "K"):
            raise TypeError(f"copy: order {order!r} is not recorded; only 'C' and 'K'")
        return self._laid_out(self.node, None if order == "C" else aliasing.kept_order(self))

    @staticmethod
    def _laid_out(node: Node, layout: list[int] | None) -> LazyArray:
        array = LazyArray(node)
        array.layout = layout
        return array

    def conj(self) -> LazyArray:
        """The complex conjugate."""
        return LazyArray(combine("conjugate", self.node))

    conjugate = conj


def _same(a: Node, b: Node) -> bool:
    """Is it one value, perhaps read twice?"""
    return a is b or (a.op, a.attr, a.args) == (b.op, b.attr, b.args)


def lazy(array: Any, name: str | None = None) -> LazyArray:
    """An array to write expressions on.

    Parameters
    ----------
    array : array_like
        A NumPy or CuPy array or a torch tensor of bools, integers, floats or complexes, or what
        ``numpy.asarray`` makes one of. Read when the expression is computed, never written to.
    name : str, optional
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
    if is_torch(array):
        spec = spec_of(imported(array, "lazy"))
        return LazyArray(build.leaf(Source(name or "", spec, array, library=TORCH)))
    if not is_cupy(array) and hasattr(array, "__cuda_array_interface__"):
        raise TypeError(
            f"lazy: a {type(array).__module__}.{type(array).__name__} lies on a GPU; only NumPy "
            "and CuPy arrays and torch tensors are recorded. Give it to CuPy by "
            "cupy.from_dlpack(x)"
        )
    if not isinstance(array, np.ndarray | np.generic) and not is_foreign_array(array):
        array = np.asarray(array)
    plain = as_operand(array, "lazy")
    return LazyArray(build.leaf(Source(name or "", spec_of(plain), plain)))
