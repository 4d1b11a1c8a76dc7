"""People in many chats, who write at a steady rate regardless of the gateway."""

import asyncio
import time
from dataclasses import dataclass

from bench.judgement import Judgement, Said, Shown, answered_in, judge, question
from bench.loopback import Recorder
from gateway.delivery.direct_notices import NOT_TAKEN, SERVER_AWAY
from tests.journeys.house import OWNER

NOTICES = (SERVER_AWAY, NOT_TAKEN)
"""No disk fails here: one that is blamed answers nothing."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Number of messages, their chats and their rate."""

    messages: int
    minutes: float
    """0: everything at once."""
    chats: int = 200

    def chat(self, number: int) -> int:
        """Return the chat of message *number*: in turn the owner's own chat and each group."""
        return -(number % self.chats) or OWNER

    @property
    def all_chats(self) -> list[int]:
        """Return the chats with messages."""
        return [self.chat(number) for number in range(self.chats)]

    @property
    def every_s(self) -> float:
        """Return the seconds between two messages."""
        return self.minutes * 60 / self.messages


class Crowd:
    """Messages sent by people, and messages shown to them."""

    def __init__(self, pace: Pace, bot: Recorder) -> None:
        self._pace = pace
        self._bot = bot
        self._said: list[Said] = []
        self._answered: set[int] = set()
        self._read = 0
        self.late_s = 0.0
        """Longest delay of a message after its time: how far the load itself fell behind."""

    async def talk(self) -> None:
        """Send everything, each message at its time; a late one does not delay others."""
        start = time.time()
        for number in range(self._pace.messages):
            due = start + number * self._pace.every_s
            if (ahead_s := due - time.time()) > 0:
                await asyncio.sleep(ahead_s)
            self._say(number)
            if self._pace.every_s:
                self.late_s = max(self.late_s, self._said[-1].at - due)

    async def was_answered(self, timeout_s: float) -> bool:
        """Wait until everything is answered; tell whether it was within *timeout_s* seconds."""
        try:
            await self._bot.until(self._is_answered, timeout_s)
        except TimeoutError:
            return False
        return True

    def judgement(self) -> Judgement:
        """Judge the messages shown to people; notices that the store is away answer nothing, and are right."""
        shown = [Shown(message.chat, message.text, message.at) for message in self._bot.sent]
        return judge(self._said, [each for each in shown if each.text not in NOTICES])

    @property
    def notices(self) -> int:
        """Number of notices that a message waits for the store."""
        return sum(message.text in NOTICES for message in self._bot.sent)

    @property
    def seconds(self) -> float:
        """Time from the first message to the latest answer."""
        return self._bot.sent[-1].at - self._said[0].at if self._bot.sent else 0.0

    def _say(self, number: int) -> None:
        chat = self._pace.chat(number)
        self._said.append(Said(chat, number, time.time()))
        self._bot.says(chat, question(number), user_id=OWNER, chat_type="private" if chat == OWNER else "supergroup")

    def _is_answered(self) -> bool:
        """Check the messages shown since the last call."""
        for message in self._bot.sent[self._read :]:
            self._answered.update(answered_in(message.text))
        self._read = len(self._bot.sent)
        return len(self._answered) == self._pace.messages
