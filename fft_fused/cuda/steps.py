"""How far an index moves when one of the names in it goes up by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Steps = dict[str, float]

_TOKENS = re.compile(r"\w+|&&|\|\||[<>=!]=|[-+*/%()<>?:!]")
_NUMBER = ""  # the name of a constant


def steps(text: str, definitions: Mapping[str, str] | None = None) -> Steps:
    """Steps by name, without those that are 0.

    Parameters
    ----------
    text : str
        C++ as ``indexing`` and ``relation`` write it.
    definitions : mapping, optional
        What names in it stand for.

    Examples
    --------
    >>> steps("((e * 16 + b2) * 4 + b3)")
    {'e': 64.0, 'b2': 4.0, 'b3': 1.0}
    >>> steps("(j1 % 16)", {"j1": "(b1 * 16 + e / 4)"})
    {'e': 0.25}
    """
    found = _Reader(text, definitions or {}).whole()
    return {name: step for name, step in found.items() if step and name != _NUMBER}


def constant(text: str) -> float:
    """The value of an index where every name is 0; for sums of names times numbers.

    Examples
    --------
    >>> constant("((e * 16 + b2) - 32)")
    -32.0
    """
    return _Reader(text, {}).whole().get(_NUMBER, 0.0)


class _Reader:
    """Reads an expression into its value as a sum of names times steps."""

    def __init__(self, text: str, definitions: Mapping[str, str]) -> None:
        self._tokens = [*_TOKENS.findall(text), "end"]
        self._definitions = definitions

    def whole(self) -> Steps:
        return self._choice()

    def _next(self, *wanted: str) -> str:
        """The next token if it is wanted, otherwise none."""
        return self._tokens.pop(0) if not wanted or self._tokens[0] in wanted else ""

    def _choice(self) -> Steps:
        """``condition ? a : b`` moves as the faster of the two."""
        value = self._condition()
        if not self._next("?"):
            return value
        first = self._choice()
        self._next(":")
        second = self._choice()
        return {n: max(first.get(n, 0.0), second.get(n, 0.0), key=abs) for n in first | second}

    def _condition(self) -> Steps:
        value = self._sum()
        while self._next("&&", "||", "<=", ">=", "==", "!=", "<", ">"):
            self._sum()
            value = {}
        return value

    def _sum(self) -> Steps:
        value = self._product()
        while sign := self._next("+", "-"):
            value = _added(value, self._product(), -1 if sign == "-" else 1)
        return value

    def _product(self) -> Steps:
        value = self._one()
        while sign := self._next("*", "/", "%"):
            value = _PRODUCTS[sign](value, self._one())
        return value

    def _one(self) -> Steps:
        if self._next("-"):
            return _added({}, self._one(), -1)
        if self._next("!"):
            return {} if self._one() else {}
        if self._next("("):
            value = self._choice()
            self._next(")")
            return value
        name = self._next()
        if name.isdigit():
            return {_NUMBER: float(name)}
        if name in self._definitions:
            return _Reader(self._definitions[name], self._definitions).whole()
        return {name: 1.0}


def _added(a: Steps, b: Steps, sign: int) -> Steps:
    return a | {name: a.get(name, 0.0) + sign * step for name, step in b.items()}


def _times(a: Steps, b: Steps) -> Steps:
    if set(a) <= {_NUMBER}:
        a, b = b, a
    return {name: step * b.get(_NUMBER, 1.0) for name, step in a.items()}


def _over(a: Steps, b: Steps) -> Steps:
    return {name: step / b.get(_NUMBER, 1.0) for name, step in a.items()}


def _modulo(a: Steps, b: Steps) -> Steps:
    """A name that goes up by whole turns does nothing."""
    turn = b.get(_NUMBER, 0.0)
    return {name: step for name, step in a.items() if not turn or step % turn}


_PRODUCTS: dict[str, Callable[[Steps, Steps], Steps]] = {"*": _times, "/": _over, "%": _modulo}
