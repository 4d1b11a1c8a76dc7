"""Whether a statement replaces an older one about the same thing: by rule, from the words, values and days of both.

Two signs count, each for the kind of answer that the question asks for. Sentences with different values of one thing
(`text/claims.py`) do at any distance in the results. Lines that share words with each other and with the question, and
both give a value, do among the best results alone, and if the newer one fits nearly as well.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.hits import Hit
from workspaces.memory.text.answer_kind import AnswerKind, asked_kind, holds
from workspaces.memory.text.claim_words import CHANGED, NEW
from workspaces.memory.text.claims import (
    Claim,
    claims_of,
    clauses,
    corrected,
    may_correct,
    sentences_about,
    sentences_in,
    tells_change,
)
from workspaces.memory.text.corrections import corrects
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.facts import SENTENCES_KEPT, FactKind, gives_value
from workspaces.memory.text.languages import is_worded_in_english, small_terms
from workspaces.memory.text.owners import names_other_number
from workspaces.memory.text.question_focus import asks_for_earlier, asks_whether
from workspaces.memory.text.tokens import (
    STOP_WORDS,
    identifiers,
    identifiers_held,
    lower_case,
    query_terms,
    stem,
    terms,
)
from workspaces.memory.text.values import Value, may_give

DEPTH = 12
"""Number of the best results among which shared words are a sign."""
_AS_WELL, _NEARLY = 0.85, 0.6
"""Least relevance of the newer one, as a share of the other's, and if it says that something changed (retrieval.md)."""
SIMILAR_SCORE = 0.7
"""Least relevance of the newer one, as a share of the other's, for that sign."""
_QUOTED = 0.88
"""Relevance of a line that the question repeats with its value; our choice, above that of short questions."""
_SHARED = 2
"""Words that both have in common for that sign, one of them in the question."""
_CLEAR = 0.4
"""Share of the question's words in a sentence from which on it is about the question; our choice."""
_DENIED = 0.5
"""The same for a sentence that denies; our choice."""
NEAR = 0.2
"""The same for a sentence that says that something changed, or what another one denies; our choice."""
_NO_THING = frozenset(
    map(
        stem,
        """new now change changed current currently latest moved move cost costs price pay paid charge charges
        kostet kosten coûte cuesta costa
        time day date hour tag uhrzeit datum jour heure date día hora fecha giorno ora dia""".split(),  # noqa: SIM905
    )
)
"""Words of a question that say nothing of the thing."""
_EMPTY = frozenset(map(stem, STOP_WORDS))
_OWN = lazy_pattern(
    r"\b(?:I|we|my|our|ich|wir|mein\w?|unser\w?|je|nous|mon|ma|mes|notre|yo|mi|mis|nosotr[oa]s|io|noi|mi[oa]|eu|meu|minha"
    r"|ik|wij|mijn|onze|mój|moj[ae]|eu|noi|я|мы|мой|моя|ми|мій)\b|\bj['’]|我|私",
    re.IGNORECASE,
)
"""Words of the person who speaks: an agent's advice and a text that was pasted have others."""
_OWN_WEIGHT = 0.3
"""Addition of such a word to the share of the question's words; our choice."""
_UNCHANGING = frozenset({AnswerKind.NAME, AnswerKind.PLACE})
"""Kinds of which another value is mostly another thing."""
_THING_WORDS = 2
"""Most words that name a thing apart from others of its kind: "the blue bank card"."""
_LINE_WORDS = 24
"""Most words of a line whose places are compared, as the time rises with their square; our choice."""
_CODE_DIGITS = 3
"""Fewest digits of a code: "26 march" is none."""
_WORD = lazy_pattern(r"[^\W\d_][^\W\d_'’-]*(?:['’-][^\W\d_]+)*")
_NAME = lazy_pattern(r"(?<=[^\W_][\s\"'“])(?=[^\W\d_a-zß-öø-ÿ])[^\W\d_][\w'’-]+")
"""A capitalised word after another one."""
_PRONOUN = lazy_pattern(
    r"\b(?:he|she|they|it|his|her|their|its|er|sie|es|ihre?|seine?|il|elle|lui|lei)\b", re.IGNORECASE
)
_OUGHT = lazy_pattern(r"\b(?:should|ought to|soll(?:te|ten|en)?|devrait|debería|dovrebbe)\b", re.IGNORECASE)
_ASKED_THEN = lazy_pattern(
    r",\s+(?:so\s+|and\s+)?(?=(?:what|which|how|who|when|where|why|can|could|should|do|does|is)\b)"
)
"""Begins a question after a statement: "I meet Ann on Monday, what should I ask her?"."""
CORRECTABLE = frozenset({AnswerKind.TIME, AnswerKind.AMOUNT, AnswerKind.CODE})
"""Kinds of values that a later line may correct without a word of the question."""
_GIVEN: Mapping[AnswerKind | None, FactKind] = {AnswerKind.TIME: FactKind.DATE, AnswerKind.AMOUNT: FactKind.NUMBER}
"""Kinds of answers that are values of one kind."""


