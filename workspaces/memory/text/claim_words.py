"""Words by which `claims` reads a sentence in thirteen languages: states, events, changes, additions, denials.

All are for text in lower case (`tokens.lower_case`). The longest are tried at the beginnings of words alone.
"""

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.tokens import stem

STATES = lazy_pattern(
    r"\b(?:is|are|am|'s|'re|has|have|lives?|works?|costs?|uses?|runs?|needs?|prefers?|likes?|belongs?|stands?"
    r"|takes?|weighs?|nimmt|wiegt|prend|pèse|toma|pesa|prende|neemt|weegt"
    r"|starts?|begins?|opens?|closes?|ends?|leaves?|beginnt|öffnet|schließt|endet|fährt|commence|ouvre|ferme|empieza"
    r"|abre|cierra|inizia|apre|chiude|ist|sind|hat"
    r"|heißt|wohnt|lebt|arbeitet|kostet|liegt|est|sont|a|habite|travaille|coûte|es|está|son|tiene|vive|trabaja"
    r"|cuesta|è|sono"
    r"|ha|abita|lavora|costa|é|tem|mora|trabalha|is|zijn|heeft|woont|werkt|kost|jest|są|ma|mieszka|pracuje"
    r"|kosztuje|este"
    r"|are|are|locuiește|живёт|живет|работает|стоит|находится|живе|працює|коштує)\b|[^\W\d_]\s?[:=]\s|—|是|在|です"
)
"""Words that say how something is."""
HAPPENED = lazy_pattern(
    r"\b(?=\w)(?:was|were|did|had|went|met|saw|bought|paid|spent|ran|walked|ate|read|wrote|called|got|took|made|said"
    r"|told|visited"
    r"|finished|played|watched|cooked|slept|swam|cycled|drank|worked|today|yesterday|this (?:morning|evening"
    r"|afternoon|week)"
    r"|tonight|last (?:night|week|month|year)|ago|war|waren|hatte|ging|gestern|heute|kaufte|gekauft|bezahlt|getroffen"
    r"|gelaufen|hier|aujourd'hui|ayer|hoy|ieri|oggi|ontem|hoje|gisteren|vandaag|wczoraj|dzisiaj|вчера|сегодня|вчора"
    r"|сьогодні)\b|昨天|今天|昨日|今日|ました"
)
"""Words of something that happened once: two such claims both hold."""
CHANGED = lazy_pattern(
    r"\b(?=\w)(?:now|new(?:ly)?|recent(?:ly)?|no longer|not any ?more|anymore|instead|since|moved|changed?|switched"
    r"|updated?|rescheduled|postponed|delayed|shifted|upgraded|downgraded|revised|lowered|expanded|shortened"
    r"|replaced|increased|decreased|reduced|raised|grew|grown|improved|reached|adjusted|extended|renamed|as of"
    r"|swapp?(?:ed|ing)?|upped|doubled|halved|tripled|going forward|after all|(?:takes|took|taking) over|correction"
    r"|reset|(?:filling|stepping|standing) in for|dropped out|relocated|rebooked|rearranged|renewed|traded"
    r"|scr(?:ap|atch) that|make (?:that|it)(?= \w+\W*$)|earlier than|(?:an?|one|two) (?:day|week|hour)s? early"
    r"|(?:is|are|it['’]?s) different|(?:starting|as from) (?=\d|the \d|tonight|today|tomorrow|next|(?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    r"|(?:mov(?:es?|ing)|switch(?:es|ing)|chang(?:es|ing)|shift(?:s|ing)|rises|raises?|drop(?:s|p?ing|ped)?|rose"
    r"|fell|falls|cut|pushed|bumped|reset) (?:\w+ ){0,3}(?:up |down |back |forward |over )?to"
    r"|(?:goes|went|gone|came|put|brought) (?:\w+ )?(?:(?:up|down|back|forward|over) to|to(?= \W?\d))"
    r"|(?:went|gone) (?:up|down|off)|back to"
    r"|(?:pushed|put|brought|set) (?:it |them )?(?:back|forward|off)|(?:up|down|back) to(?= \W?\d)"
    r"|(?:an?|one|two|half an|\d+) \w+ (?:later|earlier)|rather than|from now on|turn(?:s|ed) out|ended up"
    r"|backed down|caved in|had enough|plan b|change of plans?|(?:the )?new plan|(?:went|going|go) (?:with|for) the"
    r"|(?:picked|chose|took|booked|got) the other(?: \w+)?|ditched|scrapped|dropped the|(?:decided|settled) (?:on|for)"
    r"|knocked \S+ off|climbed to|(?:are|were|\w+['’]?s) off(?= (?:in|the|with|for good|because"
    r"|cause)\b|[,.;!]|$)"
    r"|again(?=:)"
    r"|hat sich erledigt|doch nicht|knicken|hat abgesagt|dafür (?:ist|nimmt|gibt|kommt|wird|gehen|fahren)"
    r"|wird['’]?s (?:jetzt|nun)"
    r"|(?:in|at) the end(?! of)|am ende(?! de[rs])|letztlich|finalement|au final|al final(?! de)|alla fine(?! d)"
    r"|afinal|uiteindelijk|ostatecznie|в итоге|зрештою|verlegt|(?:steigt|sinkt|stieg|sank) auf"
    r"|(?:passe|passé|monte|monté|descend|baisse) à|repoussée?|reportée?|avancée?|déplacée?|augmentée?|baissée?"
    r"|(?:pasa|pasó|pasan|sube|subió|suben|baja|bajó|movió|movieron|cambiaron)(?: \w+){0,2} (?:al?|para)|lo movió"
    r"|aplazad[oa]|pospuest[oa]|adelantad[oa]|retrasad[oa]|spostat[oa]|rinviat[oa]|anticipat[oa]|aumentat[oa]|passa a"
    r"|(?:passou|subiu|baixou) (?:a|para)|adiad[oa]|antecipad[oa]|verzet|verschoven|przełożon\w+|przesunięt\w+"
    r"|getauscht|vorgezogen|abgesagt|auf \w+ gelegt|doch (?:erst|schon|am|um)"
    r"|ab (?:sofort|heute|morgen|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)|a partir d[eo]l?|à partir d[eu]"
    r"|ya no|en (?:vez|lugar) del?|(?:han|lo|la|me lo) (?:pasado|movido|subido|bajado)|décalée?|au lieu d[eu]"
    r"|n['’]est plus|d(?:al|a) (?:luned|marted|mercoled|gioved|venerd)ì|invece|non più|em vez de|já não|vanaf"
    r"|in plaats van|jetzt|nun|neue?[rsn]?|nicht mehr|stattdessen|geändert|gewechselt|umgezogen|verschoben|vorverlegt"
    r"|erhöht|gesenkt|verlängert|verkürzt|ersetzt|statt|maintenant"
    r"|désormais|nouve(?:au|lle)"
    r"|changé|déménagé|ahora|nuev[oa]|cambi(?:ó|ado|ato|ata)|se mudó|adesso|ora|nuov[oa]|trasferit[oa]|agora|nov[oa]"
    r"|mudou|nu|nieuwe?|veranderd|verhuisd|verplaatst|teraz|now[yae]|zmieni\w+|acum|nou[ăa]?|schimbat|mutat"
    r"|теперь|новы\w+|переехал\w*"
    r"|сменил\w*|перен[её]с\w*|тепер|нов\w{1,2}|переїха\w+|зміни\w+)\b|现在|改为|改成|换成|搬到|今は|変更|引っ越"
)
NEW = lazy_pattern(
    r"\b(?=[nrн])(?<!\bthe )(?<!\bmy )(?<!\bour )(?<!\bhis )(?<!\bher )(?<!\btheir )(?<!\bder )(?<!\bdie )"
    r"(?<!\bdas )(?<!\ble )(?<!\bla )(?<!\bel )(?<!\bil )(?:new(?:ly)?"
    r"(?! (?:number|code|pin|password|pw|plate|phone|address|time|date|price|rent|dose)\b)|recent(?:ly)?|neue?[rsn]?"
    r"|nouve(?:au|lle)|nuev[oa]|nuov[oa]|nov[oa]|nieuwe?|now[yae]|nou[ăa]?|нов\w+)\b"
)
"""Words of change that mostly say something of another thing: "new running shoes", but not "the new deadline"."""
ALSO = lazy_pattern(
    r"\b(?:also|too|another|additional(?:ly)?|second|third|other|both|as well|one of|besides|extra|auch"
    r"|außerdem|weitere[rsn]?"
    r"|zweite[rsn]?|aussi|autre|deuxième|también|otr[oa]|segund[oa]|anche|altr[oa]|second[oa]|também|outr[oa]"
    r"|ook|andere"
    r"|tweede|też|również|drug[iae]|și|altă?|тоже|также|второ\w+|теж|також|друг\w+)\b|也|还|も"
)
"""Words that add a value to another one."""
DENIES = lazy_pattern(
    r"\b(?:never|not|no longer|n't|nothing|neither|nor|without ever|cannot|nie(?:mals)?|nicht|kein\w*|jamais"
    r"|ne \w+ pas|n'\w+ pas"
    r"|nunca|jamás|mai|non|nooit|niet|geen|nigdy|nie|niciodată|nu|никогда|не|ніколи)\b|n['’]t\b|从来没|从不|没有|不|ない|ません"
)
RECURS = lazy_pattern(
    r"\b(?:starts?|begins?|opens?|closes?|ends?|leaves?|every|each|daily|weekly|usually|always|beginnt|öffnet"
    r"|schließt|endet|fährt|jeden?|täglich|immer|commence|ouvre|ferme|chaque|toujours|empieza|abre|cierra|cada|siempre"
    r"|inizia|apre|chiude|ogni|sempre|elke|altijd|każd\w+|fiecare|кажд\w+|всегда|кожн\w+|завжди)\b|毎|每"
)
"""Words of a clock time that holds until another one does, unlike that of one meeting."""
NEVER = lazy_pattern(
    r"\b(?:never|not ever|not once|niemals|noch nie|nie(?=\s)|jamais|nunca|jamás|mai|nooit|nigdy|niciodată"
    r"|никогда|ніколи)\b"
    r"|从来没|从未|一度も"
)
FORBIDS = lazy_pattern(
    r"(?:(?:\A|[.,;:!?—–-] ?)(?:please )?|\b(?:must|should|may|shall) )never (?!\w+ed\b|(?:ever|been|had|seen|gone|done"
    r"|was|were|went|did|got|met|heard|knew|known|saw|thought|said|told|ate|eaten|read|made|took|taken|came|again)\b)"
    r"|\b(?:nunca|jamás) (?:\w{1,20} )?\w{1,20}[aei]r(?:l[aeo]s?)?\b|\bjamais \w{1,20}[ei]r\b"
)
"""An order never to do something, "never start it cold": it denies nothing that happened. For text in lower case."""
_EMPTY_WORDS = """
never ever longer any want make need help get trying try can keep sure project know example thing start work look good
give like new now also really well currently recently actually still best way go going wondering wonder
think feel kinda wait sorry oops
"""
EMPTY = frozenset(map(stem, _EMPTY_WORDS.split()))
"""Stems that say nothing of a subject."""
MOVED = lazy_pattern(
    r"\b(?:(?P<live>moved to|relocated to|zog nach|gezogen nach|umgezogen nach|déménagé à|mudó a"
    r"|trasferit[oa] a|verhuisd naar"
    r"|przeprowadził\w* się do|переехал\w* в|переїха\w+ (?:до|в))|(?P<work>joined|started at))(?=\s)"
)
"""What begins a state that other words name later: who moved to a town lives there."""
ENDED = lazy_pattern(
    r"\b(?:no longer|not any ?more|any ?more|stopped|quit|gave up|nicht mehr|ne \w+ plus|ya no|non \w+ più"
    r"|já não|niet meer|już nie"
    r"|nu mai|больше не|більше не)\b|不再|もう"
)
SINGLE = lazy_pattern(
    r"(?:\b(?:is|'s|ist|est|es|è|é|jest|este|heißt|called|named|lives? in|moved to|works? (?:at|for)|wohnt in"
    r"|lebt in|arbeitet bei"
    r"|habite à|travaille chez|vive en|trabaja en|vive a|abita a|lavora (?:a|per|presso)|mora em|trabalha n[ao]"
    r"|woont in|werkt bij"
    r"|mieszka w|pracuje w|lucrează la|живёт в|живет в|работает в|живе в|працює в)|[:=]|是|在)\s{0,3}(?:now "
    r"|jetzt )?['\"`“„]?$"
)
"""What stands before a name that is the only one at a time: one lives in one town, and likes several."""
COUNTS = {
    name: str(value)
    for value, names in enumerate(
        (
            "zero null", "one eins", "two zwei deux dos due два", "three drei trois tres tre", "four vier quatre",
            "five fünf", "six sechs", "seven sieben", "eight acht", "nine neun", "ten zehn", "eleven elf",
            "twelve zwölf",
        )
    )
    for name in names.split()
}  # fmt: skip
