"""Reads a person's intent without a language model: to have something noted, to ask, or to say hello."""

import re
from collections.abc import Sequence

from msgspec import Struct

from gateway.agent.models.off_record import withheld_by
from gateway.agent.models.offline_languages import is_yes, ordered_note, topic_of_own_words, topic_to_forget
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dialogue import is_question, is_small_talk


class Intent(Struct, frozen=True):
    """The action that a message asks for; a message may hold a note and a question."""

    note: str = ""
    """The text to write down, word for word."""
    query: str = ""
    """The text to search for."""
    reminder: str = ""
    """The text of which the owner is to be reminded; its time is in it."""
    cancels: bool = False
    """An order to cancel a reminder: which one, only its number tells."""
    cancelled_job: int = 0
    """The number of the job to cancel, if that is named."""
    lists_jobs: bool = False
    """A question for the reminders and jobs that are scheduled."""
    wants_help: bool = False
    """A greeting, or a question about the responder itself."""
    is_thanks: bool = False
    lacks_note: bool = False
    """A request to remember something without saying it."""
    forgets: str = ""
    """The text to forget."""
    withholds: bool = False
    """An order to keep something out of the notes."""
    asks_about_me: bool = False
    """A question for all that is known of the asker."""
    asks_own_words: bool = False
    """A question for what was said, without a topic."""