class Asked:
    """A question, as far as the order of its results depends on it."""

    def __init__(self, question: str, *, names_day: bool = False) -> None:
        """If it *names_day*, it asks for that day, and nothing is replaced for it."""
        self.text, self.names_day = question, names_day
        self.words = frozenset(query_terms(question))
        self.names = identifiers(question)
        self.small = frozenset[str]() if is_worded_in_english(question) else small_terms()
        """Stems of small words that its language may have, besides those of English."""
        self.things = self.words - _NO_THING - self.small or self.words - _NO_THING or self.words
        self.named = frozenset(_key(match[0]) for match in _NAME.finditer(question))
        self.kind = asked_kind(question)
        self.gives_value = gives_value(question)
        self.wants_newest = not (names_day or asks_whether(question)) and self.kind not in _UNCHANGING
        self.wants_earlier = not names_day and asks_for_earlier(question)

    def least_share(self, after: Claim) -> float:
        """Return which share of its words *after* has to hold, if it is to replace another."""
        return NEAR if self.kind is not None and says_change(after) else _CLEAR

    def may_take(self, claim: Claim) -> bool:
        """Tell whether *claim* may give a value that `takes` takes, without reading its values."""
        kind = _GIVEN.get(self.kind)
        return kind is None or may_give(kind, claim.sentence)

    def takes(self, value: Value) -> bool:
        """Tell whether *value* is of the kind that is asked for."""
        if self.kind is AnswerKind.CODE:
            return value.kind is not FactKind.DATE and sum(map(str.isdigit, value.text)) >= _CODE_DIGITS
        return value.kind is _GIVEN.get(self.kind, value.kind)


