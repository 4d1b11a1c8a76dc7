"""`strandline route …`: shows the route of a message, and the reasons for unanswered messages."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gateway.admission.explanation import Explanation
from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.control.admission_wire import RouteOrder, SilencesAnswer, SilencesOrder

app = command_app("Explain routes and unanswered messages: explain, why.")

ChannelOption = Annotated[str, typer.Option(help="Channel: telegram, discord or terminal.")]
AccountOption = Annotated[str, typer.Option(help="Name of the bot in the configuration.")]
ChatOption = Annotated[str | None, typer.Option(help="Id of a group; default: a direct chat.")]
ThreadOption = Annotated[str | None, typer.Option(help="Id of a thread or topic in the group.")]
PersonOption = Annotated[str | None, typer.Option(help="Id of the sender; default: anonymous.")]
GuildOption = Annotated[str | None, typer.Option(help="Id of the chat's Discord server.")]
RoleOption = Annotated[list[str] | None, typer.Option(help="Id of a role that the sender has there; may be repeated.")]
MentionOption = Annotated[
    bool, typer.Option("--mention", help="Assume that the message mentions the bot or replies to it.")
]


@app.command()
def explain(  # noqa: PLR0913  # each option is a parameter to typer
    call: JsonCall,
    channel: ChannelOption,
    account: AccountOption,
    chat: ChatOption = None,
    thread: ThreadOption = None,
    person: PersonOption = None,
    guild: GuildOption = None,
    role: RoleOption = None,
    mention: MentionOption = False,
) -> None:  # each option is a parameter to typer
    """Show the agent, chat type and rule for a message, and whether it would be admitted."""
    order = RouteOrder(channel, account, chat, thread, person, guild, tuple(role or ()), mention)
    call.tell(order, _explanation)


@app.command()
def why(
    call: JsonCall,
    chat: Annotated[str | None, typer.Option(help="Show only this chat, by its id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of messages.")] = 20,
) -> None:
    """List the latest unanswered messages, with the reason and the remedy."""
    call.tell(SilencesOrder(chat, limit), _ledger, "No unanswered messages.")


def _explanation(answer: Explanation) -> Iterator[str]:
    yield f"agent    {answer.agent}"
    yield f"rule     {answer.rule}"
    yield f"session  {answer.session} ({answer.session_type})"
    if answer.is_admitted:
        yield "access   admitted"
        return
    yield f"access   refused ({answer.reason}): {answer.meaning}"
    if answer.mend:
        yield f"         → {answer.mend}"


def _ledger(answer: SilencesAnswer) -> Iterator[str]:
    for each in answer.silences:
        yield f"{each.at:%Y-%m-%d %H:%M}  {each.told}"
        if each.mend:
            yield f"         → {each.mend}"
