"""What a kill -9 in the middle of a burst of messages leaves behind, judged by the Bot API server's own record."""

from itertools import groupby
from pathlib import Path

from tests.journeys.house import OWNER, make_home, openai_section
from tests.journeys.processes import Gateway, post, server, state

BURST = 50
KILL_WHEN_SENT = (5, 20, 38)


def test_a_burst_survives_kills(tmp_path: Path) -> None:
    """All fifty are answered, in order, with at most one duplicate a kill, and `status` lists every duplicate."""
    record = tmp_path / "telegram.jsonl"
    with server("botapi", tmp_path, "--record", str(record)) as bot, server("openai_stub", tmp_path) as model:
        home = make_home(tmp_path / "home", bot, openai_section(f"{model}/v1"))
        gateway = Gateway(home, tmp_path / "gateway.log")
        gateway.start()
        for number in range(BURST):
            post(f"{bot}/control/says", {"chat": OWNER, "text": f"message {number}"})
        for sent in KILL_WHEN_SENT:
            assert len(state(bot, sent=sent)["sent"]) < BURST, "the burst was over before the kill"
            gateway.kill()
            gateway.start()
        texts = _until_the_last(bot)
        gateway_status = gateway.status()
        assert gateway.stop() == 0
    duplicates = len(texts) - len(set(texts))
    assert [text for text, _ in groupby(texts)] == [f"You said: message {number}" for number in range(BURST)]
    assert duplicates <= len(KILL_WHEN_SENT)
    assert duplicates <= len(gateway_status["unsure"]) <= len(KILL_WHEN_SENT)
    assert (gateway_status["inbox_waiting"], gateway_status["outbox_dead"]) == (0, 0)


def _until_the_last(bot: str) -> list[str]:
    """Return what was sent once the last answer is there; each kill may have doubled one."""
    texts: list[str] = []
    for doubled in range(len(KILL_WHEN_SENT) + 1):
        texts = [message["text"] for message in state(bot, sent=BURST + doubled)["sent"]]
        if texts[-1] == f"You said: message {BURST - 1}":
            break
    return texts
