"""`/whoami`: the identity of a chat and its access."""

from gateway.commands.command import Command, CommandCall, Who
from workspaces.access import Access, rights


def whoami_commands() -> list[Command]:
    """Return `/whoami`."""
    return [Command("whoami", "", "show who you are to me, and my access in this chat", Who.ANYONE, True, _whoami)]


async def _whoami(call: CommandCall) -> str:
    access = call.access
    owner = ", my owner" if call.asker.is_owner else ""
    return (
        f"You are `{access.principal}`{owner}. I am the agent `{access.agent}`, and to me this is a "
        f"`{access.session_type}` chat. {_seen(access)}"
    )


def _seen(access: Access) -> str:
    """Describe the access of a turn with *access*."""
    row = rights(access)
    if row.private:
        return "Here I see all that I keep: every file, all notes, all conversations. Nobody else reads this chat."
    files = ", ".join(f"`{name}`" for name in sorted(row.files))
    return f"Here I see {files}, my skills and the notes of this chat: nothing private of my owner's."
