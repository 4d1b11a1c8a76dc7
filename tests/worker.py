"""A process of `pytest -n`: it does what execnet sends it."""

import sys

exec(eval(sys.stdin.readline()))
