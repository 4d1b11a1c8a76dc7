"""`/context`, `/compact` and `/summarize`: the use of the model's window, and summaries that free it."""

from collections.abc import Iterator, Sequence

from gateway.agent.budget import format_spend
from gateway.agent.entries import OFFLINE, FlushEntry, RecallEntry, ReplyEntry, SummaryEntry
from gateway.agent.models.paid import cost_of
from gateway.agent.models.port import reader_of
from gateway.agent.window.shown import VisibleHistory
from gateway.agent.window.use import WindowUse
from gateway.commands.command import Command, CommandCall, Who, is_marked
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted
from gateway.errors import HookError, ToolError
from gateway.sessions.compaction import BY_WORDING, CompactionResult
from gateway.transcripts.codec import Record
from gateway.turns.planning import Planner
from workspaces.access import may_know

_BAR = 10
_SHORT = "There is nothing to summarise yet: the whole conversation is still in the window."


def context_commands(parts: CommandResources) -> list[Command]:
    """Return the commands about the window; only the owner may summarise, which costs money."""

    async def context(call: CommandCall) -> str:
        return "\n".join(_context(await parts.planner.window(call.asked), call))

    async def compact(call: CommandCall) -> str:
        compacted = await _summarise(parts.planner, call)
        return _SHORT if compacted is None else "\n".join(_summary_lines(compacted))

    async def summarize(call: CommandCall) -> str:
        compacted = await _summarise(parts.planner, call)
        return _SHORT if compacted is None else "\n".join([compacted.summary.text, "", *_summary_lines(compacted)])

    saves = "save notes of this conversation and summarise its older part, with a focus if you name one"
    return [
        Command("context", "", "show the use of the model's window", Who.ANYONE, True, context, passes=True),
        Command("compact", "[focus]", saves, Who.OWNER, False, compact),
        Command("summarize", "[focus]", "like /compact, and show the summary", Who.OWNER, False, summarize),
    ]


def _context(use: WindowUse, call: CommandCall) -> Iterator[str]:
    if call.agent.model.name == OFFLINE:
        yield "No language model answers here, so nothing limits how long this conversation may be."
    else:
        about = "as the provider counted" if use.is_measured else "a cautious estimate"
        full = min(round(use.share * _BAR), _BAR)
        yield f"`{'▓' * full}{'░' * (_BAR - full)}` {use.share:.0%} of the window of `{call.agent.model.name}`"
        yield f"{use.total:,} of {use.window:,} tokens, {about}:"
        parts = ("conversation", use.conversation), ("tools", use.tools), ("files", use.files)
        yield from (f"- {name} {tokens:,}" for name, tokens in (*parts, ("memory", use.memory)))
        yield f"- instructions {use.instructions:,}"
    yield from _pruned_lines(use.shown)
    yield from kept_lines(call.transcript.records, call)
    yield from _spending_lines(call)


def _pruned_lines(shown: VisibleHistory) -> Iterator[str]:
    if shown.trimmed:
        yield f"- {counted(shown.trimmed, 'old result')} of tools shortened"
    if shown.cleared:
        yield f"- {counted(shown.cleared, 'old result')} of tools removed from the window"
    if shown.left_out:
        yield f"- {counted(shown.left_out, 'earlier message')} not shown to the model"


async def _summarise(planner: Planner, call: CommandCall) -> CompactionResult | None:
    """Summarise as *call* requests. Raises ToolError if a hook refuses it, or the model may not know the focus."""
    reader = reader_of(call.asked.agent.model)
    if call.arguments and not may_know(reader, is_house=is_marked(call)):
        raise ToolError(
            "The focus is marked `house`, and my model runs on somebody else's machines: leave the focus out, or "
            "choose a model on your own machine with `/model`."
        )
    try:
        return await planner.make_room(call.asked, call.arguments)
    except HookError as exc:
        raise ToolError(str(exc)) from exc


def kept_lines(records: Sequence[Record], call: CommandCall) -> Iterator[str]:
    """Yield the time of the last saved notes of this conversation, and the summary that replaces its older part."""
    for record in reversed(records):
        if isinstance(record.entry, FlushEntry):
            where = (
                ", ".join(f"`{citation}`" for citation in record.entry.citations) or "nothing worth saving was found"
            )
            yield f"- notes last saved by the model {_time_of(record, call)}: {where}"
            break
    for record in reversed(records):
        if isinstance(record.entry, RecallEntry):
            yield f"- searched for what was said {_time_of(record, call)}: {record.entry}"
            break
    for record in reversed(records):
        if isinstance(record.entry, SummaryEntry):
            by = "by wording, without a model" if record.entry.model == BY_WORDING else f"by `{record.entry.model}`"
            orders = f", with {counted(len(record.entry.orders), 'standing order')} word for word"
            yield f"- summarised {_time_of(record, call)} {by}{orders if record.entry.orders else ''}"
            break


def _time_of(record: Record, call: CommandCall) -> str:
    return f"{record.at.astimezone(call.now.tzinfo):%Y-%m-%d %H:%M}"


def _spending_lines(call: CommandCall) -> Iterator[str]:
    """Yield the tokens and costs that the provider counted, and their start: summarised turns are not included."""
    records = call.transcript.records
    since = "so far" if call.transcript.is_whole else f"since {_time_of(records[0], call)}"
    replies = [record.entry for record in records if isinstance(record.entry, ReplyEntry)]
    read = sum(reply.usage.input_tokens for reply in replies)
    if not read:
        yield f"- no tokens counted {since}"
        return
    cached = sum(reply.usage.cached_tokens for reply in replies) / read
    written = sum(reply.usage.output_tokens for reply in replies)
    yield f"- {read:,} tokens read {since} ({cached:.0%} from the provider's cache), {written:,} written"
    if (cost := cost_of(call.agent.model, replies)) is not None:
        yield f"- cost {since}: {format_spend(cost)}"


def _summary_lines(compacted: CompactionResult) -> Iterator[str]:
    yield f"Summarised: {counted(compacted.turns, 'turn')}. All of it stays in the transcript, word for word."
    if compacted.flushed is not None and compacted.flushed.citations:
        yield f"Notes were saved before: {', '.join(f'`{citation}`' for citation in compacted.flushed.citations)}."
    else:
        yield "A shortened version is in the day's notes."
    if compacted.summary.orders:
        yield "Kept word for word:"
        yield from (f"> {order}" for order in compacted.summary.orders)
