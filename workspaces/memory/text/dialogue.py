"""Lines of a conversation in notes and transcripts: one writer, one reader, and the kind of each line.

A line names its speaker and mostly its time. Strandline writes `Owner (21:17): text` into daily notes and `21:17 Owner:
text` into session notes and transcripts; with `Owner asked` for a question, `Owner ordered` for an order to remember
something and `main answered` for an agent's answer its kind is known when it is read; the kind of hand-written,
imported and older lines is told by their words.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime
from enum import IntEnum
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.question_forms import CJK_QUESTION, LOOK_UP, asking
from workspaces.memory.text.tokens import STOP_WORDS

LONGEST_NAME = 30
"""Of a speaker, in characters; a longer text before a colon is a sentence."""

_TIME = r"\[?(?P<time>\d{1,2}:\d{2}(?::\d{2})?)\]?"
_ASKED, _ORDERED, _ANSWERED = " asked", " ordered", " answered"
_NAME = rf"(?P<name>\w[\w .'’-]{{0,{LONGEST_NAME + len(_ANSWERED)}}})"
_FORMS = (
    lazy_pattern(rf"{_TIME}(?:\s+-)?\s+{_NAME}:\s+"),
    lazy_pattern(rf"\*{{0,2}}{_NAME} \((?P<time>\d{{1,2}}:\d{{2}})\):\*{{0,2}}\s+"),
    lazy_pattern(rf"\*{{0,2}}{_NAME}\*{{0,2}}:\*{{0,2}}\s+"),
)
"""`21:17 Owner: text` (also `[21:17]`, `21:17 - Owner:`), `Owner (21:17): text`, `Owner: text` or `**Owner:** text`.
All are matched at the start of a line, and a name is bounded."""
_ONLY_TIME = lazy_pattern(rf"{_TIME}\s+")
LINES_KEPT = 1_000
"""Lines that are kept as they were read: those of thirty searches."""


class LineKind(IntEnum):
    """Function of a line in a note or a conversation; stored with its entry."""

    NOTE = 0
    """Not dialogue."""
    SAYS = 1
    """A statement."""
    ASKS = 2
    """A statement that ends with a question."""
    QUESTION = 3
    """Questions only: leads to its answer, and is never evidence."""
    SMALL_TALK = 4
    """A greeting, thanks, an agreement, an order to forget: never evidence."""
    HEADING = 5
    """Precedes dialogue, or counts omitted messages: never evidence."""
    NO_ANSWER = 6
    """An agent's "I do not know", a failure, or a quotation of notes: never evidence."""
    ORDER = 7
    """An order to remember something: leads to the note, and is evidence only if there is none."""
    ANSWER = 8
    """A statement of an agent: below what people said."""


EVIDENCE = frozenset({LineKind.NOTE, LineKind.SAYS, LineKind.ASKS, LineKind.ORDER, LineKind.ANSWER})
"""Kinds of lines that may answer a question."""
TOLD = EVIDENCE - {LineKind.ANSWER}
"""Those of them that are people's words."""


class ParsedLine(Struct, frozen=True):
    text: str
    """Without speaker and time."""
    speaker: str = ""
    """Empty without a speaker."""
    time: str = ""
    """As written, such as `21:17`; empty without one."""
    written: LineKind | None = None
    """Its kind, if it was written as a question, an order or an answer."""

    @property
    def kind(self) -> LineKind:
        """Kind of the line: as it was written, else from its words."""
        if self.written is not None:
            return self.written
        if self.speaker:
            kind = kind_of_speech(self.text)
            return answer_kind(kind) if self.speaker.casefold() in AGENTS else kind
        return LineKind.HEADING if _HEADING.fullmatch(self.text) else LineKind.NOTE

    @property
    def is_answer(self) -> bool:
        """Whether an agent states it; a person's words are not read for that."""
        is_theirs = self.written is LineKind.ANSWER or self.speaker.casefold() in AGENTS
        return is_theirs and self.kind is LineKind.ANSWER


_MARKS = {LineKind.QUESTION: _ASKED, LineKind.ORDER: _ORDERED, LineKind.ANSWER: _ANSWERED}
AGENTS = frozenset({"assistant", "agent", "bot", "ai", "chatgpt"})
"""Names of agents in imported conversations."""
OWNERS = frozenset({"owner", "user"})
"""Names of the one who talks to an agent, in its own and in imported conversations."""


def answer_kind(kind: LineKind) -> LineKind:
    """Return the kind of an agent's line, of which the words alone tell *kind*."""
    return LineKind.ANSWER if kind in {LineKind.SAYS, LineKind.ASKS} else kind


