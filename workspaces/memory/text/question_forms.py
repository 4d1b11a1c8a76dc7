"""Forms of questions without a question mark, in thirteen languages: an interrogative and a verb, or a bare look-up.

A statement that is taken for a question is no evidence of anything, so each form is narrow: interrogatives that are
conjunctions too ("cuando", "wo", "quand") count before few verbs, and only in a sentence without a comma.
"""

import re
from functools import cache

from workspaces.lazy_pattern import lazy_pattern

_LEAD = (
    r"(?:(?:and|but|so|also|ok|okay|hey|hi|hello|well|btw|sorry|please|und|aber|sag mal|et|alors|dis|y|pero|oye"
    r"|entonces|e|ma|allora|mas|então|en|maar|а|и|слушай)[\s,]+){0,3}"
)
_ONE_CLAUSE = r"(?=[^,;:\n]*\Z)"
_SHORT = r"(?=\s+[^\s,;:]+(?:\s+[^\s,;:]+){0,4}\s*\Z)"
"""Room for one verb: after the words before, one to five more."""
_ENGLISH = (
    r"(?:what|who|where|when|why|how|which)(?:['’]?s|['’](?:re|ll|d|ve)|\s+(?:(?:is|are|was|were|did|do|does|could"
    r"|should|would"
    r"|has|have|had)(?:n['’]?t)?|am|can(?:['’]?t)?|will|won['’]?t|many|much|long|often|old|far|about|time|day|date"
    r"|year|kind"
    r"|number))\b"
    r"|(?:what|which|whose|how)\s+\w+\s+(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will|may"
    r"|must"
    r"|to)\b"
    r"|how to\s+\w"
    r"|(?:do|does|did)\s+(?:i|you|we|they|he|she|it|any|anyone|my|your|the)\b"
    r"|does\s+(?!not\b|what\b)\w+\s+\w+\s+\w"
    r"|does\s+(?!(?:not|what|the|it|its|an?|my|our|so|that|this|wonders|nothing|everything|well)\b)\w+\s+"
    r"(?!(?:for|with|to|at|in|on|well|too|now|really)\b)\w+\s*\Z"
    r"|(?:what|when|where|who|why|how)\s+(?:and|or)\s+(?:what|when|where|who|why|how)\s+\w"
    r"|(?:is|are|was|were|does|did|has|have|had|can|could|should|would|(?-i:will|must|may))\s+(?!(?:I|OK|Ok)\b)"
    r"(?-i:[A-Z])\w+\s+\w"
    r"|what\s+(?:must|may|shall)(?:n['’]?t)?\s+(?:i|we|he|she|they|it)\b"
    r"|do\s+\w+s\s+(?:really|actually|ever|still|need|like|care|have|eat|get|want|know|live|work)\b"
    r"|(?:is|are|was|were)\s+(?:there|it|he|she|they|you|my|your|the|this|that)\b"
    r"|(?:have|has|had)\s+(?:i|you|we|they|he|she|it)\b"
    r"|(?:can|could|should|may|must)\s+(?:i|we|he|she|they|it|one|my|our|the)\b"
    r"|(?:can|could) you (?:recommend|suggest|explain|tell me (?:wh|how|about))|.{0,60} yes or no\s*\Z"
    r"|(?:is|are)\s+(?!not|now|so|too|very|really|still|also|all|just|quite)\w+\s+(?:\w+\s+)?"
    r"(?:ok|okay|worth|good|bad|nice|normal|safe|allowed|possible|cheap|expensive|enough|in season)\b"
    r"|(?:what|who|which|whose)\s+(?!an?\b|i\b|we\b|you\b|he\b|she\b|they\b|it\b|means?\b|reminds\b|knows\b|knew\b"
    r"|cares\b|would have\b|does that\b)\w+\s+\w"
    r"|(?:whom|(?:to|from|for|with|by|at|in|on|of|since|until|till|about)\s+"
    r"(?:whom|when|(?:what|which)\s+(?!(?:i|we|you|he|she|it|they)\b)\w+))"
    r"\s+(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will)\b"
    r"|(?:any ideas?|remind me (?:what|where|who|when|which|how|of|about|the|my|our)"
    r"|tell me (?:what|where|who|when|which|how|again|about|an?)|do you (?:know|remember))\b"
)
_GERMAN = (
    r"(?:wo|wann|wer|wem|wen|wie|warum|wieso|welche[rsnm]?|wieviel)\s+(?:ist|sind|war|waren|hat|haben|habe|hatte|heißt"
    r"|heisst|geht|viel|viele|lange|oft|alt|kann|muss|soll|bin|wird|wohnt|liegt|steht)\b"
    r"|was\s+(?:ist|sind|hat|habe|haben|kostet|war)\b"
    r"|(?:wann|wo|wohin|woher|wem|wen|womit|wofür|wieviele?|wie viele?)\s+(?!(?:ich|du|er|sie|es|wir|ihr|man|der|die"
    rf"|das|ein\w*|mein\w*|unser\w*|immer|auch|nötig|möglich|sonst|anders|gerade)\b)\w+{_ONE_CLAUSE}"
    rf"|(?:um|seit|bis|ab|mit|von|für|in|bei|an|auf|zu|aus)\s+(?:wie ?viele?|wann|wem|wen|welche[rsmn]?)\b{_ONE_CLAUSE}"
    rf"|welche[rsmn]?\s+(?!(?:ich|du|er|sie|es|wir|ihr|man)\b)\w+\s+\w+{_ONE_CLAUSE}"
    r"|wer\s+(?:kommt|macht|fährt|bringt|holt|zahlt|bezahlt|spielt|leitet|kümmert|übernimmt|schuldet|vertritt|darf"
    rf"|gehört|heißt)\b{_ONE_CLAUSE}"
    r"|was\s+(?:macht|isst|trinkt|mag|braucht|soll|muss|steht|heißt|bedeutet|gibt|schenken|koche|kochen|passiert)\b"
    rf"{_ONE_CLAUSE}"
    r"|wie\s+(?:hieß|schnell|groß|hoch|teuer|schwer|weit|spät|koche|mache|komme|bekomme|funktioniert|schreibt)\b"
    rf"{_ONE_CLAUSE}"
    r"|was\s+(?:mach|tu|hilft|schenk|koch|brauch|nehm|hab)\w*\s+(?:ich|man|wir|gegen|bei)\b(?!\s+(?:nur|da|bloß"
    r"|bloss)\b)"
    rf"|wie lang\s+(?:muss|darf|soll|kann|dauert|braucht|hält)\b|ist\s+\w+\s+(?:giftig|gesund|gefährlich"
    rf"|erlaubt)\b{_ONE_CLAUSE}"
    r"|(?:soll(?:te|ten|en)?\s+(?:ich|wir)|darf man)\b"
)
_FRENCH = (
    r"ou (?:est|sont) (?:le|la|les|l['’]|mon|ma|mes)\b"
    r"|(?:où|quand est-ce|qui est|comment (?:s|est|on|je|tu|va|faire|ça)|pourquoi|combien|quels?|quelles?|est-ce que"
    r"|c['’]est quoi|qu['’ ]?est[- ]ce)\b"
    r"|tu (?:peux|pourrais) (?:me|nous)\b|tu te (?:souviens|rappelles)\b|t['’ ]?as (?:une?|des|gard[ée]|not[ée])\b"
    rf"|(?:à|a|de|avec|chez|depuis|dans|en|jusqu['’]?[àa])\s+(?:quel(?:le)?s?|qui|quand|combien)\b{_ONE_CLAUSE}"
    rf"|quand\s+(?:est|arrive|part|vient|commence|finit|ouvre|ferme|dois|doit|sont|passe)\s+(?!(?:il|elle|on)\b)\w+"
    rf"{_ONE_CLAUSE}"
    rf"|il y a combien\b|[cç]a existe\b{_ONE_CLAUSE}"
    rf"|c['’]est\s+(?:quand(?! m[êe]me)|où|combien|quel(?:le)?s?)\b{_ONE_CLAUSE}"
    rf"|qui\s+(?:vient|paie|garde|fait|s['’]occupe|doit)\b{_ONE_CLAUSE}"
    r"|(?!.{0,120}\b(?:sai[st]|sav\w+|importe|demand\w+|dire|comprend\w*|regard\w+)\b)[^\n;:]{0,60}?\b"
    r"(?:c['’ ]?(?:est|était|etait)?\s+(?:(?:à|a|de|dans|avant|pour)\s+)?(?:quoi|koi|quand(?! m[êe]me)|combien|cb"
    r"|quel(?:le)?s?)|(?:combien|cb) de temps|(?:fait|fais|mis|met|mets|dit|lu|mange|bouffe|prend|porter?|tape)"
    r"\s+(?:quoi|koi))\b"
)
"""With the interrogative where the answer stands, as in speech: "la visite c quel jour"."""
_SPANISH = (
    r"¿"
    r"|(?:(?:a|de|en|con|por|para|desde|hasta)\s+)?(?:(?:a?dónde|cuándo|quién(?:es)?|cómo|cuánt[oa]s?|cuál(?:es)?)\b"
    r"|qué\b(?!\s+(?:bien|mal|pena|rico|rica|bonit[oa]|guay|lástima|suerte|asco|alegría|va|calor|frío|risa|miedo"
    r"|ganas)\b))"
    r"|(?:a|de|en|con|desde|hasta)?\s?(?:cuando\s+(?:es|fue|toca|nace|vence|caduca|empieza|abre|cierra)"
    r"|donde\s+(?:está|esta|están|estan|queda|puse|dejé|guardé)|quien(?:es)?\s+(?:es|era|fue|viene|lleva|paga)"
    r"|cual(?:es)?\s+(?:es|era|son)|cuanto\s+(?:cuesta|vale|es|pesa|mide|gana|debo|dura|falta|tarda|cobra)"
    r"|cuant[oa]s\s+(?!más\b)\w+|que\s+(?:hora|día|dia|talla|número|numero|color)\s+\w+|que\s+(?:es|son"
    r"|significa)(?=\s+\w+\s*\Z)"
    rf"|como se\s+(?:llama|dice|hace|escribe|limpia|cocina|usa|quita|apellida))\b{_ONE_CLAUSE}"
    r"|(?:a|de|en|con|por|para|desde|hasta)?\s?(?:q(?:u[ée])?\s+(?:d[íi]as?|horas?|fecha|talla|color|calle|n[úu]mero"
    r"|temperatura|edad"
    r"|libros?|sitios?|sorpresa|cosas)\s+\w+|qui[ée]n(?:es)?\s+(?!sabe|quiera|sea)\w+\s+\w+|cu[áa]nto\s+(?!antes"
    r"|m[áa]s|menos)\w+\s+\w+"
    r"|a?d[óo]nde\s+(?:tengo|tenía|tenia|tiene|va|vas|vamos|voy|hay|puedo|compro|compré|compre|vive)\b"
    r"|(?:hasta|desde|para) cu[áa]ndo\s+\w+"
    rf"|cuando\s+(?:vuelve|viene|llega|sale|acaba|caduca|me toca|le toca|tengo"
    rf"|hay)\b(?=(?:\s+\w+){{0,2}}\s*\Z)){_ONE_CLAUSE}"
    rf"|se puede\s+(?!decir\b)\w+r\b{_ONE_CLAUSE}|hace falta\s+\w+r\b{_ONE_CLAUSE}|c[oó]mo se dice\b"
    rf"|q(?:u[eé])?\s+\w+\s+(?:lleva|llevan|usa|necesita)\b{_ONE_CLAUSE}"
    rf"|(?:pueden?|deben?)\s+(?:el|la|los|las|mi|mis)\s+(?!lunes|martes|miércoles|jueves|viernes|sábado|domingo"
    rf"|dos|tres){_ONE_CLAUSE}"
)
_ITALIAN = (
    r"(?:dove|chi|quanto|quanti|quale|qual)\s+(?:è|sono|era|ha|costa|devo|si)"
    r"|(?:(?:a|di|da|con|per|in)\s+)?(?:dove|chi|quando|quant[ie]|qual[ei]?|cosa|che (?:cosa|ora|ore|giorno|colore))"
    r"\s+(?:è|sono|ha|hanno|costa|costano|viene|arriva|parte|abita|lavora|sta|va|devo|posso|c['’]è|pesa|dura|apre"
    r"|chiude"
    rf"|inizia|finisce|deve|abbiamo)\b{_SHORT}"
    rf"|come\s+(?:si|sta|faccio|funziona)\b{_ONE_CLAUSE}|(?:si )?pu[oòò]['’]?\s+(?!darsi\b|essere\b"
    rf"|dire\b)\w+re\b{_ONE_CLAUSE}"
    rf"|quante\s+\w+\s+di\s+\w+\s+(?:mi|ci|si|servono)\b{_ONE_CLAUSE}|chi\s+e['’]?\s+\w+{_ONE_CLAUSE}"
    rf"|[^\n,;:]{{0,60}}?\b(?:ogni quanto|(?:fino )?a quando)\s+\w+{_ONE_CLAUSE}"
    r"|quant[oaie]\s+(?:(?:ci|si)\s+\w+|fa|dura|serve|servono|spendo|pago|manca|\w+\s+(?:serve|servono|devo"
    r"|ci vogliono))"
    rf"\b{_ONE_CLAUSE}"
    rf"|cosa\s+(?:devo|serve|posso|significa|metto|uso|bisogna|ci vuole)\b{_ONE_CLAUSE}|chi\s+(?:è|e['’])\s+che\b"
    rf"|a che\s+(?:ora|ore|et[àa]|punto)\s+\w+{_ONE_CLAUSE}|che\s+\w+\s+(?:do|faccio|devo|metto|uso|prendo|ci va|va"
    rf"|vanno)\b"
    rf"{_ONE_CLAUSE}|quando\s+(?:inizia|scade|arriva|tocca|apre|chiude)\b{_ONE_CLAUSE}"
    rf"|(?:il|la|lo|le|i|gli|l['’])\s?(?:\w+\s+){{1,4}}dove\s+(?:l['’]ho|li ho|le ho|sta|stanno"
    rf"|si trova)\b{_ONE_CLAUSE}"
)
_PORTUGUESE = (
    r"(?:onde|quem|quanto|quantos|qual)\s+(?:é|está|são|fica|foi|era|custa|tem)"
    r"|(?:(?:a|de|em|com|por|para|desde|até)\s+)?(?:quando|onde|quem|quantos?|quantas?|quais|qual|o que)\s+(?:é|são"
    r"|foi|está|estão|fica|chega|sai|vem|nasce|começa|acaba|abre|fecha|trabalha|mora|tem|custa|pesa|ganha|paga|dura"
    r"|disse"
    rf"|quer|significa|aconteceu)\b{_SHORT}"
    rf"|(?:a|de|em|com)\s+que\s+\w+\s+(?:é|são|era|foi|está|tem|vai|sai|chega|vem|começa|abre|fecha)\b{_ONE_CLAUSE}"
    rf"|como\s+(?:se\s+(?:chama|diz|faz|escreve|limpa)|é que)\b{_ONE_CLAUSE}"
    rf"|quant[oa]s\s+\w+\s+\w+{_ONE_CLAUSE}|qual (?:a|o|é|e|eh|foi)\s+\w+|quanto (?:ta|tá|da|dá|fica"
    rf"|sai)\b{_ONE_CLAUSE}"
    rf"|(?:com|de|em|por)\s+quant[oa]s\s+\w+{_ONE_CLAUSE}|o q(?:ue)?\s+\w+[aei]r\b{_ONE_CLAUSE}|q(?:ue)? q(?:ue)? (?:é"
    rf"|eh?)\b"
    rf"|[^\n,;:]{{1,60}}?\b(?:leva|dura|aguenta|custa|da|dá|pesa|fica)\s+quant[oa]s?\b{_ONE_CLAUSE}"
)
_DUTCH = (
    r"(?:hoe (?:laat|lang|vaak|duur|ver|oud|groot|heet|gaat|moet|kan|kom|werkt)|hoeveel|wie (?:is|heeft|was|komt|zijn)"
    r"|wat (?:is|was|zijn|kost|moet|heeft|doet|betekent)|waar (?:is|zijn|woont|ligt|staat|heb|was|werkt)"
    r"|wanneer (?:is|komt|was|moet|begint|gaat|zijn|vertrekt)"
    rf"|welke?\s+\w+\s+(?:is|heeft|moet|kan|komt|gaat|neemt|zijn))\b{_ONE_CLAUSE}"
)
_POLISH = (
    rf"(?:czy|dlaczego|ile|skąd|dokąd|czyj[ae]?)\s{_ONE_CLAUSE}"
    r"|(?:kto|kiedy|gdzie)\s+(?:jest|są|był|była|będzie|ma|mam|zaczyna|kończy|przyjeżdża|przychodzi|wraca|otwiera"
    r"|zamyka"
    rf"|mieszka|jedzie|płaci|pracuje|leży)\b{_ONE_CLAUSE}"
    rf"|(?:o|w|na|z|do|od|za|u|dla)\s+(?:której|którym|jakim|jakiej|kim|kogo|ilu)\s{_ONE_CLAUSE}"
    rf"|(?:jak(?:i|a|ie)?\s+(?:jest|się|ma|długo|daleko|często)|co\s+(?:to|jest|znaczy))\b{_ONE_CLAUSE}"
)
_ROMANIAN = (
    r"(?:(?:la|de|cu|pe|din)\s+)?(?:când|unde|cine|cum|ce|care|cât[ăei]?|câți)\s+(?:e|este|sunt|era|are|au|se|face"
    r"|costă"
    rf"|vine|pleacă|ora|oră|locuiește|lucrează)\b{_ONE_CLAUSE}"
)
_CYRILLIC = (
    r"(?:где|когда(?! (?:я|мы|он|она|они|ты|вы)\b)|кто|как(?! (?:всегда|обычно|раз)\b)|что|почему|зачем"
    r"|сколько|какой|какая|какое|какие|чей|куда|откуда)\s"
    r"|(?:в|во|на|с|со|у|о|об|к|до|от|из|за|для)\s+(?:сколько|скольки|ком|кем|кого|чем|каком|какой|какую|каких|скільки"
    r"|якому"
    rf"|котрій|якій|якого)\s{_ONE_CLAUSE}"
    r"|(?:де|хто|чому|навіщо|скільки|куди|звідки|чи|чий|коли|який|яка|яке|які"
    rf"|як(?! завжди)|що (?:таке|це|було|є))\s{_ONE_CLAUSE}"
)
_ASKED_AT_THE_END = (
    r"(?:il|la|lo|i|gli|le|l['’])\s?[^\n,;:.]{1,60}\s(?:come si chiama(?:va)?|quanto costa(?:va)?|dov['’ ]?(?:è|e|era)"
    r"|(?:quando|a che ora) (?:viene|arriva|scade|inizia|finisce|apre|chiude|parte))\s*\Z"
    r"|(?:el|la|los|las|mi)\s[^\n,;:.]{1,60}\s(?:c[oó]mo se llama(?:ba)?|cu[aá]nto (?:cuesta|vale)|d[oó]nde est[aá]n?"
    r"|(?:cu[aá]ndo|a qu[eé] hora) (?:es|viene|llega|caduca|vence|empieza|abre|cierra|sale))\s*\Z"
    r"|(?:o|a|os|as|meu|minha)\s[^\n,;:.]{1,60}\s(?:como (?:se )?chama|quanto custa|onde (?:fica|está|mora)"
    r"|(?:quando|que horas) (?:vem|chega|vence|começa|abre|fecha|sai))\s*\Z"
)
"""The thing first, and what is asked about it at the end: "il tecnico nuovo come si chiama"."""
_LANGUAGES = (
    _ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH, _POLISH, _ROMANIAN, _CYRILLIC,
    _ASKED_AT_THE_END,
)  # fmt: skip