_MENTION = lazy_pattern(r"^\s*@\w+[\s,:]*")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_COURTESY = (
    r"(?:(?:hey|hi|hello|ok|okay|well|so|also|and|oh|please|pls|kindly|just)\b[\s,!.:]*"
    r"|(?:can|could|would|will) you\b[\s,]*"
    r"|(?:i want you to|i(?:['’]d| would) like you to)\s+)*"
)
_VERB = r"remember|memori[sz]e|(?:keep|bear) in mind|(?:do not|don['’]?t|never) (?:let me )?forget|write down|jot down"
_LOOSE_VERB = (
    r"note(?: down| to self)?|(?:make|take) (?:a )?note(?: of)?|save|store|record"
    r"|(?:add|put|save|store|record|write)(?: (?:this|that|it))?(?: down)? (?:to|in|into) (?:my |your |the )?"
    r"(?:memory|notes?)"
)
_LINK = r"(?:\s*[:,–—-]+\s*(?:that\s+)?|\s+that\b[\s:,]*|\s+(?:this|it|the following)\s*(?:[:,.!]+\s*|$)|\s*[.!]*$)"
_RECALL = r"(?:when|what|where|who|whom|whose|which|why|how|if|whether|anything|any|me)\b"
_LINKED_ORDER = lazy_pattern(rf"{_COURTESY}(?P<verb>{_VERB}|{_LOOSE_VERB}){_LINK}", re.IGNORECASE)
"""An order to note the text after "that", "this" or a colon."""
_BARE_ORDER = lazy_pattern(rf"{_COURTESY}(?P<verb>{_VERB})\s+(?!{_RECALL})", re.IGNORECASE)
"""An order right before the fact; "remember when we met" is not one."""
_AFTERTHOUGHT = lazy_pattern(
    r"(?:(?<!\s)\s++|(?<![\s,;–—-]))[,;–—-]++\s*+(?:please\s++)?(?:(?:remember|note|don['’]?t forget) (?:this|that|it)"
    r"|don['’]?t let me forget(?: (?:this|that|it))?)[\s.!]*+$",
    re.IGNORECASE,
)
"""Begins where a run of spaces or dashes begins: tried from within each run it would be quadratic."""
_POLITE = lazy_pattern(r"\b(?:can|could|would|will) you\b", re.IGNORECASE)
_POINTS_BACK = lazy_pattern(r"(?:it|its|they|their|he|his|she|her|this|that|these|those|there)\b", re.IGNORECASE)
_CLOSING = lazy_pattern(
    r"(?:(?:thanks|thank you|thx|ty|ta|cheers|please|ok|okay|great|cool|perfect|got it|never mind|danke|vielen dank"
    r"|merci|gracias|muchas gracias|grazie|obrigad[oa]|dank je(?: wel)?|bedankt|dzięk(?:i|uję)|mulțumesc|спасибо"
    r"|дякую|谢谢|ありがとう)(?: a lot| so much| very much| schön| dir| beaucoup| mille)?[\s,.!]*)+"
    r"|(?:thanks|thank you|thx|ty|cheers|danke|merci|gracias|grazie|obrigad[oa]|bedankt|dzięk(?:i|uję)|mulțumesc"
    r"|спасибо|дякую)[\s,]+\w+[\s.!]*",
    re.IGNORECASE,
)
_GREETING = lazy_pattern(
    r"(?:(?:hi|hello|hey|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)|hola|hallo|salut|привет|start)"
    r"(?: (?:there|again|everyone|all|bot|agent|strandline))?[\s,.!]*)+",
    re.IGNORECASE,
)
_HELP = lazy_pattern(
    r"(?:(?:hi|hello|hey)[\s,.!]+)?(?:help(?: me)?|what (?:can|do) you do|what are you|who are you"
    r"|how do(?:es)? (?:you|this|it) work|are you (?:there|an? (?:ai|bot|language model|llm)))[\s?!.]*",
    re.IGNORECASE,
)
_LISTS_JOBS = lazy_pattern(
    r"(?:(?:what|which|list|show|show me|do i have|are there)(?: are)?(?: all)?(?: my| the| any)?(?: scheduled| set)? "
    r"(?:reminders|jobs|alarms)(?: do i have| have i set| are (?:set|scheduled|there))?|what(?: is|['’]s) scheduled"
    r"|welche erinnerungen (?:habe ich|gibt es)|(?:zeig|zeige)(?: mir)?(?: alle| meine) erinnerungen"
    r"|¿?\s?(?:qué|que|cuáles son mis) (?:recordatorios|alarmas)(?: (?:tengo|hay))?|quels? rappels (?:ai-je|j['’]ai)"
    r"|(?:che|quali) promemoria (?:ho|ci sono)|(?:que|quais) lembretes (?:eu )?(?:tenho|há)"
    r"|welke herinneringen (?:heb ik|zijn er)|jakie mam przypomnienia|ce mementouri am|какие у меня напоминания"
    r"|які у мене нагадування|我有(?:什么|哪些)提醒)[\s?!.？]*",
    re.IGNORECASE,
)
_CANCELS_JOB = lazy_pattern(
    r"(?:please )?(?:cancel|delete|remove|stop|lösche|streiche) (?:the )?(?:job|reminder|erinnerung) "
    r"(?:number |no\. |nr\. |#)?(?P<number>\d{1,6})(?: please)?[\s.!]*",
    re.IGNORECASE,
)
_FOLLOW_UP = lazy_pattern(r"(?:and|but|what about|how about|so|then|or)\b", re.IGNORECASE)
_PRONOUN = lazy_pattern(
    r"\b(?:it|its|that|this|those|these|they|them|their|he|him|his|she|her|then|one"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )there(?!['’]s\b| (?:is|are|was|were)\b))\b",
    re.IGNORECASE,
)
"""Words for something named before; in "is there space?" the "there" names nothing."""
_NAMES_ITS_THING = lazy_pattern(
    r"(?:whose|which|what)\s+\w+\s+(?:is|are|was|were)\s+(?:it|this|that|these|those|they)\b", re.IGNORECASE
)
"""The pronoun stands for the noun before it: "whose twins are those again?"."""
_ABOUT_ME = lazy_pattern(
    r"(?:what (?:do you|have you got|all do you) (?:know|remember|noted?|on)(?: about)? me"
    r"|was weißt du (?:alles )?über mich|que sais-tu (?:de|sur) moi|¿?\s?qué sabes (?:de|sobre) mí|che cosa sai di me"
    r"|cosa sai di me|o que (?:é que )?sabes? (?:de|sobre) mim|wat weet je over mij|co o mnie wiesz|ce știi despre mine"
    r"|что ты (?:обо мне знаешь|знаешь обо мне)|що ти (?:про мене знаєш|знаєш про мене)"
    r"|你(?:知道|了解)我(?:什么|的什么)|私について何を知って(?:いる|る))[\s?!.？]*",
    re.IGNORECASE,
)
_QUESTION_MARKS = ("?", "？")
_FEW_WORDS = 2
"""A question with at most this many content words and a pronoun refers to the one before it."""
_TELLING_WORDS, _TELLING_CHARS = 3, 4
_CJK = lazy_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]")
_QUERY_WORDS = 16
"""Longest tail, in words, that a follow-up question takes over."""

