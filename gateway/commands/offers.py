"""Decides which answers carry buttons: to undo or correct notes that they wrote, or to do what they left undone."""

import re
from collections.abc import Sequence

from msgspec import Struct

from adapters.channel import Button, InboundMessage, Via
from gateway.admission.internal_channels import is_inner
from gateway.admission.policy import Policy
from gateway.agent.entries import OFFLINE, Entry, ResultEntry, UserEntry
from gateway.agent.person_requests import Request
from gateway.agent.receipts import ended_by, unfulfilled
from gateway.commands.checkup import NAME as CHECKUP
from gateway.commands.checkup import OFFERED
from gateway.commands.command import Asker, Who
from gateway.commands.fulfil import LABELS, NAME
from gateway.commands.moment_question import offered_moments
from gateway.inbound.edits import source_of
from gateway.inbound.turn_mark import mark_of
from workspaces.access import Access
from workspaces.lazy_pattern import lazy_pattern

_WRITERS = frozenset({"add_note", "save_memory", "update_memory", "/remember", "/correct", "/fulfil", "/replaces"})
"""The tools and commands that write notes."""
_OF_JOBS = frozenset({Request.REMIND, Request.CANCEL})
"""Requests whose buttons change jobs, which only the owner may do, in their own chat."""
_RECEIPT = lazy_pattern(
    r"(?P<did>Noted|Saved|Updated|Deleted|Corrected) in `?[^\n`]+#L\d+`?\.(?P<more> It may replace `?[^\n`]+#L\d+.*)?",
    re.DOTALL,
)
"""Start of their result after a write.

A change that waits for approval returns another text, and has its own buttons.
"""


class Offers(Struct, frozen=True):
    """Knows who may undo; called with a message and its turn's entries, it returns the buttons of the answer."""

    policy: Policy
    tells_undone: bool = False
    """Answers tell what was asked for and not done."""

    def __call__(self, message: InboundMessage, access: Access, entries: Sequence[Entry]) -> tuple[Button, ...]:
        """Return the buttons below the answer to *message*."""
        asker = Asker(access, self.policy.is_owner(message.address.channel, message.sender))
        undone = _fulfilling(source_of(message), asker, entries) if self.tells_undone and _is_said(message) else ()
        return undone or buttons_for(message, asker, entries)

    def again(self, access: Access, entries: Sequence[Entry]) -> tuple[Button, ...]:
        """Return the buttons below an answer to the owner, by the *entries* of its turn alone."""
        said = next((entry for entry in entries if isinstance(entry, UserEntry)), None)
        if said is None or said.is_ours or not said.mark:
            return ()
        asker = Asker(access, is_owner=True)
        undone = _fulfilling(said.source, asker, entries) if self.tells_undone else ()
        return undone or _buttons(said.mark, asker, entries)


def buttons_for(message: InboundMessage, asker: Asker, entries: Sequence[Entry]) -> tuple[Button, ...]:
    """Return the buttons below an answer: none unless a conversation's turn wrote notes; pure.

    They are for people who may press them, and one row at most. Correct is offered for a single passage only.
    """
    return _buttons(mark_of(message), asker, entries) if _is_said(message) else ()


def _is_said(message: InboundMessage) -> bool:
    """Return whether a person wrote *message*."""
    return not is_inner(message) and message.via is not Via.AGENT


def _buttons(mark: str, asker: Asker, entries: Sequence[Entry]) -> tuple[Button, ...]:
    if not asker.may_run(Who.CHAT):
        return ()
    results = [entry for entry in entries if isinstance(entry, ResultEntry) and not entry.is_error]
    if asker.may_run(Who.MAIN) and (deciding := _choosing(entries) or _deciding(mark, results)):
        return deciding
    found = [_RECEIPT.fullmatch(result.text.strip()) for result in results if result.name in _WRITERS]
    done = [receipt["did"] for receipt in found if receipt]
    if not done:
        return ()
    undo = Button("Undo", f"/undo {mark}")
    if any(receipt["more"] for receipt in found if receipt) and asker.may_run(Who.MAIN):
        answers = (("Replaces it", ""), ("Both hold", " no"), ("Later", " later"))
        return (*(Button(label, f"/replaces {mark}{answer}") for label, answer in answers), undo)
    return (undo, Button("Correct", f"/correct {mark}")) if done != ["Deleted"] and len(done) == 1 else (undo,)


def _choosing(entries: Sequence[Entry]) -> tuple[Button, ...]:
    """Return a button for each of the moments that a reminder may be for."""
    return tuple(Button(moment, command) for moment, command in offered_moments(entries).items())


def _deciding(mark: str, results: Sequence[ResultEntry]) -> tuple[Button, ...]:
    """Return the buttons below an answer of the check-up: to decide about what it shows, and to undo what it did."""
    said = next((result.text for result in results if result.name == f"/{CHECKUP}"), "")
    undo = (Button("Undo", f"/undo {mark}"),) if said.startswith("Corrected in ") else ()
    proposed = OFFERED.search(said)
    if proposed is None:
        return undo
    decisions = (("Accept", "accept"), ("Refuse", "refuse"), ("Next", "next"))
    return (*(Button(label, f"/{CHECKUP} {act} {proposed['mark']}") for label, act in decisions), *undo)


def _fulfilling(source: str, asker: Asker, entries: Sequence[Entry]) -> tuple[Button, ...]:
    """Return the button that does what the message of *source* asked for and its turn did not; pure."""
    if not asker.may_run(Who.CHAT) or offered_moments(entries):
        return ()
    skipped = frozenset() if asker.may_run(Who.MAIN) else _OF_JOBS
    if ended_by(entries) == OFFLINE:
        skipped |= {Request.REMIND}  # it tried with the same words
    labels = [LABELS[each] for each in unfulfilled(entries) if each in LABELS and each not in skipped]
    return (Button(labels[0], f"/{NAME} {source.partition('.')[0]}"),) if labels else ()
