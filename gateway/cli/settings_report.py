"""Says whether a running gateway has taken up the settings in a home's files."""

import asyncio
from http import HTTPStatus

from gateway.cli.settings_watch import settings_digest
from gateway.control.settings_wire import SETTINGS_PATH, SettingsReport
from gateway.home import ControlFile, Home

PATIENCE_S = 60.0
"""Longest wait for a run that finishes its work; our choice."""


async def running_settings(control: ControlFile) -> SettingsReport | None:
    """Return what the gateway that announced *control* says of its settings; `None` if it does not answer."""
    import httpx2
    from pydantic import TypeAdapter, ValidationError

    from gateway.control.remote import CONNECT_S, FIRST_ANSWER_S

    headers, within = {"Authorization": f"Bearer {control.token}"}, httpx2.Timeout(FIRST_ANSWER_S, connect=CONNECT_S)
    async with httpx2.AsyncClient(base_url=control.address, headers=headers, timeout=within, trust_env=False) as client:
        try:
            answer = await client.post(SETTINGS_PATH, json={})
            if answer.status_code == HTTPStatus.OK:
                return TypeAdapter(SettingsReport).validate_json(answer.content)
        except (httpx2.HTTPError, ValidationError):
            return None
    return None


async def taken_up(home: Home, start: str) -> str:
    """Wait until a running gateway has taken up the settings in the files of *home*; return the outcome in a sentence.

    *start* is the command that starts one.
    """
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
        return f"Taken up by the running gateway, but for what takes effect at the next start: {_list(report)}"
    return "Taken up by the running gateway."


def _list(report: SettingsReport) -> str:
    return ", ".join(report.restart)
