"""Words for days, weeks, months, weekdays and ranges in thirteen languages, in lower case without accents.

dateparser knows more languages, but reads one question in 100 to 600 ms (a search takes 6), takes "we", "to" and "la"
for dates, and does not know "last weekend" (docs/decisions/0013-dates-in-questions.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DateWords:
    """One language's words, as regular expressions; `{n}` is a number, `{u}` a unit; `; ` parts two forms."""

    days: Mapping[str, int]
    """Days from today."""
    units: tuple[str, str, str, str, str]
    """Day, week, month, year, weekend."""
    ago: str
    last: str
    this: str
    following: str = ""
    """Next week, as `last`."""
    ahead: str = ""
    """In two days, as `ago`."""
    numbers: str = ""
    """Words for 1, 2, 3 …, each with its alternatives; `_` is a space."""
    weekdays: str = ""
    """From Monday."""
    months: str = ""
    """From January."""
    before: str = ""
    """Until a day; the text right before it."""
    after: str = ""
    between: str = ""
    joins: str = ""
    """And, to: between the days of a range."""
    has_spaces: bool = True
    whole: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """A whole unit as one word: its place in `units`, and how many before this one."""


LANGUAGES: Mapping[str, DateWords] = {
    "en": DateWords(
        days={
            r"today|tonight|this (?:morning|afternoon|evening)": 0,
            r"yesterday|last night": -1,
            r"(?:the )?day before yesterday": -2,
            r"tomorrow": 1,
            r"(?:the )?day after tomorrow": 2,
        },
        units=("days?", "weeks?", "months?", "years?", "weekend"),
        ago=r"{n} {u} ago",
        ahead=r"in {n} {u}",
        last=r"(?:last|past|previous) {u}",
        this=r"this {u}",
        following=r"next {u}",
        numbers="one|an? two|a_couple_of three|a_few four five six seven eight nine ten",
        weekdays="monday tuesday wednesday thursday friday saturday sunday",
        before=r"before|until|till|up to|by|prior to",
        after=r"after|since|from|starting",
        between=r"between|from",
        joins=r"and|to|until|till|through",
    ),
    "de": DateWords(
        days={r"heute": 0, r"gestern": -1, r"vorgestern": -2, r"ubermorgen": 2},
        units=("tag(?:en?)?", "wochen?", "monat(?:en?)?", "jahr(?:en?)?", "wochenende"),
        ago=r"vor {n} {u}",
        ahead=r"in {n} {u}",
        last=r"(?:letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?) {u}",
        this=r"diese[nrsm]? {u}",
        following=r"nachste[nrsm]? {u}",
        numbers="ein(?:e[nrm]?)? zwei|ein_paar drei vier funf sechs sieben acht neun zehn",
        weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        months="januar|janner februar marz april mai juni juli august september oktober november dezember",
        before=r"vor(?: dem)?|bis(?: zum)?",
        after=r"nach(?: dem)?|seit(?: dem)?|ab(?: dem)?",
        between=r"zwischen(?: dem)?|vom|von",
        joins=r"und(?: dem)?|bis(?: zum)?",
    ),
    "fr": DateWords(
        days={r"aujourd.?hui": 0, r"hier": -1, r"avant.?hier": -2, r"demain": 1, r"apres.?demain": 2},
        units=("jours?", "semaines?", "mois", "ans?|annees?", "week.?end"),
        ago=r"il y a {n} {u}",
        ahead=r"dans {n} {u}",
        last=r"{u} (?:derniere?|passee?)",
        this=r"(?:ce|cet|cette) {u}",
        following=r"{u} prochaine?",
        numbers="une? deux trois|quelques quatre cinq six sept huit neuf dix",
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        months="janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        before=r"avant(?: le)?|jusqu.au|jusqu.en",
        after=r"apres(?: le)?|depuis(?: le)?",
        between=r"entre(?: le)?|du|de",
        joins=r"et(?: le)?|au|a",
    ),
    "es": DateWords(
        days={r"hoy": 0, r"ayer|anoche": -1, r"anteayer|antes de ayer": -2, r"pasado manana": 2},
        units=("dias?", "semanas?", "mes(?:es)?", "anos?", "fin de semana"),
        ago=r"hace {n} {u}",
        ahead=r"(?:en|dentro de) {n} {u}",
        last=r"{u} pasad[oa]; ultim[oa] {u}",
        this=r"est[ea] {u}",
        following=r"proxim[oa] {u}; {u} (?:proxim[oa]|que viene)",
        numbers="una?|un dos|un_par_de tres|unos cuatro cinco seis siete ocho nueve diez",
        weekdays="lunes martes miercoles jueves viernes sabado domingo",
        months="enero febrero marzo abril mayo junio julio agosto se?ptiembre octubre noviembre diciembre",
        before=r"antes del?|hasta(?: el)?",
        after=r"despues del?|desde(?: el)?",
        between=r"entre(?: el)?|del?",
        joins=r"y(?: el)?|al?|hasta(?: el)?",
    ),
    "it": DateWords(
        days={r"oggi|stasera": 0, r"ieri": -1, r"l.altro ieri|avantieri": -2, r"domani": 1, r"dopodomani": 2},
        units=("giorn[oi]", "settiman[ae]", "mes[ei]", "ann[oi]", "fine settimana|weekend"),
        ago=r"{n} {u} fa",
        ahead=r"(?:tra|fra) {n} {u}",
        last=r"{u} scors[oae]; (?:scors[oae]|ultim[oa]) {u}",
        this=r"quest[oa] {u}",
        following=r"prossim[oa] {u}; {u} prossim[oa]",
        numbers="un[oa]? due|un_paio_di tre quattro cinque sei sette otto nove dieci",
        weekdays="lunedi martedi mercoledi giovedi venerdi sabato domenica",
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        before=r"prima del(?:l.)?|prima di|fino al?",
        after=r"dopo(?: il)?|dal?|a partire dal?",
        between=r"tra(?: il)?|fra(?: il)?|dal?",
        joins=r"e(?: il)?|al?",
    ),
    "pt": DateWords(
        days={r"hoje": 0, r"ontem": -1, r"anteontem": -2, r"amanha": 1, r"depois de amanha": 2},
        units=("dias?", "semanas?", "mes(?:es)?", "anos?", "fim de semana"),
        ago=r"ha {n} {u}; {n} {u} atras",
        ahead=r"(?:em|daqui a) {n} {u}",
        last=r"{u} passad[oa]; ultim[oa] {u}",
        this=r"(?:est|ess|nest)[ea] {u}",
        following=r"proxim[oa] {u}; {u} que vem",
        numbers="uma?|um dois|duas tres quatro cinco seis sete oito nove dez",
        weekdays="segunda.feira terca.feira quarta.feira quinta.feira sexta.feira sabado domingo",
        months="janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
        before=r"antes d[eoa]|ate(?: o)?",
        after=r"depois d[eoa]|desde(?: o)?",
        between=r"entre(?: o)?|d[eo]",
        joins=r"e(?: o)?|ao?|ate(?: o)?",
    ),
    "nl": DateWords(
        days={r"vandaag|vanavond": 0, r"gisteren": -1, r"eergisteren": -2, r"overmorgen": 2},
        units=("dag(?:en)?", "we(?:ek|ken)", "maand(?:en)?", "ja(?:ar|ren)", "weekend"),
        ago=r"{n} {u} geleden",
        ahead=r"over {n} {u}",
        last=r"(?:vorige?|afgelopen) {u}",
        this=r"(?:deze|dit) {u}",
        following=r"volgende? {u}",
        numbers="een twee|een_paar drie vier vijf zes zeven acht negen tien",
        weekdays="maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        months="januari februari maart april mei juni juli augustus september oktober november december",
        before=r"voor|tot",
        after=r"na|sinds|vanaf",
        between=r"tussen|van",
        joins=r"en|tot",
    ),
    "pl": DateWords(
        days={r"dzis(?:iaj)?": 0, r"wczoraj": -1, r"przedwczoraj": -2, r"jutro": 1, r"pojutrze": 2},
        units=("dni|dzien", "tydzien|tygodni[ae]?|tygodniu", "miesiac(?:a|e|u)?|miesiecy", "roku?|lata|lat", "weekend"),
        ago=r"{n} {u} temu",
        ahead=r"za {n} {u}",
        last=r"(?:zeszl|ubiegl|ostatni)\w* {u}",
        this=r"(?:ten|tym|w tym) {u}",
        following=r"(?:przyszl|nastepn)\w* {u}",
        numbers="jeden|jedna dwa|dwie|dwoch trzy cztery piec szesc siedem osiem dziewiec dziesiec",
        weekdays="poniedzialek wtorek srod[ae] czwartek piatek sobot[ae] niedziel[ae]",
        months="styczni[a]? lut(?:y|ego) marca? kwieci(?:en|nia) maj[a]? czerw(?:iec|ca) lip(?:iec|ca) "
        "sierp(?:ien|nia) wrze(?:sien|snia) pazdziernika? listopada? grud(?:zien|nia)",
        before=r"przed|do",
        after=r"po|od",
        between=r"miedzy|od",
        joins=r"a|i|do",
    ),
    "ru": DateWords(
        days={r"сегодня": 0, r"вчера": -1, r"позавчера": -2, r"завтра": 1, r"послезавтра": 2},
        units=("д(?:ень|ня|ней)", "недел[яюиеь]", "месяц(?:а|ев|е)?", "год[ау]?|лет", "выходны[ех]"),
        ago=r"(?:{n} )?{u} (?:тому )?назад",
        ahead=r"через (?:{n} )?{u}",
        last=r"(?:на )?прошл\w+ {u}",
        this=r"(?:на )?эт\w+ {u}",
        following=r"(?:на )?следующ\w+ {u}",
        numbers="один|одну два|две|пару три четыре пять шесть семь восемь девять десять",
        weekdays="понедельник вторник сред[ау] четверг пятниц[ау] суббот[ау] воскресенье",
        months="январ[ьяе] феврал[ьяе] март[ае]? апрел[ьяе] ма[йяе] июн[ьяе] июл[ьяе] август[ае]? "
        "сентябр[ьяе] октябр[ьяе] ноябр[ьяе] декабр[ьяе]",
        before=r"до|перед",
        after=r"после|с|со|начиная с",
        between=r"между|с",
        joins=r"и|до|по",
    ),
    "uk": DateWords(
        days={r"сьогодні": 0, r"вчора": -1, r"позавчора": -2, r"завтра": 1, r"післязавтра": 2},
        units=("д(?:ень|ні|нів)", "тиж(?:день|ні|нів|ня)", "місяц[іяь]в?", "р(?:ік|оки|оків|оку)", "вихідн[іих]+"),
        ago=r"{n} {u} тому",
        ahead=r"через {n} {u}",
        last=r"минул\w+ {u}",
        this=r"цього {u}",
        following=r"наступн\w+ {u}",
        numbers="один|одну два|дві три чотири п.ять шість сім вісім дев.ять десять",
        weekdays="понеділок вівторок серед[ау] четвер п.ятниц[яю] субот[ау] неділ[яю]",
        before=r"до|перед",
        after=r"після|з",
        between=r"між|з",
        joins=r"та|і|до",
    ),
    "ro": DateWords(
        days={r"astazi": 0, r"ieri": -1, r"alaltaieri": -2, r"maine": 1, r"poimaine": 2},
        units=("zile?|zi", "saptaman[ai]", "luni?|luna", "ani?", "weekend"),
        ago=r"acum {n} {u}",
        ahead=r"peste {n} {u}",
        last=r"{u} trecuta?",
        this=r"{u} (?:asta|aceasta)",
        following=r"{u} viitoare",
        numbers="un|o doua|doi trei patru cinci sase sapte opt noua zece",
        before=r"inainte de|pana(?: la| in)?",
        after=r"dupa|din|de la",
        between=r"intre|de la",
        joins=r"si|la",
    ),
    "zh": DateWords(
        days={r"今天|今日": 0, r"昨天|昨晚": -1, r"前天": -2, r"明天": 1, r"后天": 2},
        units=("天|日", "(?:个|個)?(?:星期|周|週|礼拜)", "(?:个|個)月|月", "年", "周末|週末"),
        ago=r"{n}{u}(?:之|以)?前",
        ahead=r"{n}{u}(?:之|以)?后",
        last=r"上{u}",
        this=r"(?:这|這|本){u}",
        following=r"下{u}",
        numbers="一 二|两 三|几 四 五 六 七 八 九 十",
        whole={"去年": (3, 1), "今年": (3, 0), "前年": (3, 2)},
        has_spaces=False,
    ),
    "ja": DateWords(
        days={r"今日|今夜": 0, r"昨日|昨夜": -1, r"一昨日|おととい": -2, r"明日": 1, r"明後日": 2},
        units=("日", "週間", "(?:か月|ヶ月|カ月)", "年", "週末"),
        ago=r"{n}{u}前",
        ahead=r"{n}{u}後",
        last=r"(?:先|前の){u}",
        this=r"今{u}",
        numbers="一 二 三 四 五 六 七 八 九 十",
        whole={"先週": (1, 1), "今週": (1, 0), "先月": (2, 1), "今月": (2, 0), "去年|昨年": (3, 1), "今年": (3, 0)},
        has_spaces=False,
    ),
}
