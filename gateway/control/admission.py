"""Operator requests about admission: pairing, routes, unanswered messages."""

from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from adapters.http import CHANNEL as HTTP
from adapters.terminal import CHANNEL as TERMINAL
from adapters.web import CHANNEL as WEB
from gateway.admission.claim import Claims
from gateway.admission.explain import describe_silence, explain
from gateway.admission.explanation import Explanation
from gateway.admission.internal_channels import CHANNELS
from gateway.admission.pairing import Pairing, format_code
from gateway.admission.policy import AccountPolicy, GroupPolicy
from gateway.admission.routing import Routes, route
from gateway.control.admission_wire import (
    AccountRow,
    Applicant,
    AskingGroup,
    ClaimAnswer,
    ClaimOrder,
    ClaimRow,
    GroupAnswer,
    GroupOrder,
    GroupRow,
    GuestRow,
    PairAnswer,
    PairOrder,
    RoomsAnswer,
    RoomsOrder,
    RouteOrder,
    SilenceRow,
    SilencesAnswer,
    SilencesOrder,
)
from gateway.delivery.group_requests import GroupRequests
from gateway.errors import StrandlineError
from gateway.inbound.known_names import KnownNames
from gateway.stores.admission import Guest, PairingRequest, Silence
from gateway.stores.ports import Store

_OWN = frozenset({*CHANNELS, TERMINAL, WEB, HTTP})
"""Channels without a bot account."""


class AdmissionOperator(Struct, frozen=True):
    """The operator's admission requests. Everything raises StoreError."""

    routes: Routes
    store: Store
    pairing: Pairing
    zone: tzinfo
    """The owner's."""
    groups: GroupRequests
    names: KnownNames
    claims: Claims | None = None

    async def group(self, order: GroupOrder) -> GroupAnswer:
        """List the groups that the owner was asked about, or decide. Raises StrandlineError for an unknown one."""
        match order.act:
            case "allow":
                return GroupAnswer(outcome=f"{await self.groups.allow(order.place)} is allowed.")
            case "refuse":
                return GroupAnswer(outcome=f"{await self.groups.refuse(order.place)} stays closed.")
        known = await self.groups.known()
        return GroupAnswer(tuple(AskingGroup(each.place, each.name, each.is_refused) for each in known))

    async def pair(self, order: PairOrder) -> PairAnswer:
        """Execute *order*. Raises PairingError, and StrandlineError for an unknown code or person."""
        if order.act == "list":
            return PairAnswer(waiting=tuple(_applicant(each, self.zone) for each in await self.pairing.waiting()))
        if order.act == "people":
            return PairAnswer(guests=tuple(_guest(each, self.zone) for each in await self.pairing.guests()))
        if not order.what:
            raise StrandlineError("name a code to approve or refuse, or a person to revoke")
        decide = {"approve": self.pairing.approve, "refuse": self.pairing.refuse, "revoke": self.pairing.revoke}
        return PairAnswer(outcome=await decide[order.act](order.what))

    async def claim(self, order: ClaimOrder) -> ClaimAnswer:
        """Return new codes for accounts without an owner. Raises StrandlineError for another one."""
        claims, rows = self.claims, list[ClaimRow]()
        known = {f"{channel}.{name}": (channel, name) for channel, name in sorted(claims.accounts if claims else ())}
        if order.account is not None and order.account not in known:
            raise StrandlineError(f"{order.account} has an owner, or is not in the configuration")
        for name, account in known.items():
            if (
                claims is None
                or order.account not in {None, name}
                or (order.if_none and await claims.has_code(account))
            ):
                continue
            rows.append(ClaimRow(name, (await claims.issue(account)).code))
        return ClaimAnswer(tuple(rows))

    async def explain(self, order: RouteOrder) -> Explanation:
        """Return the outcome for a message. Raises StrandlineError for one that no chat could hold."""
        if order.chat is None and order.person is None:
            raise StrandlineError("name the chat, or for a direct chat the person")
        said = _sample_message(order)
        is_guest = await self.store.pairings.is_guest(order.channel, order.account, said.sender.id)
        return explain(said, self.routes, is_guest=is_guest)

    async def rooms(self, _: RoomsOrder) -> RoomsAnswer:
        """Return the bot accounts, and the groups in which they answer."""
        names = await self.names.all()
        names |= {each.visitor.person: each.visitor.name for each in await self.pairing.guests() if each.visitor.name}
        known = {account: each for account, each in self.routes.policy.accounts.items() if account[0] not in _OWN}
        return RoomsAnswer(
            tuple(_account_row(f"{account[0]}.{account[1]}", each) for account, each in sorted(known.items())),
            tuple(
                self._group_row(account, chat, group)
                for account, each in sorted(known.items())
                for chat, group in sorted(each.groups.items())
            ),
            names,
        )

    def _group_row(self, account: tuple[str, str], chat: str, group: GroupPolicy) -> GroupRow:
        agent = route(_sample_message(RouteOrder(*account, chat)), self.routes).key.agent
        may_end = None if group.may_end is None else tuple(sorted(group.may_end))
        rules = group.mention, tuple(sorted(group.people)), group.bots, group.heard, may_end
        return GroupRow(f"{account[0]}.{account[1]}", chat, agent, *rules)

    async def silences(self, order: SilencesOrder) -> SilencesAnswer:
        """Return the unanswered messages, latest first."""
        found = [each for each in await self.store.silences.latest() if order.chat in {None, each.address.chat}]
        return SilencesAnswer(tuple(_row(each, self.zone) for each in found[: order.limit]))


def _account_row(name: str, account: AccountPolicy) -> AccountRow:
    return AccountRow(name, account.direct, tuple(sorted(account.people)))


def _sample_message(order: RouteOrder) -> InboundMessage:
    """Return a message as *order* describes it; its sender identifies a direct chat."""
    is_direct = order.chat is None or order.chat == order.person
    address = Address(order.channel, order.account, order.chat or order.person or "", order.thread)
    return InboundMessage(
        address,
        id="imagined",
        sender=Sender(order.person or "", "", roles=order.roles),
        kind=ChatKind.DIRECT if is_direct else ChatKind.GROUP,
        text="a message",
        is_for_us=order.mention or is_direct,
        sent_at=datetime.now(UTC),
        space=order.space,
    )


def _applicant(request: PairingRequest, zone: tzinfo) -> Applicant:
    visitor, code = request.visitor, format_code(request.code)
    account = f"{visitor.channel}.{visitor.account}"
    asked_at, expires_at = request.asked_at.astimezone(zone), request.expires_at.astimezone(zone)
    return Applicant(code, visitor.person, visitor.name, account, asked_at, expires_at)


def _guest(guest: Guest, zone: tzinfo) -> GuestRow:
    visitor = guest.visitor
    return GuestRow(visitor.person, visitor.name, f"{visitor.channel}.{visitor.account}", guest.since.astimezone(zone))


def _row(silence: Silence, zone: tzinfo) -> SilenceRow:
    what, mend = describe_silence(silence)
    at, address = silence.at.astimezone(zone), str(silence.address)
    return SilenceRow(at, address, silence.person, silence.reason, silence.times, told=what, mend=mend)
