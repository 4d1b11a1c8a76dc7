"""What `[web]` may say, what opens the door, and what a gateway that is killed or has no door does."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Quote, Sender
from gateway.admission.policy import Admitted, RefusalReason, Refused, admit
from gateway.admission.routing import route
from gateway.admission.sign_in import CODE_FOR, CODES, SESSION_FOR, SESSIONS, STORED_AS, SignIns, csrf_token
from gateway.app.channels import routes_of
from gateway.config import Config, WebSettings
from gateway.config.reading import parse_config
from gateway.errors import ConfigError
from gateway.inbound.outcomes import KEPT, Outcomes
from gateway.stores.rows import InboxId, InboxRow
from gateway.stores.sqlite.store import SqliteStore
from gateway.web.api_tokens import ApiTokens
from gateway.web.completion_turns import PREFACES, SYSTEM_AUTHOR, WAITING, Prefaces, TurnFeed
from gateway.web.errors import HttpError
from tests.gateway.web.house import GUEST_TOKEN, OWNER_TOKEN, TOKENS
from workspaces.access import SessionType

FILE = Path("/home/config.toml")
OPEN = """
[agents.main]
[agents.work]
[web]
enabled = true
[web.tokens.laptop]
token_env = "OWNER_TOKEN"
owner = true
[web.tokens.visitor]
token_env = "GUEST_TOKEN"
agents = ["work"]
"""


# --- settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[web]\nhost = "0.0.0.0"', "allow_remote"),
        ('[web]\npublic_url = "https://example.org/agents"', "web.public_url"),
        ('[web.tokens.a]\ntoken_env = "A"', "a guest's token needs agents"),
        ("[web.tokens.a]\nowner = true", "either token_env"),
        ('[web.tokens.a]\ntoken_env = "A"\nagents = ["mian"]', "did you mean main?"),
        ('[web.tokens.A]\ntoken_env = "A"\nowner = true', "[web.tokens.laptop]"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, said: str) -> None:
    """With the key and how to mend it."""
    with pytest.raises(ConfigError, match=r"web") as caught:
        parse_config(text, FILE)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ({"OWNER_TOKEN": "short", "GUEST_TOKEN": GUEST_TOKEN}, "24 characters"),
        ({"OWNER_TOKEN": GUEST_TOKEN, "GUEST_TOKEN": GUEST_TOKEN}, "two of them are the same"),
        ({"OWNER_TOKEN": OWNER_TOKEN}, "GUEST_TOKEN is not set"),
    ],
)
def test_a_token_that_protects_nothing_opens_nothing(tokens: dict[str, str], said: str) -> None:
    """Short ones can be guessed; shared ones make a guest of the owner, or worse."""
    config = parse_config(OPEN, FILE)
    with pytest.raises(ConfigError, match=said):
        ApiTokens.of(config.web, config.agents, tokens)


@pytest.mark.parametrize("shown", ["", "Bearer", f"Basic {OWNER_TOKEN}", OWNER_TOKEN, f"Bearer {OWNER_TOKEN}\u00e4"])
def test_only_a_bearer_token_is_looked_at(shown: str) -> None:
    """Nothing else about a request says who asks."""
    config = parse_config(OPEN, FILE)
    holders = ApiTokens.of(config.web, config.agents, TOKENS)
    assert holders.of_header(f"bearer  {OWNER_TOKEN} ").agents == ("main", "work")
    with pytest.raises(HttpError, match="token"):
        holders.of_header(shown)


def test_the_door_is_shut_unless_it_is_opened() -> None:
    """No account, no secret asked for, whatever tokens are named."""
    shut = parse_config(OPEN.replace("enabled = true", ""), FILE)
    assert not Config().web.enabled
    assert WebSettings().host == "127.0.0.1"
    assert shut.secret_sources() == ()
    assert not {channel for channel, _ in routes_of(shut).policy.accounts} & {"http", "web"}


# --- who is who


def asked(channel: str, account: str, agent: str | None, sender: str) -> InboundMessage:
    address = Address(channel, account, "main", agent)
    return InboundMessage(address, "1", Sender(sender, sender), ChatKind.DIRECT, "hi", True, datetime.now(UTC))


@pytest.mark.parametrize(
    ("message", "session_type", "agent"),
    [
        (asked("http", "laptop", "work", "laptop"), SessionType.MAIN, "work"),
        (asked("http", "visitor", "work", "visitor"), SessionType.GUEST, "work"),
        (asked("web", "work", None, "0"), SessionType.MAIN, "work"),
    ],
)
def test_a_token_says_who_asks_and_the_model_whom(message: InboundMessage, session_type: str, agent: str) -> None:
    """The owner's is the owner; everybody else is a guest of that agent."""
    routes = routes_of(parse_config(OPEN, FILE))
    envelope = route(message, routes)
    assert admit(message, routes.policy) == Admitted()
    assert (envelope.access.session_type, envelope.access.agent) == (session_type, agent)