def transcript_line(speaker: str, at: datetime, text: str, kind: LineKind) -> str:
    """Return a line of a transcript or a session note, without a list marker."""
    return f"{at:%H:%M} {speaker}{_MARKS.get(kind, '')}: {text}"


def log_line(speaker: str, at: datetime, text: str, *, is_answer: bool = False) -> str:
    """Return a statement for the daily notes, below its conversation's heading, without a list marker."""
    return f"{speaker}{_ANSWERED * is_answer} ({at:%H:%M}): {text}"


def day_heading(day: date) -> str:
    """Return the line above those of *day* in a transcript or a session note; as any heading, it dates the lines."""
    return f"## {day}"


def conversation_heading(until: datetime) -> str:
    """Return the line above a conversation in the daily notes, without its own time."""
    return f"Conversation until {until:%H:%M}"


def left_out_line(messages: int) -> str:
    """Return the line that counts the omitted *messages* of a conversation."""
    return f"… {messages} more messages stand in the conversation"


_HEADING = lazy_pattern(r"Conversation until \d\d:\d\d|… \d{1,9} more messages(?: stand in the conversation)?")


@lru_cache(LINES_KEPT)
def read_line(text: str) -> ParsedLine:
    """Parse *text*, an entry's first line with its continuation; never fails."""
    for form in _FORMS:
        if match := form.match(text):
            time, name = match.groupdict().get("time") or "", match["name"].strip("* ")
            written = next((kind for kind, mark in _MARKS.items() if name.endswith(mark)), None)
            speaker = name.removesuffix(_MARKS[written]) if written is not None else name
            return ParsedLine(text[match.end() :], speaker, time, written)
    if match := _ONLY_TIME.match(text):
        return ParsedLine(text[match.end() :], "", match["time"])
    return ParsedLine(text)


def is_turn(text: str) -> bool:
    """Tell whether *text* begins like a line of a dialogue or of a log: with a speaker, a time of day, or both."""
    line = read_line(text)
    return bool(line.speaker or line.time) and bool(line.text.strip())


def without_time(text: str) -> str:
    """Return an entry's *text* without its time of day, the speaker first: the time carries no meaning."""
    line = read_line(text)
    return f"{line.speaker}: {line.text}" if line.speaker else line.text