_LOOSELY = {
    "German": (
        r"(?:(?:ab|bis|seit|mit|von|für|in|an|bei|auf|um|zu|aus|über|unter|nach|vor|gegen)\s+)?(?:(?:wann|wo|wohin"
        r"|woher|wer|wem|wen|wessen|wieso|weshalb|warum|welche[rsnm]?|wie ?viele?|was(?=\s+(?:is|san|hod|war[ns]?|gab"
        r"|hat|hab|haben?|hatten?|ist|war(?:en)?|sind|sagt\w*|kostet\w*|will|wollt\w*|darf|soll\w*|muss\w*|kann"
        r"|mach\w*|gib\w*|gabs|steht|stand|kommt|bringt|brauch\w*|isst|trinkt|hei(?:ß|ss)t|passiert\w*|schenk\w*"
        r"|koch\w*|fehlt|liegt|wird|wurde|geht|läuft|lief|nimmt|nehm\w*|krieg\w*|bekomm\w*|hilft|trägt)\b|.*\s(?:ich"
        r"|wir|der|das|dem|mein\w*|unser\w*|im|beim|vom|zum|zur|für|und|nicht|alles|eigentlich|denn|mit|von|bei)\b)"
        r"|wo(?:mit|für|von|rauf|ran|zu|bei|durch))\b(?!\s+(?:ich|wir|er|sie|es|du|man|ihr|mich|mir|uns|weiß|weiss"
        r"|auch|sonst|solls|für ein\w*|ein|eine|doch|gesagt|immer|soll ich sagen)\b)|wie (?:lange?|oft|alt|spät|groß"
        r"|gross|hoch|schwer|teuer|weit|viel|hei(?:ß|ss)t|hie(?:ß|ss)|geht|kann|mach\w*|schalt\w*|komm\w*|krieg\w*"
        r"|war|ist|hat|haben|muss|soll|nenn\w*|schreib\w*|funktionier\w*)\b)"
    ),
    "French": (
        r"(?:(?:à|a|de|avec|chez|depuis|dans|en|pour|sur|jusqu['’]?[àa])\s+)?(?:où|ou(?=\s+(?:est|sont|se|va|habite"
        r"|a-t|as|on range|j['’]ai)\b)|comment(?! (?:ça|ca)\b)|combien|pourquoi|pk|quel(?:le)?s?(?=(?:\s+[\w'’]+){3})"
        r"|qui(?=\s+\w+\s+\w)|(?:c['’ ]?|c['’]est )quoi|qu['’]|que (?:dit|faut|doit|veut|faire|fait|mange|prend)\b"
        r"|quand(?!\s+(?:je|tu|il|elle|on|nous|vous|ils|elles|même|les|le|la|j['’]\w+)\b))(?!\w)"
    ),
    "Spanish": (
        r"(?:(?:a|de|en|con|por|para|desde|hasta|x|pa)\s+)?(?:(?:qui[eé]n(?:es)?|cu[aá]nt[oa]s?|cu[aá]l(?:es)?"
        r"|a?d[oó]nde)(?!\s+(?:sabe|antes|más|mas|quiera|sea|pudiera)\b)|cu[aá]ndo(?!\s+(?:era|estaba|tenía|tenia|iba"
        r"|había|habia|llegue\w*|pueda\w*|salga\w*|tenga\w*|venga\w*|vaya\w*|quiera\w*|termine\w*|acabe\w*|vuelva\w*"
        r"|sea|esté|este|haya\w*|yo|tú|te)\b)|c[oó]mo\s+(?:se|lo|la|le|abro|pongo|hago|puedo|era|fue|iba|va|queda"
        r"|quedó|quedo|quedamos|está|esta|llamaba)|(?:xq|pq|por qu[eé])(?!\s+(?:no|si|ya|es|está|esta|estoy|tengo"
        r"|voy)\b)|(?:q|qu[eé])(?!\s+(?:no|sí|si|ya|te|me|se|lo|la|le|les|os|nos|el|los|las|un|una|voy|vamos|va|viene"
        r"|vienes|tengo|tiene|tal|sepas|estoy|está|esta|es|son|yo|tú|él|ella|como|bien|mal|por|pena|rico|rica"
        r"|bonit[oa]|guay|lástima|lastima|suerte|asco|alegría|alegria|nervios|dios|de|saudades?|bello|bella|schifo"
        r"|vas|vayas|tengas|descanses|duermas|disfrutes|deje\w*|calor|frío|frio|risa|miedo|ganas|fuerte|bueno|buena"
        r"|gracia|más|mas|paséis|pases|vengas|haces)\b))(?!\w)"
    ),
    "Italian": (
        r"(?:(?:a|di|da|con|per|in|su|entro|fino a)\s+)?(?:dove|chi(?!\s+(?:lo sa|se ne)\b)|quant[oaie](?!\s+(?:sei"
        r"|mi|ti)\b)|qual[ei]?|perch[eé](?!\s+(?:non|sì|no)\b)|cosa(?!\s+(?:vuoi|fai)\b)|quando(?!\s+(?:sono|ero"
        r"|arrivo|torno|esco|posso|finisco|vengo|hai|puoi|vuoi|eravamo|saremo|eu|ele|ela|a gente|chegar|puder|for"
        r"|sair|tiver|era|você)\b)|come (?:si|mi|lo|la|li|le|faccio|era|è|funziona|posso|chiamava)|che (?:cosa|or[ae]"
        r"|giorn[oi]|anno|mese|taglia|numero|colore))(?!\w)"
    ),
    "Portuguese": (
        r"(?:(?:a|de|em|com|por|para|até|desde)\s+)?(?:onde|quem(?! sabe)|qua(?:l|is)"
        r"|o ?q(?:ue)?(?!\s+importa\b)(?=\s+\w+\s+\w)|(?:q|que) \w+ (?:o|a|os|as|ele|ela)(?= \w)|q(?:ue)? (?:dias?"
        r"|horas?|mês|ano|tamanho|cor|livros?)|como (?:se|é|era|faço|funciona|chama))(?!\w)"
    ),
    "Dutch": (
        r"(?:(?:met|van|in|op|bij|tot|sinds|voor|naar|om|vanaf)\s+)?(?:waar(?:om|mee|voor|van|in|op)?|wanneer"
        r"|wie (?:past|heeft|is|komt|gaat|had|was|zijn|doet|kan|moet|betaalt|woont|brengt|haalt|zorgt)|hoe(?:veel)?"
        r"|welke?|wat)\b(?!\s+(?:een|ik|hij|ze|we|je|het|de|leuk|fijn|jammer|goed|lekker|mooi|stom|gezellig"
        r"|dan ook)\b)"
    ),
    "Polish": (
        r"(?:(?:o|w|na|z|do|od|za|u|dla|przez)\s+)?(?:kto|kogo|komu|kim|gdzie|ile|ilu|jaki\w*|jaka|kt[oó]r\w+"
        r"|dlaczego|czemu|po co|skąd|dokąd|czy(?!\s+ty\b)|kiedy(?!\s+(?:ja|będę|wrócę|przyjdę|indziej)\b)|co (?:jest"
        r"|to|ma|miał\w*|mówi\w*|powiedzia\w*|trzeba|dał\w*|kupi\w*|brać|bierze))(?!\w)"
    ),
    "Russian": (r"(?:кому|кого|кем|чья|чьё|чьи|какого|какую|каким)\s+\w+\s+\w"),
}


