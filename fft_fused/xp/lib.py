"""``numpy.lib`` as far as it makes frames: ``stride_tricks``."""

from __future__ import annotations

from types import SimpleNamespace

from .frames import as_strided, sliding_window_view

stride_tricks = SimpleNamespace(as_strided=as_strided, sliding_window_view=sliding_window_view)