class Statement:
    """A hit, as far as rules read it."""

    def __init__(self, hit: Hit, place: int, asked: Asked) -> None:
        """*place* is that of the hit in the ranking."""
        self.hit = hit
        self._place, self._asked = place, asked
        self.is_named = bool(asked.names and identifiers_held(asked.names, hit.snippet))
        """It holds an identifier of the question: it is asked for, whatever came after it."""
        self._line = line = read_line(hit.snippet)
        self._is_answer = is_answer = hit.is_answer or line.is_answer
        said = () if is_answer else sentences_in(hit.snippet)
        about = () if is_answer else sentences_about(hit.snippet, asked.words)
        # "not Tuesday, Thursday": no word of the question
        is_correction = len(about) < len(said) and asked.kind in CORRECTABLE and may_correct(hit.snippet)
        self.claims = claims_of(said if is_correction else about)
        whole = claims_of(about, is_whole=True)
        shares = ((each, len(each.held(asked.things)) / len(asked.things)) for each in whole)
        self._about = [(each, share) for each, share in shares if share >= NEAR]
        denied = self._about if len(asked.things) > 1 else ()  # a name alone asks nothing that could be denied
        self.denies = any(share >= _DENIED and each.is_never for each, share in denied)
        self.text = line.text if line.time else hit.snippet  # "guest wifi: tern-77" names no speaker

    @cached_property
    def affirmed(self) -> float:
        """Weight with which it says that what is asked for is or was so; 0 if it does not."""
        return max((_affirmed(each, self._asked, share) for each, share in self._about), default=0.0)

    @cached_property
    def _words(self) -> frozenset[str]:
        said = frozenset(word for word in terms(self.text) if not any(map(str.isdigit, word)))
        return said - _EMPTY - self._asked.small

    def replaces(self, older: "Statement") -> bool:
        """Tell whether it belongs above *older*, which comes before it."""
        if not self._asked.wants_newest or not self._fits_as_well(older):
            return False
        if not (self._gives_other_value(older) or self._is_about_the_same(older)):
            return False
        is_quoted = self._asked.gives_value and older.hit.relevance >= _QUOTED > self.hit.relevance
        is_other = is_quoted or names_other_number(self._asked.text, self.text)
        return not is_other and not self.names_another_thing(older)

    def _fits_as_well(self, older: "Statement") -> bool:
        """Tell whether it is as relevant, or nearly: if a value is asked for and it says that something changed."""
        is_change = self._asked.kind is not None and says_otherwise(self.text)
        return self.hit.score >= (_NEARLY if is_change else _AS_WELL) * older.hit.score

    def names_another_thing(self, older: "Statement") -> bool:
        """Tell whether *older* names what is asked for, and this another thing of its kind."""
        return names_another_thing(older.text, self.text, self._asked)

    def takes_back(self, older: "Statement") -> bool:
        """Tell whether it, the line right below *older*, is by the same speaker and has another value for one of it."""
        return self._line.speaker == older._line.speaker and corrects(self._line.text, older._line.text)

    def corrects(self, older: "Statement") -> bool:
        """Tell whether it names the value of *older* that is asked for, and gives another in its place."""
        return bool(self._correcting) and any(
            self._asks(each, before)
            for after in self._correcting
            for before in older._giving
            for each in corrected(before, after, self._context)
        )

    @cached_property
    def _giving(self) -> Sequence[Claim]:
        """Its claims that may give a value that is asked for, if that is of a kind that lines correct."""
        is_correctable = self._asked.kind in CORRECTABLE
        return [each for each in self.claims if is_correctable and self._asked.may_take(each)]

    @cached_property
    def _correcting(self) -> Sequence[Claim]:
        return [each for each in self._giving if each.may_correct]

    @cached_property
    def _context(self) -> frozenset[str]:
        """Stems of the line before it, to which it may leave its subject."""
        return frozenset(terms(self.hit.before))

    def _asks(self, value: Value, claim: Claim) -> bool:
        """Tell whether *value* of *claim* is asked for: of several numbers, the one whose noun the question names."""
        if self._asked.kind is AnswerKind.CODE:
            return value.kind is FactKind.IDENTIFIER
        is_only = sum(each.kind is value.kind for each in claim.values) == 1
        return self._asked.takes(value) and (is_only or value.head in self._asked.words)

    def _gives_other_value(self, older: "Statement") -> bool:
        return bool(self._about_giving) and any(
            _is_other_value(after, before, self._asked)
            for before, clear in older._about_giving
            for after, shared in self._about_giving
            if clear >= _CLEAR and shared >= self._asked.least_share(after)
            if ought(before.sentence) <= ought(after.sentence)
        )

    @cached_property
    def _about_giving(self) -> Sequence[tuple[Claim, float]]:
        return [(each, share) for each, share in self._about if self._asked.may_take(each)]

    def _is_about_the_same(self, older: "Statement") -> bool:
        if self._is_answer or max(self._place, older._place) >= DEPTH:
            return False
        days = self.hit.date, older.hit.date
        if days[0] is None or days[1] is None or days[0] <= days[1]:
            return False
        if self.hit.score < SIMILAR_SCORE * older.hit.score:
            return False
        shared = self._words & older._words
        names_all = self._asked.things & older._words <= self._words or says_otherwise(self.text)
        is_update = self._asked.kind in CORRECTABLE and says_otherwise(self.text)
        is_named = len(shared) >= _SHARED or (is_update and bool(shared & self._asked.things))
        is_one_thing = is_named and bool(shared & self._asked.words) and names_all
        if not is_one_thing or not self._holds_answer:
            return False
        return self._gives_value and older._gives_value and ought(older.text) <= ought(self.text)

    @cached_property
    def _holds_answer(self) -> bool:
        """Whether it holds the kind of answer that is asked for, or none is."""
        return self._asked.kind is None or holds(self._asked.kind, self.text, self._asked.text)

    @cached_property
    def _gives_value(self) -> bool:
        return gives_value(self.text)


