"""Gate of automatic recall: reads the message, never the hits.

The share of a hit's words says how near it is, not whether somebody wanted it: small talk is near to small talk.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dialogue import is_question, is_small_talk
from workspaces.memory.text.list_questions import begins_list
from workspaces.memory.text.question_forms import loosely_asking
from workspaces.memory.text.tokens import STOP_WORDS, identifiers

FEWEST_WORDS = 2
"""Informative words from which a message is about something; one is enough in a question about somebody, and in one for
a time, a place, a person or an amount.
"""
LONGEST_READ = 2_000
"""Characters of a message that are read, as many as a search takes."""

_SMALL_TALK = tomllib.loads(Path(__file__).with_name("small_talk.toml").read_text("utf-8"))
_EMPTY = STOP_WORDS.union(*(_SMALL_TALK[kind].split() for kind in ("english", "others")))
_CALENDAR = frozenset(_SMALL_TALK["calendar"].split())
"""Written like names, and as often in small talk as not."""
_WORD = lazy_pattern(r"[^\W_]+(?:['’\-.][^\W_]+)*")
_UNSPACED = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_TWO_CHARACTERS = 2
"""Length of a usual word in scripts without spaces."""
_UNSPACED_EMPTY = lazy_pattern(
    r"你好|您好|谢谢|今天|天气|怎么样|什么|怎么|吗|呢|吧|了|我|你|您|他|她|是|的|不|很|好|在|有|想|说|就|也|都|和|啊"
    r"|こんにちは|おはよう|ありがとう|ございます|元気|今日|天気|です|ます|ですか|でした|ました|何|どう|は|が|を|に|の|で|と|も|ね|よ|か"
)
_SENTENCE = lazy_pattern(r"[^.!?…。！？؟\n]*(?:[.!?…。！？؟]+(?=\S)[^.!?…。！？؟\s]*[^.!?…。！？؟\n]*)*[.!?…。！？؟]*")
_LOOKED_UP = lazy_pattern(
    r"\b(?:numbers?|nr|codes?|passwords?|pin|iban|e-?mail|address(?:es)?|phone|mobile|link|url|reference|ref|order no"
    r"|policy|serial|recipe|opening hours|wifi|wi-fi|size|dose|dosage|price|cost|plate|booking|account|version|deadline"
    r"|due date|confirmation|membership|contract|birthday of|name of|combo|combination|confirmation"
    r"|(?:employee|member|staff|customer|account|phone|room|model|serial|invoice|case|flight|part) no|passwort|wlan"
    r"|nummer|adresse|telefon\w*|rezept"
    r"|r[ée]f|plaque|suivi|größe|preis|kennzeichen|konto\w*|vertrag\w*|numéro|mot de passe|contrat|recette|taille|prix"
    r"|número"
    r"|código|contraseña|contrato|matrícula|póliza|dirección|teléfono|receta|talla|precio|numero|codice|targa|contratto"
    r"|indirizzo|telefono|ricetta|taglia|prezzo|senha|apólice|endereço|telefone|receita"
    r"|номер|код|пароль|адрес|телефон|рецепт)\b",
    re.IGNORECASE,
)
"""Things that people look up by naming them: "Paula's phone number"."""
_FACT = lazy_pattern(
    r"(?:(?:to|from|for|with|by|at|in|on|of|since|until|till|about) )?"
    r"(?:when|where|whom?|whose|which|how (?:much|many|old|far|long|often)|what (?:time|day|date|kind|size|happened)"
    r"|what (?:is|are|was|were|does|do|did) (?:the|my|our|his|her|their)"
    r"|what (?:does|did) (?!(?:it|that|this|you)\b)\w+"
    r"|wann|wo|wer|wie ?viele?|quand|où|qui|combien|comment s['’]appelle|cuándo|dónde|quién|cuánt[oa]s?|a qué hora"
    r"|quando|dove|chi"
    r"|quant[ie]|onde|quem|quant[oa]s|a que horas|waar|wanneer|hoeveel|gdzie|kiedy|ile|когда|где|кто"
    r"|сколько|коли|хто|скільки)(?:['’]s|s)?\b",
    re.IGNORECASE,
)
_NAMED_OF = lazy_pattern(
    r"\w (?:of|for|del?|d[oau]|des|della?|di|von|vom|van|für|para|pour|per) (?:(?:the|la|el|le|der|die|das|den) )?\w",
    re.IGNORECASE,
)
"""Joins a thing with what it belongs to."""
_POSSESSIVE = lazy_pattern(
    r"\b(?!(?:it|that|what|who|he|she|there|here|let|how|where|today|tonight)['’]s)\w+['’]s\s+\w+"
    r"|\b\w+ of (?:my|our|the|his|her|their)\b",
    re.IGNORECASE,
)
_VERB = lazy_pattern(
    r"\b(?:is|are|was|were|am|be|been|has|have|had|do|does|did|will|would|can|could|should|may|might|must|get|got|need"
    r"|want"
    r"|went|made|did|took|gave|ist|sind|war|hat|habe|hatte|est|sont|es|son|está|è|sono)\b|n['’]t\b|['’](?:m|re|ve|ll"
    r"|d)\b",
    re.IGNORECASE,
)
_ASKED_LAST = lazy_pattern(
    r",\s+(?:so |and |but )?(?:who(?! (?:cares|knows))|where|when|which|how (?:much|many|old|long|far)"
    r"|what(?! an?\b))\b(?! (?:i|we|he|she|it)\b)"
    r"|,\s*(?:so |and |but )?(?:how|what) (?:do|can|did|should) (?:i|we)\b"
    r"|,\s*(?:und |aber )?(?:was|wann|wo|wer|wie) (?:muss|soll|kann|ist|war|kostet|kommt|darf|geht|heißt)\b"
    r"|,\s*(?:y |pero )?(?:cu[aá]l|cu[aá]nto|qui[eé]n|c[oó]mo|d[oó]nde|cu[aá]ndo) (?:es|era|fue|son|eran|está|estaba"
    r"|cuesta)\b"
    r"|,\s*(?:et |mais )?(?:c['’]est (?:quand|où|combien|qui|quoi)|quand est|où est|combien)\b"
    r"|,\s*(?:e |ma )?(?:qual|quant[oi]|chi|dov|quand|com)['’]?\w? (?:è|era|erano|sono|costa)\b",
    re.IGNORECASE,
)
"""Begins a question after a statement, without a mark: "the vet is leaving, who comes next"."""
_NEEDED = lazy_pattern(
    r"^(?:(?:i|we|they|ich|wir|je|on|eu) )?(?:need|want|brauche?n?|necesit\w+|(?:me|nos|mi|ci) (?:piden|chiedono|serve)"
    r"|j['’]ai besoin|avons besoin|preciso|nodig|potrzebuj\w+)\b"
    r"|\b(?:wants?|needs?|asking for|asks? for) (?:an?|the|my|our)\b|\basking$",
    re.IGNORECASE,
)
"""Somebody wants a thing which people look up: "need the serial number of the boiler"."""
_OF_WHOM = lazy_pattern(
    r"(?:(?:the|my|our|la|le|les|el|il|lo|der|die|das|o|a) )?(?:\w+ ){0,2}\w+ (?:for|of|that|which|i got|we got"
    r"|they gave"
    r"|d[eu]|des|del|della|di|do|da|von|vom|für|pour|para|per|qu['’]?on|que|dans|sur|chez) ",
    re.IGNORECASE,
)
"""Begins with a thing and what tells it apart: "phone for the mother of the girl who fell"."""
_LONGEST_NEED = 14
"""In words."""
_LONGEST_LOOKUP = 8
"""In words."""
_LOOSELY_ASKED = 3
"""Fewest words of a question that only its first words tell."""
_WISH = lazy_pattern(
    r"(?:(?:and|so|well|ok|okay|oh|wow|haha+|aw+|hey|hi|hello)[\s,!]+){0,3}"
    r"(?:happy|merry|good|great|nice|lovely|congrat\w*|enjoy|have (?:a|an|fun|the)|sleep|sweet dreams"
    r"|take care|take it easy"
    r"|get (?:well|some)|welcome|glad|thanks?|thx|much appreciated|see (?:you|ya)|talk (?:to|soon|later)"
    r"|catch (?:you|ya)"
    r"|i (?:love|hope|wish|miss|appreciate) (?:you|it|that|this)|love (?:you|it|that|this)|bless|cheers"
    r"|frohe\w*|schöne\w*"
    r"|viel (?:spaß|glück)|gute\w*|bonne|bon|joyeux|joyeuse|feliz|buen\w*|buon\w*|с днём|спокойной)\b",
    re.IGNORECASE,
)
"""A sentence that wishes, thanks or praises; a question is none."""
_ORDER = lazy_pattern(
    r"(?:(?:hey|hi|hello|ok|okay|so|and|also|please|can you|could you|would you|will you)[\s,]+){0,4}"
    r"(?:(?:tell|remind|show|give|send) (?:me|us)\b|(?:do you |can you )?(?:remember|recall)\b|look up\b"
    r"|find\b|search\b|list\b"
    r"|summari[sz]e\b|(?:rate|rank|count|compare) (?:all|the|our)\b|what about\b|how about\b|any news\b|erinner\w*"
    r"|erzähl\w*|sag mir|zeig mir|such\w*"
    r"|rappelle|dis-moi"
    r"|montre|cherche|donne-moi|recu[ée]rda\w*|dime|dame|p[áa]same|m[áa]ndame|ens[ée][ñn]ame|busca|ricorda\w*|dimmi"
    r"|dammi|mandami"
    r"|cerca|lembra\w*|me (?:diz|passa|manda|dá)\b|alles,? (?:was|wat)\b|tout ce qu\w*|todo lo q\w*"
    r"|tutt[oi] quell[oi] ch\w*"
    r"|tudo o q\w*|wszystko,? co\b|напомни|расскажи|скажи|найди)",
    re.IGNORECASE,
)
_YOU = lazy_pattern(
    r"\b(?:you|your|yours|yourself|u|ur|ya|du|dir|dich|dein\w*|tu|toi|ton|ta|vous|votre|tú|usted|ti|te"
    r"|tuo|tua|você|ты|тебя|тебе|вы"
    r"|jij|je|jou)\b",
    re.IGNORECASE,
)
_FRENCH = lazy_pattern(r"\b(?:le|la|les|chez|c|est|quoi|koi|quel\w*)\b", re.IGNORECASE)
"""Words of French, in which "du" and "je" do not speak to anybody, as they do in German and Dutch."""
_OTHERS = lazy_pattern(
    r"\b(?:i|i'(?:ve|d|ll|m)|me|my|mine|we|us|our|ours|he|him|his|she|her|hers|they|them|their|ich|mich"
    r"|mir|mein\w*|wir|uns\w*|mon|ma|mes|j['’]\w+"
    r"|je (?:dois|peux|veux|vais|suis|fais|mets|prends|ne|me|la?|les?)|nous|notre|nos|mi|mis|nuestr\w+|mio|mia|noi|meu"
    r"|minha|nosso|мой|моя|моё|мои|мне|меня|мы|нас|наш\w*)\b",
    re.IGNORECASE,
)
_KNOWING = lazy_pattern(
    r"\b(?:remember|recall|know|tell|told|say|said|mention\w*|suggest\w*|recommend\w*|wr[io]t\w+"
    r"|note[ds]?|find|found|save[ds]?"
    r"|promise\w*|weißt|erinner\w*|gesagt|sais|rappel\w*|sabes|recuerd\w*|dijiste|sai|ricord\w*|sabe|lembra\w*|знаешь"
    r"|помни\w*)\b",
    re.IGNORECASE,
)
"""What an agent is asked to know: "do you know where the key is?" asks about the key."""


def calls_for_memories(message: str) -> bool:
    """Tell whether *message* has at least two informative words, and asks or names something; small talk does not."""
    text = message[:LONGEST_READ]
    if identifiers(text):
        return True
    sentences = [each for each in _sentences(text) if not _is_courtesy(each)]
    if not any(_asks(each) or _named(each) or _looks_up(each) for each in sentences):
        return False
    asks_fact = any(
        _is_asked_loosely(each) or (_asks(each) and (_is_about_somebody(each) or _FACT.match(each)))
        for each in sentences
    )
    return sum(map(_informative, sentences)) >= (1 if asks_fact else FEWEST_WORDS)


def _sentences(text: str) -> Iterator[str]:
    return (part for match in _SENTENCE.finditer(text) if (part := match[0].strip("¿¡ \t\r\n")))


def _is_courtesy(sentence: str) -> bool:
    if is_small_talk(sentence):
        return True
    if is_question(sentence) or _ORDER.match(sentence):
        return _is_about_you(sentence)
    return bool(_WISH.match(sentence))


def _is_about_you(sentence: str) -> bool:
    """Tell whether a question is about the agent alone: "how are you?", "do you like music?"."""
    is_about_all = _FACT.match(sentence) and _informative(sentence) >= FEWEST_WORDS  # "when can you park there"
    named = {match[0].casefold() for match in _YOU.finditer(sentence)}
    if _FRENCH.search(sentence):
        named -= {"du", "je"}
    return bool(named) and not (is_about_all or _is_about_somebody(sentence))


def _is_about_somebody(sentence: str) -> bool:
    """Tell whether it speaks of a person other than the agent, or of something that the agent is to know."""
    return bool(_named(sentence) or _OTHERS.search(sentence) or _KNOWING.search(sentence))


def _asks(sentence: str) -> bool:
    whole = sentence.rstrip(".…") if sentence.endswith(("..", "…")) else sentence
    asks = is_question(whole) or whole.endswith(("?", "？", "؟")) or _ASKED_LAST.search(whole)
    return bool(asks or _is_asked_loosely(whole) or _ORDER.match(whole) or begins_list(whole))


def _is_asked_loosely(sentence: str) -> bool:
    """Tell whether a sentence of three words or more begins as questions do in chats."""
    is_long = len(_WORD.findall(sentence)) >= _LOOSELY_ASKED
    return is_long and not sentence.endswith("!") and loosely_asking().match(sentence) is not None


def _looks_up(sentence: str) -> bool:
    """Tell whether *sentence* names something rather than states it: "serial number of the boiler"."""
    words = _WORD.findall(sentence)
    if _LOOKED_UP.search(sentence) and (_NEEDED.search(sentence) or _OF_WHOM.match(sentence)):
        return len(words) <= _LONGEST_NEED
    is_name = len(words) <= _LONGEST_LOOKUP and not sentence.endswith("!") and not _VERB.search(sentence)
    return is_name and any(form.search(sentence) for form in (_LOOKED_UP, _POSSESSIVE, _NAMED_OF))


def _named(sentence: str) -> bool:
    """Tell whether a word within *sentence* is written like a name: Ann, but not LOL."""
    words = _WORD.findall(sentence)[1:]
    return any(
        word[:1].isupper() and not word.isupper() and word.casefold() not in _CALENDAR and not _is_empty(word)
        for word in words
    )


def _informative(sentence: str) -> int:
    """Return the number of informative words of *sentence*, each counted once."""
    unspaced = len(_UNSPACED.findall(_UNSPACED_EMPTY.sub("", sentence))) // _TWO_CHARACTERS
    words = {word.casefold() for word in _WORD.findall(sentence) if not _UNSPACED.search(word)}
    return unspaced + sum(not _is_empty(word) for word in words)


def _is_empty(word: str) -> bool:
    plain = word.casefold().replace("’", "'")
    return plain in _EMPTY or plain.partition("'")[0] in _EMPTY or (len(plain) == 1 and not plain.isdigit())
