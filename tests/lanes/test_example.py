"""The example runs as documented, in its own process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "rate_limited_client.py"


@pytest.mark.process
@pytest.mark.req("LAN-2", "LAN-5")
def test_the_rate_limited_client_is_never_refused_and_the_unlimited_one_is() -> None:
    finished = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=100, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    through_lane = r"through the lane   60 calls in \d+\.\d s, [1-4] at once, 0 refused by the server"
    assert re.search(through_lane, finished.stdout)
    assert re.search(r"without the lane   60 calls at once, [1-9]\d* refused by the server", finished.stdout)
    assert re.search(r"73 submitted = \d+ accepted \+ [1-9]\d* rejected", finished.stdout)