_EMPTY_WORDS = frozenset(
    """a about am an and any anything are as at be been but by can could did do does for from had has have he her him
    his how i if in into is it its just know let like me mention mine much my no not now of off ok on one or our out
    over please remember said say she should so some tell than that the their them then there these they this those to
    told up us was we were what when where which who whom whose why will with would you your""".split()  # noqa: SIM905 # reads as text
)


def read_intent(said: Sequence[str], *, was_offered: bool = False) -> Intent:
    """Return the intent of the last of the messages *said* by people, oldest first.

    *was_offered*: the answer to the message before offered to note it.
    """
    quoted, text = _own_words(said[-1])
    text = _MENTION.sub("", text).strip()
    before = said[:-1]
    if was_offered and is_yes(text) and (offered := _last_statement(before)):
        return Intent(note=offered)
    if _CLOSING.fullmatch(text):
        return Intent(is_thanks=True)
    if is_small_talk(text) or _GREETING.fullmatch(text) or _HELP.fullmatch(text):
        return Intent(wants_help=True)
    noted = _note_intent(text, quoted, before)
    return noted if noted is not None else _question_intent(text, quoted, before)


def _question_intent(text: str, quoted: str, before: Sequence[str]) -> Intent:
    """Return the intent of a message that orders no note."""
    if withheld_by(text):
        return Intent(withholds=True)
    if _ABOUT_ME.fullmatch(text):
        return Intent(asks_about_me=True)
    if topic := topic_to_forget(text):
        return Intent(forgets=topic)
    topic_asked = topic_of_own_words(text)
    if topic_asked == "":
        return Intent(asks_own_words=True)
    return Intent(query=_query(topic_asked or text, quoted, before))


def job_intent(text: str) -> Intent | None:
    """Return the intent of a question for the scheduled jobs, or of an order to cancel one by its number."""
    text = _MENTION.sub("", text).strip()
    if found := _CANCELS_JOB.fullmatch(text):
        return Intent(cancels=True, cancelled_job=int(found["number"]))
    return Intent(lists_jobs=True) if _LISTS_JOBS.fullmatch(text) else None


def only_forgets(text: str) -> bool:
    """Tell whether *text* is an order to forget something, and says nothing else."""
    order = _MENTION.sub("", text).strip()
    return bool(topic_to_forget(order)) and len(_SENTENCE_END.split(order)) == 1 and ", " not in order


def orders_note(text: str) -> bool:
    """Tell whether *text* orders something that it says to be remembered, and asks nothing."""
    return bool(ordered_text(text))


def ordered_text(text: str) -> str:
    """Return what *text* says and orders to be remembered, in its words; empty if nothing, or if it asks something."""
    noted = _note_intent(_MENTION.sub("", text).strip(), "", ())
    return "" if noted is None or noted.query else noted.note


def is_statement(text: str) -> bool:
    """Tell whether *text* tells something: in Chinese and Japanese four characters are enough, else three words."""
    return (
        not is_question(text.strip())
        and not is_small_talk(text)
        and (len(text.split()) >= _TELLING_WORDS or (len(text) >= _TELLING_CHARS and bool(_CJK.search(text))))
    )


def content_words(text: str) -> list[str]:
    """Return the words of *text* that carry its subject, in lower case, each once."""
    words = re.findall(r"\w+(?:[-'’.:/_]\w+)*", text.lower())
    return list(dict.fromkeys(word for word in words if word not in _EMPTY_WORDS))