def test_a_token_that_lost_an_agent_gets_no_turn_of_what_was_queued() -> None:
    """It is decided anew when the turn comes; so it is for a token that is gone."""
    policy = routes_of(parse_config(OPEN, FILE)).policy
    assert admit(asked("http", "visitor", "main", "visitor"), policy) == Refused(RefusalReason.AGENT_NOT_ALLOWED)
    assert admit(asked("http", "gone", "work", "gone"), policy) == Refused(RefusalReason.NO_POLICY)


# --- codes and sessions


class Days:
    """A clock that is set."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


async def test_codes_and_sessions_end_by_themselves(tmp_path: Path) -> None:
    """A code after ten minutes, a session after thirty days; they outlive the process until then."""
    store, now = await SqliteStore.open(tmp_path / "state.db"), Days()
    late = await SignIns(store, now).code()
    now.time += CODE_FOR
    assert await SignIns(store, now).enter(late) is None
    secret = await SignIns(store, now).enter(await SignIns(store, now).code())
    assert secret is not None
    now.time += SESSION_FOR - timedelta(seconds=1)
    assert await SignIns(store, now).session(secret) is not None
    now.time += timedelta(seconds=1)
    assert await SignIns(store, now).session(secret) is None
    await store.close()


async def test_only_the_newest_codes_and_sessions_count(tmp_path: Path) -> None:
    """What is kept is bounded, and no secret is among it."""
    store, now = await SqliteStore.open(tmp_path / "state.db"), Days()
    sign_ins = SignIns(store, now)
    codes = [await sign_ins.code() for _ in range(CODES + 1)]
    assert await sign_ins.enter(codes[0]) is None
    secrets = [await sign_ins.enter(await sign_ins.code()) for _ in range(SESSIONS + 1)]
    assert [await sign_ins.session(secret or "") is not None for secret in secrets] == [False] + [True] * SESSIONS
    kept = await store.get(STORED_AS) or ""
    assert not [secret for secret in [*codes, *secrets] if secret and secret.replace("-", "") in kept]
    assert csrf_token(secrets[-1] or "") not in kept
    await store.close()


# --- outcomes


def told(number: int, channel: str = "http") -> InboxRow:
    message = InboundMessage(
        Address(channel, "a", "b"), str(number), Sender("1", "a"), ChatKind.DIRECT, "x", True, datetime.now(UTC)
    )
    return InboxRow(InboxId(number), message, datetime.now(UTC))


def test_who_waits_is_told_however_much_else_is_answered_meanwhile() -> None:
    """Once; what nobody waits for is forgotten at last."""
    outcomes, heard = Outcomes(), list[object]()
    with outcomes.awaited("0", heard.append):
        for number in [*range(1, 2 * KEPT), 0, 0]:
            outcomes.tell(told(number), [])
    assert heard == [[]]
    with outcomes.awaited("1", heard.append), outcomes.awaited("0", heard.append):
        assert heard == [[], []]


def test_of_what_nobody_can_ask_for_nothing_is_kept() -> None:
    """After ten thousand messages from platforms no answer is in memory; of the others there are a thousand."""
    outcomes = Outcomes()
    for number in range(10_000):
        outcomes.tell(told(number, ("telegram", "discord", "clock", "web")[number % 4]), [])
    assert not outcomes._told
    for number in range(2 * KEPT):
        outcomes.tell(told(number, ("http", "terminal")[number % 2]), [])
    assert len(outcomes._told) == KEPT


async def test_a_program_that_reads_slowly_costs_no_end_of_memory() -> None:
    """Of ten thousand drafts of one reply few wait, the whole at last; the next reply's and the outcome follow."""
    heard = TurnFeed()
    for length in range(10_000):
        heard.draft("a" * length)
    heard.draft("b")
    heard.outcome([])
    assert len(heard._waiting) == WAITING + 2
    drafts = [await heard.get() for _ in range(WAITING)]
    assert drafts == ["a" * length for length in (*range(WAITING - 1), 9_999)]
    assert [await heard.get() for _ in range(2)] == ["b", []]
    coming = asyncio.create_task(heard.get())
    await asyncio.sleep(0)
    heard.draft("c")
    assert await coming == "c"


def test_what_programs_say_first_costs_no_end_of_memory() -> None:
    """Of long words of two thousand chats little is kept; a chat that is known hears them once."""
    prefaces, text = Prefaces(), "You are kind. " * 10_000
    chats = [Address("http", "laptop", f"chat{number}", "main") for number in range(2 * PREFACES)]
    for chat in chats:
        quote = prefaces.new(chat, text)
        assert quote is not None
        assert prefaces.new(chat, text) == quote, "a message that was not accepted told nothing"
        prefaces.told(replace(asked("http", "laptop", "main", "laptop"), address=chat, quote=quote))
    assert [prefaces.new(chat, text) is None for chat in (chats[-1], chats[0])] == [True, False]
    assert prefaces.new(chats[-1], "You are terse.") == Quote(SYSTEM_AUTHOR, "You are terse.", is_ours=True)
    assert prefaces.new(chats[-1], " ") is None
    assert len(prefaces._told) == PREFACES
    assert sum(map(len, prefaces._told.values())) < 100 * PREFACES
