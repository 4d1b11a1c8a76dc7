"""Where a message goes, and what its turn may see."""

import random as random_
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.policy import AccountPolicy, DirectPolicy, Policy
from gateway.admission.routing import NARROWEST_FIRST, Binding, Routes, route
from workspaces.access import PRIVATE, AgentId, Grant, SessionType

POLICY = Policy(frozenset({"telegram:7"}), {("telegram", "home"): AccountPolicy(DirectPolicy.OWNER)})
MAIN = AgentId("main")
MESSAGE = InboundMessage(
    Address("telegram", "home", "-100", "4"), "1", Sender("7", "Owner"), ChatKind.GROUP, "hi", True, datetime.now(UTC)
)


def routes(*bindings: Binding) -> Routes:
    return Routes(bindings, MAIN, POLICY)


def test_without_a_binding_the_default_agent_answers() -> None:
    """No rule matched, and the answer says so."""
    assert (route(MESSAGE, routes()).key.agent, route(MESSAGE, routes()).rule) == (MAIN, "default")


def test_the_most_specific_binding_wins_wherever_it_stands() -> None:
    """Thread beats chat, chat beats person, person beats account, account beats channel; order does not matter."""
    ladder = [
        Binding(AgentId("a"), channel="telegram"),
        Binding(AgentId("b"), account="home"),
        Binding(AgentId("c"), person="telegram:7"),
        Binding(AgentId("d"), chat="-100"),
        Binding(AgentId("e"), chat="-100", thread="4"),
    ]
    for count in range(1, len(ladder) + 1):
        expected = ladder[count - 1]
        for bindings in (ladder[:count], ladder[:count][::-1]):
            envelope = route(MESSAGE, routes(*bindings))
            assert (envelope.key.agent, envelope.rule) == (expected.agent, str(expected))


def test_of_equal_bindings_the_first_wins_and_a_field_that_differs_rules_a_binding_out() -> None:
    """All given fields must match; ties go to the order of the configuration."""
    other = Binding(AgentId("x"), chat="-100", channel="discord")
    first, second = Binding(AgentId("y"), chat="-100"), Binding(AgentId("z"), chat="-100")
    assert route(MESSAGE, routes(other, first, second)).key.agent == "y"


SOME = st.builds(
    Binding,
    st.just(MAIN),
    *(st.sampled_from([None, *values]) for values in (("telegram", "web"), ("home", "x"), ("-100", "-2"), ("4",))),
)


@given(st.lists(SOME, max_size=12))
def test_a_binding_is_found_by_its_address_as_by_trying_all(bindings: list[Binding]) -> None:
    """Those that match, in the order of the configuration."""
    assert routes(*bindings).matching(MESSAGE) == [each for each in bindings if each.matches(MESSAGE)]


@pytest.mark.parametrize(
    ("message", "session_type", "name", "scope"),
    [
        (replace(MESSAGE, kind=ChatKind.DIRECT), SessionType.MAIN, "main", PRIVATE),
        (
            replace(MESSAGE, kind=ChatKind.DIRECT, sender=Sender("8", "Guest")),
            SessionType.GUEST,
            "guest:telegram.home.-100.4",
            "shared:telegram.home.-100.4",
        ),
        (MESSAGE, SessionType.GROUP, "group:telegram.home.-100.4", "shared:telegram.home.-100.4"),
    ],
)
def test_the_session_type_follows_from_the_platforms_facts(
    message: InboundMessage, session_type: SessionType, name: str, scope: str
) -> None:
    """Only the owner's direct chat is main; the owner in a group is a group; an id is bound to its platform."""
    envelope = route(message, routes())
    assert (envelope.access.session_type, envelope.key.name, envelope.access.scope) == (session_type, name, scope)


def test_the_configuration_may_show_the_user_file_to_groups() -> None:
    """A grant is the only way by which a row of the matrix widens."""
    assert route(MESSAGE, routes()).access.grants == frozenset()
    granting = replace(routes(), user_file_in_groups=True)
    assert route(MESSAGE, granting).access.grants == {Grant.USER_FILE_IN_GROUPS}


VALUES = {
    "channel": "telegram",
    "account": "home",
    "chat": "-100",
    "thread": "4",
    "person": "telegram:7",
    "space": "500",
    "role": "600",
}
IN_A_SERVER = replace(MESSAGE, sender=Sender("7", "Owner", roles=("600", "601")), space="500")
SHAPES = st.sets(st.sampled_from(sorted(VALUES)))


@given(st.lists(SHAPES, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_bindings_is_total_and_does_not_depend_on_the_file(
    shapes: list[set[str]], random: random_.Random
) -> None:
    """Of any rules that fit, the narrowest wins however they are shuffled; of equal ones, the file's first."""
    rules = [Binding(AgentId(f"a{n}"), **{name: VALUES[name] for name in shape}) for n, shape in enumerate(shapes)]
    ranked = [tuple(name in shape for name in NARROWEST_FIRST) for shape in shapes]
    first = ranked.index(max(ranked))
    assert route(IN_A_SERVER, routes(*rules)).key.agent == f"a{first}"
    distinct = [rule for n, rule in enumerate(rules) if ranked.index(ranked[n]) == n]
    shuffled = random.sample(distinct, len(distinct))
    assert route(IN_A_SERVER, routes(*shuffled)).key.agent == f"a{first}"


def test_a_role_counts_where_the_sender_has_it() -> None:
    """One of several is enough; a rule for another role, or another server, rules itself out."""
    for binding, fits in [
        (Binding(AgentId("x"), role="601"), True),
        (Binding(AgentId("x"), role="602"), False),
        (Binding(AgentId("x"), space="500", role="600"), True),
        (Binding(AgentId("x"), space="501", role="600"), False),
    ]:
        assert (route(IN_A_SERVER, routes(binding)).key.agent == "x") is fits
    assert str(Binding(AgentId("x"), space="500", role="600")) == "space=500 role=600 → x"