def _own_words(text: str) -> tuple[str, str]:
    """Split a message into the lines that it quotes and its own."""
    lines = text.splitlines()
    quoted = [line[2:] for line in lines if line.startswith("> ")]
    own = [line for line in lines if not line.startswith(">")]
    if quoted and own and own[0].startswith("(quoting "):
        own = own[1:]
    return "\n".join(quoted), "\n".join(own)


# --- notes


def _note_intent(text: str, quoted: str, before: Sequence[str]) -> Intent | None:
    is_first = True
    for start, end in _sentences(text):
        cue = _LINKED_ORDER.match(text, start) or _BARE_ORDER.match(text, start)
        if cue is None and not text[start:end].endswith(_QUESTION_MARKS):
            if fact := ordered_note(text, start, is_first=is_first):
                return Intent(note=fact)
            is_first = False
        if cue is None or (text[start:end].endswith("?") and not _POLITE.search(cue.group())):
            continue
        fact, question = _fact_and_question(text, cue)
        lead = [text[a:b] for a, b in _sentences(text) if b <= start and not _is_filler(text[a:b])]
        note = _whole(fact, " ".join(lead) or quoted, before)
        return Intent(note=note, query=_query(question, "", before) if question else "", lacks_note=not note)
    said_first = _AFTERTHOUGHT.sub("", text)
    return Intent(note=said_first) if said_first != text else None


def _fact_and_question(text: str, cue: re.Match[str]) -> tuple[str, str]:
    """Split the text after the cue into the fact to note and a question at the end."""
    begin = cue.start("verb") if re.match(r"to\s", text[cue.end() :]) else cue.end()
    facts: list[tuple[int, int]] = []
    questions: list[tuple[int, int]] = []
    for number, (start, end) in enumerate(_sentences(text[begin:])):
        sentence = text[begin + start : begin + end]
        if _CLOSING.fullmatch(sentence):
            continue
        is_question = sentence.rstrip().endswith("?") and number > 0
        (questions if is_question else facts).append((begin + start, begin + end))
    fact = text[facts[0][0] : facts[-1][1]].strip() if facts else ""
    return fact.rstrip("?").rstrip(), " ".join(text[a:b] for a, b in questions)


def _whole(fact: str, lead: str, before: Sequence[str]) -> str:
    """Complete a fact that points back ("remember that", "it moved") with the text before it."""
    if not re.sub(r"(?:this|that|it|please)\b|\W", "", fact, flags=re.IGNORECASE):
        return lead or _last_statement(before)
    return f"{lead} {fact}" if lead and _POINTS_BACK.match(fact) else fact


def _last_statement(before: Sequence[str]) -> str:
    last = before[-1].strip() if before else ""
    return "" if last.endswith("?") or _is_filler(last) else last


def _is_filler(text: str) -> bool:
    return bool(_GREETING.fullmatch(text.strip()) or _CLOSING.fullmatch(text.strip()))


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return where each sentence or line of *text* begins and ends."""
    spans, start = [], 0
    for gap in _SENTENCE_END.finditer(text):
        spans.append((start, gap.start()))
        start = gap.end()
    spans.append((start, len(text)))
    return [(a, b) for a, b in spans if text[a:b].strip()]


# --- questions


def _query(text: str, quoted: str, before: Sequence[str]) -> str:
    """Return the text to search for: the question, with the words of the one that it refers to."""
    words = content_words(text)
    points = _PRONOUN.search(text) and not _NAMES_ITS_THING.match(text)
    leans = (len(words) < _FEW_WORDS and _FOLLOW_UP.match(text)) or (len(words) <= _FEW_WORDS and points)
    if quoted:
        return " ".join([text, *content_words(quoted)[:_QUERY_WORDS]])
    if not leans or not before:
        return text
    earlier = read_intent(before)
    inherited = [word for word in content_words(earlier.query or earlier.note) if word not in words]
    return " ".join([text, *inherited[-_QUERY_WORDS:]]) if inherited else text