_WITHIN = {
    "English": r"(?:when|where|what|who|which|how much|how many)\s+again\s*\Z",
    "German": r"(?:wann|wo|was|wer|wie|wieviel|welche[rsn]?)\s+(?:noch ?mal|gleich|noch)\s*\Z",
    "French": (
        r"(?<!oh )(?<!ah )(?<!mais )(?<!et )(?<!bon )(?<!wow )(?<!putain )(?<!la )(?<!pas )(?<!sais )quel(?:le)?s?"
        r"\s+(?!que\b)\w+"
        r"|(?<!importe )(?<!pas )(?<!de )(?<!bref )(?<!enfin )(?:quoi|koi)\s+(?!qu)\w+"
        r"|(?:fait|fais|lu|dit|mange|bouffe|prend|porte|mis|veut|c|est|sert)\s+(?:quoi|koi)\s*\Z"
        r"|(?:est|sont|c|habite\w*|vit|va|vais|vas|mis|rang\w+|trouv\w+|laiss\w+|pos[ée]\w*|gar[ée]\w*|[ée]tait)\s+"
        r"(?:où|ou)(?!\s+(?:pas|non|alors|bien|plut[oô]t|sinon)\b)"
        r"|(?:quand|comment)\s*\Z|(?:appelle|appelait|marche|fait|fais) comment|combien|cb"
        r"|(?:a|à|de|avec|pour|chez) qui\s*\Z|(?<=\Aou )\w+ (?:fait|va|habite|travaille|range|met|dort|se)\b"
        r"|(?:c['’ ]?(?:est|était|etait)?|retourne|va|vais|joue|part|vient|passe|commence) quand(?! m[êe]me)"
    ),
    "Spanish": (
        r"(?:cu[aá]ndo|cu[aá]nto|d[oó]nde|q(?:u[eé])? d[ií]as?|a q(?:u[eé])? horas?|cu[aá]l)\s+(?:es|era|fue|viene"
        r"|vence"
        r"|me|le|nos|cost[oó]|est[aá]|toca|empieza|sale|llega|queda|caduca)\b(?=(?:\s+\w+){0,2}\s*\Z)"
    ),
    "Italian": (
        r"che (?!(?:bell\w+|palle|fame|sonno|freddo|caldo|voglia|paura|giornata|casino|schifo|noia|serata|dire|ne|si|mi"
        r"|ti|ci|lo|la|li|non|poi|ora|lui|lei|loro|io|tu)\b)\w+ (?:devo|deve|dovevo|ho|ha|abbiamo|siamo|fa|faccio"
        r"|facciamo|è|e['’]|era|do|serve|servono|va|prende|viene|arriva|porta|usa|metto|vuole|saltava)\b"
        r"|a che or[ae]|(?:dove|com['’])\s*(?:sta|era|è|e['’]?|l['’]ho|ho mess\w|si trova|trov\w)\b"
        r"|quando (?:va|viene|deve|parte|scade|inizia|tocca|era|è|e['’]?)\b|come s['’]era|,? e a chi\s*\Z"
    ),
    "Portuguese": (
        r"(?:é|eh|foi|era|fica|custa|custou|chama|mora|tá|ta|sai|começa|deixei|guardei) (?:onde|quando|quanto"
        r"|que (?:dia"
        r"|hora)s?|qual|como)\b"
    ),
}
"""What asks within a sentence, after what it asks about: "zahnarzt wann nochmal", "on repete dans quelle salle"."""


