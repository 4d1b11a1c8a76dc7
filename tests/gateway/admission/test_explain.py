"""The door in words: every reason has a meaning, and a route is explained as it would be taken."""

from dataclasses import replace

from msgspec import structs

from adapters.channel import Address
from gateway.admission.explain import MEANINGS, describe_silence, explain
from gateway.admission.policy import Policy, RefusalReason
from gateway.admission.routing import Binding, Routes
from gateway.stores.admission import UNREADABLE_MESSAGE, Silence
from tests.fakes.clock import START
from tests.gateway.admission.test_policy import GROUP, PAIRING, STRANGER
from workspaces.access import AgentId

ROUTES = Routes([Binding(AgentId("work"), chat="-100")], AgentId("main"), PAIRING)


def test_every_reason_has_a_meaning() -> None:
    """And what to do about it, unless there is nothing to do."""
    assert MEANINGS.keys() == set(RefusalReason)
    assert {reason for reason, meaning in MEANINGS.items() if not meaning.mend} == {RefusalReason.NO_TEXT}


def test_a_route_is_explained_as_it_is_taken() -> None:
    """Agent, session, rule and the door's word, which depends on who is a guest."""
    open_ = explain(GROUP, ROUTES, is_guest=False)
    assert (open_.agent, open_.rule, open_.is_admitted) == ("work", "chat=-100 → work", True)
    assert (open_.session, open_.session_type) == ("group:telegram.home.-100", "group")
    shut = explain(STRANGER, ROUTES, is_guest=False)
    assert (shut.agent, shut.rule, shut.is_admitted, shut.reason) == ("main", "default", False, "unpaired")
    assert "strandline pair" in shut.mend
    assert explain(STRANGER, ROUTES, is_guest=True).session_type == "guest"
    nobody = explain(STRANGER, replace(ROUTES, policy=Policy(frozenset(), {})), is_guest=True)
    assert nobody.reason == "no_policy"


def test_a_silence_is_told_in_words() -> None:
    """How often, where, who and why; a code that this version does not know is told as it is."""
    line = Silence(START, Address("telegram", "home", "-100"), "telegram:8", "not_for_us", 1_200)
    assert describe_silence(line)[0] == (
        "telegram.home.-100, telegram:8: 1,200 times, because it neither mentioned the bot nor replied to it"
    )
    assert describe_silence(structs.replace(line, reason=UNREADABLE_MESSAGE, times=1))[1] == "ask them to send it again"
    assert describe_silence(structs.replace(line, reason="from_the_future", times=1)) == (
        "telegram.home.-100, telegram:8: because from_the_future",
        "see: strandline docs reasons",
    )
