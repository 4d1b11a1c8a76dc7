"""A process of `pytest -n`: it does what execnet sends it."""

import sys

if __name__ == "__main__":  # a process that a test spawns imports the main module under another name
    exec(eval(sys.stdin.readline()))
