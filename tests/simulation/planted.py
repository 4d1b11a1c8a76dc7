"""Faults of order, cancellation and crash that the simulation must find: each a change of one function's source."""

import importlib
import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from types import ModuleType


@dataclass(frozen=True, slots=True)
class Planted:
    """One fault: in the source of *target*, `module:name`, *old* becomes *new*."""

    name: str
    target: str
    old: str
    new: str

    def plant(self) -> None:
        """Change the function, in this process."""
        owner, last = self._place()
        changed: dict[str, object] = {}
        exec(self.source(), vars(self._module()), changed)  # our own source
        setattr(owner, last, changed[last])

    def source(self) -> str:
        """Return the changed source. Raises AssertionError unless *old* occurs once in the function."""
        owner, last = self._place()
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(vars(owner)[last])))
        assert source.count(self.old) == 1, f"{self.name}: {self.old!r} occurs {source.count(self.old)} times"
        return source.replace(self.old, self.new)

    def _module(self) -> ModuleType:
        return importlib.import_module(self.target.partition(":")[0])

    def _place(self) -> tuple[object, str]:
        *path, last = self.target.partition(":")[2].split(".")
        return reduce(getattr, path, self._module()), last


_SENDER = "gateway.delivery.sender:Delivery"
_LOOP = "gateway.agent.loop"

