"""Says whether a running gateway has taken up the settings in a home's files."""

import asyncio

from gateway.cli.invocation import Invocation
from gateway.cli.settings_watch import settings_digest
from gateway.home import Home

PATIENCE_S = 60.0
"""Longest wait for a run that finishes its work; our choice."""


def print_taken_up(invocation: Invocation, home: Home) -> None:
    """Wait as `taken_up` does, and print the outcome."""
    print(asyncio.run(taken_up(home, invocation.command("up", home))))


async def taken_up(home: Home, start: str) -> str:
    """Wait until a running gateway has taken up the settings in the files of *home*; return the outcome in a sentence.

    *start* is the command that starts one.
    """
    from gateway.control.remote import running_settings

    wanted = settings_digest(home)
    for _ in range(int(PATIENCE_S / 0.1)):
        control = home.control()
        report = await running_settings(control) if control is not None else None
        if report is None:
            return f"No gateway is running; start it: {start}"
        if wanted == report.digest or (wanted == report.seen and report.fault):
            break
        await asyncio.sleep(0.1)
    else:
        return "The running gateway is still finishing its work, and takes the change up afterwards."
    if report.fault and report.restart:
        return f"The change {report.fault}."
    if report.fault:
        return f"The running gateway keeps its earlier settings: {report.fault}"
    if report.restart:
        keys = ", ".join(report.restart)
        return f"Taken up by the running gateway, except keys that take effect at the next start: {keys}"
    return "Taken up by the running gateway."