def is_evidence(text: str, query: str, kind: LineKind | None = None) -> bool:
    """Tell whether a line of *text* may answer *query*: it states something, and is not the question itself.

    *kind* is the line's if it is known: finding it takes 80 µs.
    """
    line = read_line(text)
    return (line.kind if kind is None else kind) in EVIDENCE and not (
        line.speaker and _words(line.text) == _words(query)
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


_REFERS = frozenset(
    """it its it's he he's she she's they they're him her them one that that's this there those these
    er sie es ihn ihm ihr ihnen dort davon il elle ils elles lui leur él ella ellos ellas lei loro
    он она оно они его её ей им их""".split()  # noqa: SIM905 # reads as text
)
_POSSESSIVES = frozenset("his their sein seine ihre son sa ses leur su sus его её их".split())  # noqa: SIM905
_REFERS_WITHIN, _POSSESSIVE_WITHIN = 4, 2
"""First words of a line among which they speak of the line before; a later one mostly means a word of its own line."""
_OWN_WORDS = 2
"""Words of meaning from which on a line names its subject."""


_CLAUSE_END = lazy_pattern(r"[,;.!?]\s")
"""Ends the clause in which a line names its subject: "Ann called, she can't come" speaks of Ann."""


@lru_cache(LINES_KEPT)
def refers_back(text: str) -> bool:
    """Tell whether a line of *text* may leave its subject to the lines before: "moved it to the car boot"."""
    plain = text.casefold().replace("’", "'")
    begun, words = _TOKEN.findall(_CLAUSE_END.split(plain, 1)[0]), _TOKEN.findall(plain)
    first = begun if _named(begun) >= _OWN_WORDS else words
    if not _REFERS.isdisjoint(first[:_REFERS_WITHIN]) or not _POSSESSIVES.isdisjoint(first[:_POSSESSIVE_WITHIN]):
        return True
    return _named(words) < _OWN_WORDS


_DRAWS_ON = lazy_pattern(
    r"(?:(?:ok|okay|well|right|ah|oh|na|ach|gut|bon|bueno)\W+)?"
    r"(?:so|hang on|hold on|wait|which means|instead|then|therefore|no\W|also|dann|deshalb|stattdessen|drum|alors|donc"
    r"|du coup|entonces|así que|asi que|quindi|allora|então|dus|dan|więc|поэтому|так что|тогда)(?!\w)",
    re.IGNORECASE,
)


def draws_on(text: str) -> bool:
    """Tell whether a line of *text* draws a conclusion from the line before: "so it's the church hall now"."""
    return _DRAWS_ON.match(text) is not None


def _named(words: Sequence[str]) -> int:
    said = (word for word in words if word not in STOP_WORDS and word not in _COURTESIES)
    return sum(not any(map(str.isdigit, word)) for word in said)


# --- kinds

_SENTENCE = lazy_pattern(r"[^.!?…。！？؟\n]*[.!?…。！？؟]*")
"""Runs to the next end mark: each character is read once."""
_QUESTION_MARKS = ("?", "？", "؟")
_STATEMENT_MARKS = (".", "!", "…", "。", "！")
_BROKEN_OFF = ("...", "…")
_REQUEST = lazy_pattern(
    r"(?:(?:hey|hi|hello|ok|okay|so|and|also|please)[\s,]+){0,3}(?:(?:can|could|would|will) you|kannst du|könntest du"
    r"|peux-tu|pourriez|puedes|podrías|puoi|potresti|você pode|можешь|не мог)\b"
    r"(?!\s+(?:recommend|suggest|explain|tell|remember|remind me (?:what"
    r"|where|who|when|which|how)|say|recall|find|look|search|sagen|me dire|decirme))",
    re.IGNORECASE,
)
"""A request has a question mark and states a wish."""
_COURTESIES = frozenset(
    """ok okay k kk yes yep yeah yup no nope sure thanks thank thx ty you cheers great cool nice perfect awesome good
    fine lol haha hahaha hi hello hey hiya yo morning evening afternoon night gn gm bye goodbye see later soon there
    again so much very a lot got it alright right done well wow oh ah hm hmm please sorry np problem welcome how are
    is going doing today all everyone love glad that the for to too and me my i am im its was really talk tomorrow
    sleep dear omg ugh ta tysm ty cya goodnight nvm nevermind brb ttyl idk dunno jk mate pal dude true exactly indeed
    interesting maybe whatever totally absolutely lovely amazing brilliant appreciated yay meh hm aw aww oh ouch
    phew argh uff uf puh ay oops wow anyway lmao rofl yo nah ja nein danke vielen dank bitte hallo gute guten morgen
    abend tag nacht tschüss gut super alles klar bis dann oui non merci beaucoup bonjour salut bonsoir bonne nuit
    soirée journée sí si gracias guapa hola buenos días buenas tardes noches vale adiós hasta mañana luego pronto muchas
    beso besos grazie ciao buongiorno buonasera buonanotte buona notte obrigado obrigada olá bom dia boa noite até
    amanhã tchau beijos à demain bientôt bisous dopo domani presto später спасибо привет да нет ок доброе утро
    хорошо пока""".split()  # noqa: SIM905 # reads as text
)
_CLAUSE = lazy_pattern(r"[,;:–—]\s")
_TELLING_WORDS = 3
"""Number of words from which a clause before a question is a statement: "I saw two; which one?"."""
_LEADS = frozenset(
    "if when as in on at for after before about regarding and but so hey hi hello ok okay".split()  # noqa: SIM905
)
_COURTEOUS = lazy_pattern(
    r"\b(?:will do|no worries|never mind|(?:makes|made) sense|fair enough|good to know|(?:good|nice) one|of course"
    r"|sure thing|my bad|not sure|just kidding|let me think|sounds (?:good|great|fine|nice|perfect|lovely)"
    r"|you(?:['’]re| are)(?: so)? (?:the best|funny|right|welcome)|you rock|well said|(?:i )?appreciate (?:it|that)"
    r"|that(?:['’]s|s| is| was) (?:all|it|right|true|fine|good|great|nice|perfect|quick|funny|kind)"
    r"(?: of you| for (?:now|today|tonight))?"
    r"|bye for now|mille grazie|grazie mille|(?:i(?:['’]m| am) )?off to bed|sleep (?:well|tight)|sweet dreams"
    r"|(?:have a|enjoy your|enjoy the) (?:nice|good|great|lovely)? ?(?:day|evening|night|weekend|afternoon|one)"
    r"|schlaf gut|alles gut|passt(?: so)?|gern geschehen|keine ursache|de rien|de nada|di niente)\b"
)
"""Courtesies of several words, each of which says something in another sentence; for text in lower case."""
_REPORTED = lazy_pattern(
    r"(?:the |my )?(?:user|owner)(?: just)? (?:said|says|say|wrote|replied|answered|responded)(?: with)?\W{0,3}",
    re.IGNORECASE,
)
_MOST_COURTESIES = 8
"""Most words of a message of mere courtesies; a longer one says something."""
_LONGEST_COURTESY = 200
"""Most letters of one, which may be stretched; a pasted word can have millions."""
_WORD = lazy_pattern(r"\w+")
_TOKEN = lazy_pattern(r"[\w']+")
_STRETCHED = lazy_pattern(r"([^\W\d_])\1{2,}")
_LAUGHTER = lazy_pattern(r"(?:ha|he|hi|ja|je|ji|ah|ха|хе|хи|ах){2,9}\w?|k{3,20}|(?:rs){1,9}|w{3,20}|xd+|ㅋ+")
_CJK_COURTESY = frozenset(
    "你好 谢谢 好的 嗯 早 再见 ありがとう はい こんにちは おはよう 안녕 네 감사합니다".split()  # noqa: SIM905
)


def kind_of_speech(text: str) -> LineKind:
    """Return the kind of an utterance *text*; a blank text is small talk."""
    plain = text.strip()
    if is_small_talk(plain):
        return LineKind.SMALL_TALK
    sentences = [part for part in (match[0].strip() for match in _SENTENCE.finditer(plain)) if part]
    telling = [part for part in sentences if _WORD.search(part) and not is_small_talk(part)]
    if telling and all(map(is_question, telling)):
        return LineKind.QUESTION
    return LineKind.ASKS if plain.endswith(_QUESTION_MARKS) else LineKind.SAYS


def is_question(sentence: str) -> bool:
    """Tell whether *sentence* asks for information; a request for an action does not."""
    if _REQUEST.match(sentence):
        return False
    if sentence.endswith(_QUESTION_MARKS):
        return not any(map(_states, _CLAUSE.split(sentence)[:-1]))
    if sentence.endswith(_STATEMENT_MARKS) and not sentence.endswith(_BROKEN_OFF):
        return False  # "Which is why we moved." is not a question
    if asking().match(sentence) or LOOK_UP.fullmatch(sentence):
        return True
    return bool(CJK_QUESTION.search(sentence[-12:]) and not sentence.isascii())


_EMPTY_ANSWER = lazy_pattern(
    r"\b(?:i (?:do not|don['’]t|did not|didn['’]t) (?:know|have|find|see|recall|remember)"
    r"|i (?:could not|couldn['’]t|cannot|can['’]t) (?:find|see|recall)|(?:there is|there['’]s|i have) (?:no|nothing)"
    r"|nothing (?:about|on|clearly)|no (?:notes?|record|information|mention)"
    r"|ich weiß (?:es )?nicht|ich habe (?:dazu )?(?:nichts|keine)|je ne sais pas|no lo sé|no tengo|non lo so|não sei"
    r"|я не знаю)\b",
    re.IGNORECASE,
)
_ANSWER_LEAD = 160
"""Range at the start of an answer, in characters, in which an agent states that it knows nothing."""


def is_empty_answer(text: str) -> bool:
    """Tell whether an agent's answer *text* begins by stating that it knows nothing: it is no evidence of anything."""
    return _EMPTY_ANSWER.search(text[:_ANSWER_LEAD]) is not None


def _states(clause: str) -> bool:
    """Tell whether *clause*, which precedes a question in its sentence, is a statement of its own."""
    words = _WORD.findall(clause.casefold())
    return len(words) >= _TELLING_WORDS and words[0] not in _LEADS and not asking().match(clause.strip())


STICKER = "[sticker]"
"""Line of a message that holds a sticker, beside its emoji."""


def is_small_talk(text: str) -> bool:
    """Tell whether *text* consists of courtesies only, or of a command, which a model may answer, such as "/start"."""
    if text.strip().startswith("/") and text.strip()[1:].isalpha():
        return True
    text = text.replace(STICKER, "")
    words = [match[0] for match in islice(_WORD.finditer(text.casefold()), _MOST_COURTESIES + 1)]
    if len(words) > _MOST_COURTESIES or any(map(_says_something, words)):
        return False
    return all(map(_is_courtesy, words)) or all(map(_is_courtesy, _WORD.findall(_COURTEOUS.sub(" ", text.casefold()))))


def says_nothing(note: str) -> bool:
    """Tell whether *note* only reports courtesies: "User said good night"; an empty one is none."""
    return any(each.isprintable() for each in note.strip()) and is_small_talk(
        _REPORTED.sub("", read_line(note.strip()).text, count=1)
    )


def _says_something(word: str) -> bool:
    """Tell whether *word* is too long for a courtesy, or has a digit."""
    return len(word) > _LONGEST_COURTESY or any(map(str.isdigit, word))


def _is_courtesy(word: str) -> bool:
    """Tell whether *word* is a courtesy, also stretched ("hellooo"), or laughter."""
    forms = {word, _STRETCHED.sub(r"\1", word), _STRETCHED.sub(r"\1\1", word)}
    return not forms.isdisjoint(_COURTESIES) or word in _CJK_COURTESY or _LAUGHTER.fullmatch(word) is not None
