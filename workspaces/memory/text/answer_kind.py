"""Kind of answer that a question asks for, and whether a text holds one: a time, an amount, a code, a name, a place.

By words of the question, in the languages that people ask in most; a question of another kind, or in other words, asks
for none of these.
"""

import re
from enum import Enum

from workspaces.lazy_pattern import lazy_pattern


class AnswerKind(Enum):
    TIME = "time"
    AMOUNT = "amount"
    CODE = "code"
    """A number that is written down as it is: of a telephone, an account, a device."""
    LINK = "link"
    """An address on the internet, of mail or of a page."""
    NAME = "name"
    """Of a person or a thing."""
    PLACE = "place"

    @property
    def is_told_by_text(self) -> bool:
        """Whether the words of a text tell that it holds such an answer."""
        return self is not AnswerKind.PLACE


_ASKED = {
    AnswerKind.CODE: lazy_pattern(
        r"\b(?:phone|mobile|telephone|iban|serial|account|customer|reference|tracking|order) (?:no|nr|number)?s?\b"
        r"|\b(?:numbers? of(?! (?:people|guests|kids|hours|days)\b)|codes?|pin|passwords?|iban|plate"
        r"|(?<!how )number(?! of )|nummer|kennzeichen|passwort|numéro|número"
        r"|numero|mot de passe|immatriculation|c[óo]digos?|contrase[ñn]a|matr[íi]cula|codice|targa|senha|wachtwoord"
        r"|kenteken"
        r"|код|номер|пароль)\b",
        re.IGNORECASE,
    ),
    AnswerKind.TIME: lazy_pattern(
        r"\b(?:when(?:['’]?s)?|(?:what|which) (?:time|day|date|month|year|week|weekend|deadline)|how long ago"
        r"|(?:what['’]?s|what (?:is|was)) (?:the|my|our) (?:deadline|due date)"
        r"|wann|um wie ?viel uhr"
        r"|welche[rnms]? (?:tag|datum|monat|jahr|woche)|quand|à quelle heure|quel jour|cuándo|qué (?:día|hora|fecha)"
        r"|q(?:u[eé])? (?:d[ií]as?|horas?|fecha|mes|año|semana)"
        r"|quando|che (?:giorn[oi]|or[ae])|wanneer|kiedy|когда|коли)\b|什么时候|几点|いつ|何時"
        r"|^\W*(?:(?:y|pero|a|de|para|hasta|desde)\s+)?cuando\b",
        re.IGNORECASE,
    ),
    AnswerKind.AMOUNT: lazy_pattern(
        r"\bhow (?:much|many|old|heavy|tall|long|far|big|often|high)\b"
        r"|\b(?:prices?|costs?|pay|paid|charges?|weighs?|size)\b"
        r"|\b(?:wie ?viele?|wie (?:alt|schwer|lang|teuer|hoch|oft|weit|groß)|kostet|combien|cu[áa]nt[oa]s?|quant[oaie]"
        r"|hoeveel|ile|сколько|скільки)\b|多少|几个|いくら|いくつ",
        re.IGNORECASE,
    ),
    AnswerKind.NAME: lazy_pattern(
        r"\b(?:who|whom|whose|names?|called|wer|wem|wen|wessen|heißt|qui|s['’]appelle|qui[ée]n(?:es)?|se (?:llama\w*"
        r"|va a llamar)|chi"
        r"|si chiama|quem|se chama|wie is|kto|кто|как зовут|хто)\b|谁|誰",
        re.IGNORECASE,
    ),
    AnswerKind.PLACE: lazy_pattern(
        r"\b(?:where|(?:which|what) (?:town|city|country|place|street|room)|wo|woher|wohin|où|ou est|a?d[óo]nde|(?:en"
        r"|a|de) q(?:u[ée])? (?:calle|sitios?|ciudad|tienda|bar|piso)|dove|onde|waar"
        r"|gdzie|где|куда|де)\b|哪里|どこ",
        re.IGNORECASE,
    ),
    AnswerKind.LINK: lazy_pattern(
        r"\be-?mail(?:s|[ -]?address(?:e|es)?)? (?:of|for|von|de|di|da)\b"
        r"|\b(?:e-?)?mail[ -]?(?:address(?:e|es)?|adresse)\b"
        r"|['’]s e-?mail\s*\??$|\b(?:website|web page|homepage|url|webseite|adresse mail|site web)\b"
        r"|\b(?:página|sito) web\b"
        r"|\b(?:correo|posta) electr[óo]nic[oa] de\b",
        re.IGNORECASE,
    ),
}
"""The first that matches is the kind: "what is the phone number of the person who …" asks for a number."""
_NAMED = {
    AnswerKind.CODE: lazy_pattern(
        r"\b(?:combination|combo|passcode|keypad|(?:wifi|wlan) pw|pw|pass for|reg(?:istration)? of|vin|zip|postcode"
        r"|ref(?:erence)?(?: (?:no|nr))?|(?:member(?:ship)?|policy|ref|model|part|room) (?:no|nr)|extension of"
        r"|phone of|\w*nummer|handy (?:von|vom)|zahl|nr|wlan|referencia|localizador|m[óo]vil del?|plz|pin-?code"
        r"|t[ée]l[ée](?:ph|f)on[eo]?|clave)\b",
        re.IGNORECASE,
    ),
    AnswerKind.TIME: lazy_pattern(
        r"\b(?:(?:what|which) (?:days|nights?|evenings?|mornings?|afternoons?|dates|weekdays|hours)|deadlines?"
        r"|due date|dates? of|(?:start|end|closing|opening|arrival|departure) (?:time|date)s?"
        r"|(?:opening|visiting|office) hours|hours of|how (?:soon|late|early)|(?:un)?till? when|by when|since when"
        r"|expir(?:y|es?|ation)|birthday|anniversary"
        r"|day of|time of|frist|öffnungszeiten|welche[nrms]? tagen?|bis wann|ab wann|seit wann|geburtstag|termin"
        r"|qué días|horarios?|plazo|cumpleaños|quels jours|horaires?|date limite|anniversaire|che giorni|orari(?:o)?"
        r"|scadenza|compleanno|welke dag"
        r"|hoe laat|verjaardag)\b",
        re.IGNORECASE,
    ),
    AnswerKind.AMOUNT: lazy_pattern(
        r"\b(?:costing|rent|salary|wages?|fees?|deposit|budget|balance|dos(?:e|es|age)|(?:hourly |interest )?rate"
        r"|mileage|height|width|length|depth|weight|temperature|dimensions|measurements|total|percent(?:age)?|owes?"
        r"|earns?|how (?:wide|deep|fast|few|hot|cold|thick|loud)|number of|wie (?:breit|tief|schnell|warm|kalt|dick)"
        r"|pflegegrad|grad|größe|miete|dosis|preis|gehalt|lohn|precio|alquiler|sueldo|prix|loyer|salaire|prezzo"
        r"|affitto|stipendio|prijs"
        r"|huur)\b",
        re.IGNORECASE,
    ),
    AnswerKind.PLACE: lazy_pattern(
        r"\b(?:(?:which|what) (?:drawer|shelf|cupboard|cabinet|box|bag|pocket|floor|corner|bin)|address of"
        r"|location of|hiding place|in welche[mnr] \w+|adresse (?:von|vom|der|du|de la)|dirección de|indirizzo d)",
        re.IGNORECASE,
    ),
}
"""Nouns and other words that tell the kind, if no word of `_ASKED` does: "deadline of the report"."""
_OTHERWISE = lazy_pattern(
    r"\b(?:why|how (?:do|does|did|can|to|come|is|are|was|were)|pourquoi|warum|wieso|por qué|perché|что|почему)\b"
    r"|^\W*(?:did|do|does|is|are|was|were|have|has|had|can|could|should|will|would|tell|remind|hat|ist|habe)\b",
    re.IGNORECASE,
)
"""Asks for a reason, a way, or whether something is so, whatever it names."""
_TIME_WORDS = (
    r"\d{1,2}[:.]\d\d|\d{1,2}(?:st|nd|rd|th|\s?[ap]m)|(?:19|20)\d\d|yesterday|today|tonight|tomorrow|tmrw|last|next"
    r"|ago|week(?:end)?s?|months?|years?|days?|morning|evening|afternoon|night|noon|midday|midnight|lunchtime|since"
    r"|until|till|recently|soon|just|now|summer|winter|spring|autumn|fall|christmas|easter|half \d{1,2}"
    r"|(?:quarter|ten|five|twenty) (?:past|to) \w+"
    r"|(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?s?|jan(?:uary)?|feb(?:ruary)?|march|april"
    r"|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|gestern|heute|morgen"
    r"|übermorgen|(?:letzte|nächste|diese)[rnms]?|vor|seit|bis|tage?n?|wochen?|monate?n?"
    r"|jahre?n?|(?:am|vom|zum|ab|den) \d{1,2}(?=\.)|um \d{1,2}|(?:halb|viertel(?: (?:vor|nach))?|dreiviertel"
    r"|kurz (?:vor|nach))"
    r" (?:\d{1,2}|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)|heut|(?:vor|nach)?mittags?|abends?"
    r"|morgens|nachts?|sommer|herbst|ostern|weihnachten|pfingsten"
    r"|uhr|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|januar|februar|märz"
    r"|mai|juni|juli|oktober|dezember|hier|aujourd['’]hui|demain|prochaine?|dernière?|depuis|jours?|semaines?|mois|ans"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril|juin|juillet|août|septembre"
    r"|octobre|novembre|décembre|\d{1,2}h\d{0,2}|las \d{1,2}(?: y (?:media|cuarto))?|del? \d{1,2} al? \d{1,2}"
    r"|el (?:d[ií]a )?\d{1,2}|finde|verano|invierno"
    r"|primavera|otoño|noche|tarde"
    r"|ayer|hoy|ma[ñn]ana|próxim[oa]|pasad[oa]|desde|hasta|d[íi]as?|semanas?"
    r"|mes(?:es)?|años?|lunes|martes"
    r"|mi[ée]rcoles|jueves|viernes|s[áa]bado|domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre"
    r"|octubre"
    r"|noviembre|diciembre|ieri|oggi|domani|prossim[oa]|scors[oa]|ontem|hoje|amanhã|вчера|сегодня|завтра"
)
_HELD = {
    AnswerKind.LINK: lazy_pattern(
        r"[\w.+-]+@[\w-]+\.\w|https?://|\bwww\.|\b[\w-]+\.(?:com|org|net|eu|de|fr|es|it|uk|io)\b"
    ),
    AnswerKind.TIME: lazy_pattern(rf"\b(?=\w)(?:{_TIME_WORDS})\b|昨天|今天|明天|昨日|今日|明日|[月日週周]"),
    AnswerKind.AMOUNT: lazy_pattern(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|couple|few|several|dozens?|hundreds?"
        r"|thousands?|once|twice|half|both|quarter|thirty|forty|fifty|ein[se]?|zwei|drei|vier|fünf|sechs|sieben|acht"
        r"|neun|zehn|deux|trois|quatre|cinq"
        r"|dos|tres|cuatro|cinco|due|tre|quattro|cinque)\b"
    ),
    AnswerKind.CODE: lazy_pattern(
        r"\d[\d /().-]{2,30}\d|\d{4}|\b[a-zäöü]{1,3}-[a-z]{1,2} ?\d{1,4}\b|\b(?=[\w-]{0,20}\d)[^\W\d_][\w-]{4,30}\b"
    ),
}
"""For texts in lower case: patterns that ignore case take three times as long."""
_NAME = lazy_pattern(r"(?<![.!?:]\s)(?<!^)\b[^\W\d_a-zß-öø-ÿа-яё][\w'’-]+|[\"“„][^\"”“]{1,60}[\"”“]")
"""A capitalised word within a sentence, or a quotation."""
_WORDS = lazy_pattern(r"\w+")


def asked_kind(question: str) -> AnswerKind | None:
    """Return the kind of answer that *question* asks for; `None` if its words tell none."""
    found = next((kind for kind, pattern in _ASKED.items() if pattern.search(question)), None)
    if found is not None or _OTHERWISE.search(question):
        return found
    return next((kind for kind, pattern in _NAMED.items() if pattern.search(question)), None)


def holds(kind: AnswerKind, text: str, question: str) -> bool:
    """Tell whether *text* holds an answer of *kind* to *question*; what the question says itself answers nothing."""
    known = question.casefold()
    if kind is AnswerKind.NAME:
        return any(match[0].strip('"“”„').casefold() not in known for match in _NAME.finditer(text))
    asked = set(_WORDS.findall(known))
    found = _HELD[kind].finditer(text.lower()) if kind in _HELD else ()
    return any(not asked.issuperset(_WORDS.findall(match[0])) for match in found)