def names_another_thing(before: str, after: str, asked: Asked) -> bool:
    """Tell whether *after* has another word at the place of one of *before* that is asked for, or lacks a name.

    "The bus to Linz leaves at 10" is no news of the bus to Graz, nor "Ben's room costs 400" of what Anna pays; "she
    wants 400" may be. If *after* says that something changed, only another name in the same place counts: "Mia comes a
    day later" is news of her visit.
    """
    old, new = _spoken(before), _spoken(after)
    is_change = says_otherwise(after)
    keys = [*map(_key, old)], [*map(_key, new)]
    lacks_name = not asked.named.intersection(keys[0]) <= set(keys[1])
    if lacks_name and not is_change and _PRONOUN.search(after) is None:
        return True
    if max(len(old), len(new)) > _LINE_WORDS:
        return False
    for operation, begin, end, start, stop in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        is_short = operation == "replace" and max(end - begin, stop - start) <= _THING_WORDS
        if (
            not is_short
            or asked.things.isdisjoint(keys[0][begin:end])
            or asked.things.intersection(keys[1][start:stop])
        ):
            continue
        if not is_change or (old[begin][0].isupper() and new[start][0].isupper()):
            return True
    return False


@lru_cache(SENTENCES_KEPT)
def _spoken(text: str) -> tuple[str, ...]:
    """Return the words of *text* that are neither numbers nor function words."""
    words = (match[0] for match in _WORD.finditer(text))
    return tuple(word for word in words if word.casefold() not in STOP_WORDS)


@lru_cache(1_024)
def _key(word: str) -> str:
    return stem(word.casefold().removesuffix("'s").removesuffix("’s"))


def says_change(claim: Claim) -> bool:
    """Tell whether *claim* says that something is different from before, by more than the word "new"."""
    return claim.changes and says_otherwise(claim.sentence)


@lru_cache(SENTENCES_KEPT)
def says_otherwise(text: str) -> bool:
    """Tell whether *text* has a word of change besides "new"."""
    low = lower_case(text)
    rest = NEW.sub(" ", low)
    return tells_change(text) if rest == low else CHANGED.search(rest) is not None


@lru_cache(SENTENCES_KEPT)
def ought(text: str) -> bool:
    """Tell whether *text* says how something should be: how it is does not replace that. A question does not."""
    return _OUGHT.search(_ASKED_THEN.split(text)[0]) is not None


def _affirmed(claim: Claim, asked: Asked, share: float) -> float:
    """Return how far *claim*, which has *share* of what is asked, says that it is or was so; 0 if it denies that.

    A sentence may affirm one clause and deny another: "I enrolled in a course, but I'm not sure that it helps".
    """
    told = [each for each in clauses(claim) if not each.denies] if claim.denies else [claim]
    if not any(each.words & asked.things for each in told):
        return 0.0
    return share + _OWN_WEIGHT * any(_OWN.search(each.sentence) for each in told)


def _is_other_value(after: Claim, before: Claim, asked: Asked) -> bool:
    """Return whether both claims give a value of one kind, and not the same; without a word of change: of one unit."""
    for new in filter(asked.takes, after.values):
        for old in before.values:
            is_one_unit = new.head == old.head and bool(new.head)
            is_asked = {new.head, old.head} <= asked.words | {""}
            if new.kind is old.kind and new.normal != old.normal:
                rest = asked.things - {new.head}  # "the alarm code": another code is none of it
                is_code = asked.kind is AnswerKind.CODE and not (rest and rest.isdisjoint(before.words & after.words))
                if is_one_unit and (new.kind is FactKind.NUMBER or is_code):
                    return True
                if after.changes and (is_one_unit or is_asked or new.kind in {FactKind.DATE, FactKind.NUMBER}):
                    return True
    return False
