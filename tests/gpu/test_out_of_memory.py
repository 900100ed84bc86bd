"""Out of device memory: what is said, and that the next smaller call works at once."""

from __future__ import annotations

import numpy as np
import pytest

import fft_fused
from fft_fused import fuse
from tests.gpu.calls import by_engine, filtered
from tests.gpu.support import require

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

MB = 1 << 20


@by_engine
def test_a_smaller_call_works_while_the_error_is_still_held(engine):
    require(engine)
    pool = cupy.get_default_memory_pool()
    call = fuse(filtered)
    with fft_fused.options(engine=engine):
        x, h = cupy.ones((16, 1 << 20), np.complex64), cupy.ones(1 << 20, np.complex64)
        call(x[:1, :4096], h[:4096])
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + 64 * MB)
        before = pool.used_bytes()
        try:
            with pytest.raises(MemoryError, match="Out of memory allocating") as held:
                call(x, h)
            assert "in a call with results of 134,217,728 bytes" in str(held.value)
            assert pool.used_bytes() == before
            small = call(x[:1, :4096], h[:4096])
        finally:
            pool.set_limit(size=0)
    np.testing.assert_allclose(cupy.asnumpy(small), 2, rtol=1e-5)