_TYPED = {
    "che": "(?:che|ke)",
    "quando": "(?:quando|qnd[oa]?|qdo)",
    "perch[eé]": "(?:perch[eé]|x(?:ch|k)[eéè])",
    "quel": "[qk]u?el",
    "qui": "(?:qui|ki)",
    "comment": "(?:comment|cmt)",
}
"""Short spellings of interrogatives in chats."""
_INTERROGATIVE = lazy_pattern(r"(?<![\w\[])(?:che|quando|perch\[eé\]|quel|qui|comment)(?![\w\]])")
"""Where they stand in a pattern of this file."""


def _as_typed(pattern: str) -> str:
    """Return *pattern* with the short spellings of its interrogatives."""
    return _INTERROGATIVE.sub(lambda match: _TYPED[match[0]], pattern)


@cache
def loosely_asking() -> re.Pattern[str]:
    """Return the form of a sentence that mostly is a question, as chats have it: "q dia ensayamos", "wo find ich den".

    A mistake must cost little: a statement that was kept as a question would be no evidence any more.
    """
    within = rf"[^\n]{{0,80}}?\b(?:{'|'.join(_WITHIN.values())})"
    return re.compile(_as_typed(f"{_LEAD}(?:{'|'.join(_LOOSELY.values())})|{within}"), re.IGNORECASE)


