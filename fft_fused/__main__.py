"""``python -m fft_fused``."""

import sys

from .cli import main

sys.exit(main())
