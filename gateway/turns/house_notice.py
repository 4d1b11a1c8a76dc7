"""Turns of models that run elsewhere, where some text stays on the owner's machines: what is told to the sender."""

from collections.abc import Sequence
from itertools import islice

from msgspec import structs

from adapters import http, terminal, web
from adapters.channel import Address, InboundMessage
from gateway.admission.internal_channels import CHANNELS, SUBAGENT, chat_of
from gateway.agent.agent import Agent
from gateway.agent.entries import OFFLINE, Entry, Mark, ReplyEntry, UserEntry
from gateway.agent.house import shown_entries, shown_mark
from gateway.agent.models.port import reader_of
from gateway.agent.write_guard import WriteGuard
from gateway.sessions.turn_request import TurnRequest
from gateway.transcripts.codec import Record
from gateway.transcripts.records import Records
from workspaces.access import Access, Locality, SessionType, may_know
from workspaces.house import has_tag

_OURS = frozenset({http.CHANNEL, terminal.CHANNEL, web.CHANNEL})


def known_records(records: Records, reader: Locality) -> Records:
    """Return *records* as *reader* may know them."""
    if reader is Locality.HERE or not records.has_house:
        return records
    return Records(_known_record(record, reader) for record in records)


def follows_house(entries: Sequence[Entry], reader: Locality) -> bool:
    """Return whether the message at the end of *entries* follows an answer that *reader* may not know."""
    said = (entry for entry in reversed(entries) if isinstance(entry, ReplyEntry))
    return any(not may_know(reader, is_house=entry.is_house) for entry in islice(said, 1))


def voice_for(agent: Agent) -> Agent:
    """Return *agent* for a message with the mark: with the first model of its chain that may know it, if any may."""
    if reader_of(agent.model) is Locality.HERE:
        return agent
    models = (agent.others[name] for name in agent.fallbacks if name in agent.others)
    here = next((model for model in models if reader_of(model) is Locality.HERE), None)
    return agent if here is None else structs.replace(agent, model=here)


def carries_mark(message: InboundMessage, records: Records) -> bool:
    """Return whether *message* carries the mark: by its words, or by what it quotes.

    *records* are those of its conversation.
    """
    quote = message.quote
    if quote is None or has_tag(message.text):
        return has_tag(message.text)
    is_marked = records.has_house and (quote.is_ours or _holds_marked(records, quote.text.strip()))
    return has_tag(quote.text) or is_marked


def _holds_marked(records: Records, text: str) -> bool:
    """Return whether *text* is part of a message with the mark: somebody quotes it after the chat's mark ended."""
    said = (each.entry for each in records)
    return bool(text) and any(isinstance(entry, UserEntry) and entry.is_house and text in entry.text for entry in said)


def house_notice(asked: TurnRequest, guard: WriteGuard) -> str:
    """Return the sentence about marked text that the turn's model was not shown, or that a chat app may now carry."""
    if guard.is_withholding:
        message = asked.row.message
        why, remedy = _why(asked.agent, message), _remedy(asked.agent, asked.access)
        return f"(Some of this is marked `house`. {why}, so I was not shown it. {remedy})"
    app = chat_app(asked.row.message.address)
    if not app or not guard.has_read_house or asked.access.session_type is not SessionType.MAIN:
        return ""
    before = (each.entry for each in asked.transcript.records if each.turn_id != asked.row.turn_id)
    if any(isinstance(entry, ReplyEntry) and entry.is_house for entry in before):
        return ""
    return f"(I have read text marked `house`, and {app} carries what I say here. The page and the terminal do not.)"


def chat_app(address: Address) -> str:
    """Return the name of the platform whose servers carry the chat at *address*; empty for our own channels."""
    return "" if address.channel in _OURS else address.channel.capitalize()


def app_of(message: InboundMessage) -> str:
    """Return the name of the platform that carries the answer to *message*, also of a subagent's task; else empty."""
    address = message.answer_address
    if address.channel == SUBAGENT:
        address = chat_of(address) or address
    return "" if address.channel in CHANNELS else chat_app(address)


def refusal(agent: Agent, message: InboundMessage, access: Access) -> str:
    """Return the answer to a *message* that the agent's model, or the chat app, may not know."""
    return f"I may not read this here: it is marked `house`. {_why(agent, message)}. {_remedy(agent, access)}"


def _why(agent: Agent, message: InboundMessage) -> str:
    if reader_of(agent.model) is Locality.HERE:
        return f"{app_of(message)} carries this chat"
    return f"My model `{agent.model.name}` runs on somebody else's machines"


def _remedy(agent: Agent, access: Access) -> str:
    """Return how a model on the owner's machines answers; only the owner, in their own chat, can have that."""
    if reader_of(agent.model) is Locality.HERE:
        return "Ask on the page or in the terminal."
    if access.session_type is not SessionType.MAIN:
        return "Only my owner can have a model on their own machine answer."
    local = [name for name, model in agent.others.items() if reader_of(model) is Locality.HERE]
    best = next((name for name in local if name != OFFLINE), next(iter(local), None))
    if best is None:
        return "No model on your own machine is configured; `[models.…]` with its address as `base_url` adds one."
    return f"`/model {best}` lets one on your own machine answer; then ask again."


def _known_record(record: Record, reader: Locality) -> Record:
    entry = record.entry
    if isinstance(entry, Mark):
        return structs.replace(record, entry=shown_mark(entry, reader))
    return structs.replace(record, entry=shown_entries([entry], reader)[0])
