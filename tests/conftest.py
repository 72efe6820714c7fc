"""Makes tests/support importable as `support` from every test."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