PLANTED: Sequence[Planted] = (
    Planted(
        "a message is confirmed before it is stored",
        "gateway.inbound.receive:Reception._receive",
        "row = await self.store.inbox.append(with_context(message, context))",
        "import asyncio\n"
        "    async def late():\n"
        "        await asyncio.sleep(0.3)\n"
        "        if row := await self.store.inbox.append(with_context(message, context)):\n"
        "            self.entrance.took_in(row, envelope)\n"
        "    asyncio.ensure_future(late())\n"
        "    return None\n"
        "    row = None",
    ),
    Planted(
        "an update that comes again is a new message",
        "gateway.stores.sqlite.inbox:append",
        "if is_new else None",
        "",
    ),
    Planted(
        "the commit of a turn leaves its message in the inbox",
        "gateway.stores.sqlite.store:SqliteStore.commit_turn",
        '"DELETE FROM inbox WHERE id = ?", (row,)).rowcount',
        '"SELECT id FROM inbox WHERE id = ?", (row,)).rowcount ** 2',
    ),
    Planted(
        "the commit of a turn forgets the messages that joined it",
        "gateway.turns.turn:Turn._commit",
        "answers = [row.id, *self.journal.joined]",
        "answers = [row.id]",
    ),
    Planted(
        "a message that joins a turn is not journaled",
        "gateway.turns.join:Joining.begin",
        "await self.said(self.current.row), *others)",
        "await self.said(self.current.row))",
    ),
    Planted(
        "a reply being sent at a crash is not sent again",
        f"{_SENDER}.recover",
        "if is_ours(row.outgoing.address)]",
        "if is_ours(row.outgoing.address) and row.state is not OutboxState.SENDING]",
    ),
    Planted(
        "a reply being sent at a crash is sent again in silence",
        f"{_SENDER}._settle",
        'record_unsure(row.id, row.parts_sent, "the gateway stopped while this was being sent")',
        'put_back(row.id, row.created_at, "again")',
    ),
    Planted(
        "a send without an outcome is sent again in silence",
        f"{_SENDER}._retry_unsure",
        "partial(self._outbox.record_unsure, row.id, row.parts_sent, redact(str(exc)))",
        "partial(self._outbox.put_back, row.id, row.created_at, redact(str(exc)))",
    ),
    Planted(
        "a send without an outcome counts as sent",
        f"{_SENDER}._hand_over",
        "return await adapter.send(last)",
        "try:\n                return await adapter.send(last)\n"
        '            except UnsureSendError:\n                return Sent("?")',
    ),
    Planted(
        "a reply that is delayed lets later ones pass",
        f"{_SENDER}._deliver",
        "return await self._retry_later(job, exc, exc.retry_after_s)",
        "retry = await self._retry_later(job, exc, exc.retry_after_s)\n"
        "        import asyncio\n"
        "        asyncio.get_running_loop().call_later(\n"
        "            retry.delay_s, self._lanes.submit, job.row.outgoing.address, job)\n"
        "        return None",
    ),
    Planted(
        "a part is sent before its beginning is stored",
        f"{_SENDER}._send_part",
        "await self._write_until_stored(partial(self._outbox.begin_part, row.id, part, begun_at))\n",
        "begin = partial(self._outbox.begin_part, row.id, part, begun_at)\n"
        "        old, adapter.send = adapter.send, None\n"
        "        async def first(message):\n"
        "            try:\n"
        "                return await old(message)\n"
        "            finally:\n"
        "                adapter.send = old\n"
        "                await self._write_until_stored(begin)\n"
        "        adapter.send = first\n",
    ),
    Planted(
        "the turn of an account is never given up",
        f"{_SENDER}._turn",
        "timer.cancel()\n        over()",
        "timer.cancel()",
    ),
    Planted(
        "waiting items are taken last come, first served",
        "gateway.runtime.queues:Queues.append",
        "_Queue(deque())).items.append(item)",
        "_Queue(deque())).items.insert(1, item)",
    ),
    Planted(
        "the messages of an earlier run are forgotten at a start",
        "gateway.inbound.receive:Reception.recover",
        "self.entrance.submit(row)",
        "pass",
    ),
    Planted(
        "messages are taken in before those of an earlier run",
        "gateway.app.app:App.run",
        "await self._recover()\n",
        "import asyncio as a\n        tasks.create_task(a.sleep(1)).add_done_callback(\n"
        "            lambda _: tasks.create_task(self._recover()))\n",
    ),
    Planted(
        "a turn that must wait gives its place to the next message",
        "gateway.turns.turn:Turns.answer",
        "return await wait.postpone(",
        "await wait.postpone(",
    ),
    Planted(
        "a message for which there is no room is forgotten",
        "gateway.inbound.backlog:Backlog.take",
        "self.overflow.rests[key] = Rest(row.id, row.id, 1)",
        "pass",
    ),
    Planted(
        "a message left in the inbox is skipped once there is room",
        "gateway.inbound.backlog:Backlog._offer",
        "rest.shrink(row)",
        "rest.shrink(row)\n    rest.first += 1_000",
    ),
    Planted(
        "a message overtakes those left in the inbox",
        "gateway.inbound.backlog:Backlog.take",
        "rest = self.overflow.rests.get(key)",
        "rest = None if self.overflow.has_room(key) else self.overflow.rests.get(key)",
    ),
    Planted(
        "a transcript is not synced",
        "gateway.transcripts.writer:Transcript._store",
        "if not (self.records and is_kept):",
        "if not self.records:",
    ),
    Planted(
        "a torn end of a transcript stays",
        "gateway.transcripts.writer:_mend_end",
        "if not tail:",
        "if True:",
    ),
    Planted(
        "a write that failed leaves its bytes in the transcript",
        "gateway.transcripts.writer:Transcript._cut_leftover",
        "os.ftruncate(file, self._leftover_at)",
        "pass",
    ),
    Planted(
        "a call that a crash interrupted is run again",
        f"{_LOOP}:_finish_calls",
        "if call.id in begun:",
        "if False:",
    ),
    Planted(
        "the start of a call is journaled after it",
        f"{_LOOP}:_finish_calls",
        "await record.add(CallStartEntry(call.id))\n"
        "        await record.add(await unless(halt.now, toolbox.call(call)) or interrupted_result(call))",
        "result = await unless(halt.now, toolbox.call(call)) or interrupted_result(call)\n"
        "        await record.add(CallStartEntry(call.id))\n"
        "        await record.add(result)",
    ),
    Planted(
        "a reply is acted upon before it is durable",
        f"{_LOOP}:_TurnHistory.add",
        "await self._journal(entry)",
        "import asyncio\n    self._last = asyncio.ensure_future(self._journal(entry))",
    ),
    Planted(
        "a commit that failed is reported as done",
        "gateway.stores.sqlite.group_commit:GroupCommit._commit",
        "return [describe_error(self._path, exc)]",
        "return [None]",
    ),
    Planted(
        "an operation's result is given before its commit",
        "gateway.stores.sqlite.group_commit:GroupCommit._run_batch",
        'self._connection.execute("COMMIT")',
        'if len(operations) < 2: self._connection.execute("COMMIT")',
    ),
    Planted(
        "two turns of one conversation run at the same time",
        "gateway.runtime.lanes:Lanes.submit",
        "self._queues.append(key, item)\n    lane = self._lanes.get(key)",
        "self._queues.append((key, item.id) if hasattr(item, 'turn_id') and hasattr(item, 'message') else key, item)\n"
        "    key = (key, item.id) if hasattr(item, 'turn_id') and hasattr(item, 'message') else key\n"
        "    lane = self._lanes.get(key)",
    ),
    Planted(
        "a conversation is put away before its last turn is over",
        "gateway.sessions.lifecycle:Lifecycle.enter",
        "if not session.transcript.records.knows(turn):",
        "if True:",
    ),
    Planted(
        "after an interruption a group's turn reads private memory",
        "gateway.turns.turn:Turn._request",
        "access = read_by(self.envelope.access,",
        "from workspaces.access import owner_access\n"
        "    mine = self.envelope.access if len(self.journal.entries) < 2 else owner_access(self.agent.id, 'main')\n"
        "    access = read_by(mine,",
    ),
    Planted(
        "a cancelled turn ends with an answer",
        "gateway.agent.loop:_next_reply",
        "except ModelFloodError as exc:",
        "except __import__('asyncio').CancelledError:\n"
        "            return ReplyEntry('Never mind.', (), 'planted', Usage())\n"
        "        except ModelFloodError as exc:",
    ),
)