@cache
def asking() -> re.Pattern[str]:
    """Return the start of a question without a question mark: anchored, and without ambiguous repetition.

    It takes 10 ms to compile, which no start waits for.
    """
    return re.compile(_as_typed(f"{_LEAD}(?:{'|'.join(_LANGUAGES)})"), re.IGNORECASE)


LOOK_UP = lazy_pattern(
    r"(?:(?:the|my|our|his|her|their)\s+)?(?:(?:phone|mobile|telephone|serial|project|login|membership|frame|flight"
    r"|ticket|entry"
    r"|insurance|tax|account|customer|reference|tracking|order|booking|part|invoice|warranty"
    r"|policy|model|port|house|room|door|gate|alarm|bank|card)\s+)?"
    r"(?:nr|numbers?|codes?|pin|passwords?|iban|recipes?|ide(?:as?|e)|tips|synonyms|suggestions?)\s+(?:of|for|to|at|on"
    r"|in)\s+"
    r"(?:(?!\b(?:is|are|was|were|has|have|had|will|works?|changed?|changes|moved|should|must|can)\b)[^\d:=.!\n])+"
    r"|(?:name|price|phone|e-?mail|(?:licen[cs]e )?plate)\s+of\s+(?:the|my|our|his|her|their)\s+"
    r"(?:(?!\b(?:is|are|was|were|has|had|will|went|goes|broke|rose|fell|came|got|looks|works|should|must|can|\w+ed)\b)"
    r"[^\d:=.,!\n])+"
    r"|(?:\w{0,20}nummer|code|pin|passwort|kennwort|rezept|ideen|tipps)\s+(?:von|vom|der|des|für|zu[mr]?)\s+"
    r"(?:(?!\b(?:ist|war|hat|geht|lautet|gilt|wird|soll|muss)\b)[^\d:=.!\n])+"
    r"|(?:(?:el|la|le|il|o|a)\s+)?(?:n[úu]mero|numéro|c[óo]digo|codice|code|contraseña|clave|mot de passe|senha"
    r"|tel[ée]fon[oe]|matr[íi]cula|plaque|targa|p[óo]liza|polizza|apólice|recet[at]|recette|ricetta|receita|ideas|idées"
    r"|ideias|consejos)\s+(?:de(?:l|lla)?|d[ou]|da|di|des|para|pour|per)\s+"
    r"(?:(?!\b(?:es|son|era|fue|está|tiene|llegó|cambió|est|sont|a changé|è|sono|ha|é|são|foi|tem|mudou)\b)"
    r"[^\d:=.!\n])+",
    re.IGNORECASE,
)
"""A noun phrase that names a code, or asks for ideas, without telling one: "phone number of the fog machine place"."""
CJK_QUESTION = lazy_pattern(r"什么|哪里|哪个|谁|怎么|为什么|多少|几点|几个|吗|何ですか|どこ|いつ|誰|なぜ|[でま]すか")
