"""Requests that a person's message makes for an act: a small closed set, in the offline responder's languages.

Only orders at the start of a sentence count: "remind me to …" is one, "it reminds me of …" and "remind me what …" are
not. A request that is not recognised costs nothing; a false one would accuse an answer, so patterns are narrow.
"""

import re
from enum import StrEnum
from functools import cache

from gateway.agent.models.offline_intents import read_intent


class Request(StrEnum):
    """An act that a person asks for."""

    REMEMBER = "remember"
    REMIND = "remind"
    SEND = "send"
    FORGET = "forget"
    CANCEL = "cancel"


LONGEST_READ = 2_000
"""Characters of a message that are read: orders are short, and pasted texts hold orders to others."""
_MENTION = re.compile(r"\s{0,9}@\w{1,64}[\s,:]{0,9}")
_SENTENCE = re.compile(r"[^.!?…。！？\n]+(?:[.!?…。！？](?=\S)[^.!?…。！？\n]+)*[.!?…。！？]?")
"""A full stop inside a word, such as of a file's name, does not end a sentence."""
_PLEASE = (
    "hey|hi|hello|ok|okay|also|and|please|pls|can you|could you|would you|will you|i want you to|bitte|kannst du|"
    "könntest du|und|s['’]il (?:te|vous) pla[iî]t|peux-tu|pouvez-vous|por favor|puedes|podrías|per favore|puoi|"
    "potresti|você pode|podes|alsjeblieft|kun je|wil je|proszę|czy możesz|możesz|te rog|poți să|пожалуйста|можешь|"
    "можете|будь ласка|можеш|请|請|麻烦|帮我"
)
_GAP = r"[^\n.!?。！？]{0,60}?"
_NOT_TOLD = r"(?![\s,]{1,3}(?:%s)\b)"
_REMIND = (
    r"(?:set|create|add|make|schedule) (?:me )?(?:a |an |the )?(?:new )?(?:reminder|alarm)\b",
    r"remind me\b"
    + _NOT_TOLD % "of|about what|what|who|whom|where|which|why|how|again|if|whether|when (?:did|was|is|i)",
    r"erinner[en]? mich\b" + _NOT_TOLD % "was|wer|wo|wie|warum|welche[rsn]?",
    rf"mich\b{_GAP}\berinnern\b",
    r"rappelle[zr]?-moi\b" + _NOT_TOLD % "ce|qui|quel(?:le)?s?|où|comment|pourquoi|plus tard",
    r"(?:recuérd[ae]me|recordame|avísame|avisame)\b" + _NOT_TOLD % "qué|quién|cuál|dónde|cómo|por qué",
    r"(?:ricordami|avvisami)\b" + _NOT_TOLD % "cosa|chi|dove|come|quale|perché",
    r"(?:lembr[ae]-me|me lembr[ae])\b" + _NOT_TOLD % "o que|quem|onde|como|qual|porqu[eê]",
    r"herinner (?:me|mij)\b" + _NOT_TOLD % "wat|wie|waar|hoe|waarom",
    r"przypomnij mi\b" + _NOT_TOLD % "co|kto|gdzie|jak|dlaczego|jaki",
    r"(?:aminte[sș]te-mi|adu-mi aminte)\b" + _NOT_TOLD % "ce|cine|unde|cum|de ce",
    r"напомни(?:те)?(?: мне)?\b" + _NOT_TOLD % "что такое|кто|где|как|почему|какой|какая|какие|чем",
    r"нагадай(?:те)?(?: мені)?\b" + _NOT_TOLD % "що таке|хто|де|як|чому|який|яка|які",
    r"提醒我",
)
_CANCEL = (
    rf"(?:cancel|delete|remove|turn off|switch off|stop)\b{_GAP}\b(?:reminder|alarm|scheduled job|cron job)s?\b",
    r"stop reminding me\b",
    rf"(?:lösche?|storniere?|streiche?|entferne?)\b{_GAP}\b(?:erinnerung(?:en)?|wecker)\b",
    rf"(?:annule[zr]?|supprime[zr]?)\b{_GAP}\b(?:rappels?|alarmes?)\b",
    rf"(?:cancela|cancele|anula|borra|elimina)\b{_GAP}\b(?:recordatorios?|alarmas?)\b",
    rf"(?:annulla|cancella|elimina)\b{_GAP}\bpromemoria\b",
    rf"(?:cancel[ae]|apag[au]e?|remov[ae])\b{_GAP}\blembretes?\b",
    rf"(?:annuleer|verwijder|schrap)\b{_GAP}\bherinnering(?:en)?\b",
    rf"(?:anuluj|usuń|odwołaj)\b{_GAP}\bprzypomnieni[ae]\b",
    rf"(?:anulează|șterge|sterge)\b{_GAP}\b(?:memento(?:ul)?|alarma)\b",
    rf"(?:отмени|удали|убери)(?:те)?\b{_GAP}\bнапоминани[ея]\b",
    rf"(?:скасуй|видали|прибери)(?:те)?\b{_GAP}\bнагадування\b",
    r"(?:取消|删除|刪除)[^\n。！？]{0,20}提醒",
)
_FILE = r"\b\S{1,60}\.(?:pdf|docx?|xlsx?|csv|txt|md|zip|png|jpe?g)\b"
_SEND = (
    rf"(?:send|forward|e-?mail) (?:me|us)\b{_GAP}(?:\b(?:file|pdf|document|attachment|spreadsheet)s?\b|{_FILE})",
    rf"send (?:an? |the |this )?(?:e-?mail|sms|text message|message)\b{_GAP}\bto\b(?! me\b)",
    rf"(?:schicke?|sende?)\b{_GAP}(?:\b(?:datei|pdf|dokument|e-?mail)\b|{_FILE})",
    rf"envoie[zr]?(?:-moi)?\b{_GAP}(?:\b(?:fichier|pdf|document|e-?mail)\b|{_FILE})",
    rf"(?:env[ií]a(?:me)?|m[aá]nda(?:me)?)\b{_GAP}(?:\b(?:archivo|pdf|documento|correo)\b|{_FILE})",
    rf"(?:manda(?:mi)?|invia(?:mi)?)\b{_GAP}(?:\b(?:file|pdf|documento|e-?mail)\b|{_FILE})",
    rf"(?:envi[ae]|mand[ae])(?:-me)?\b{_GAP}(?:\b(?:ficheiro|arquivo|pdf|documento|e-?mail)\b|{_FILE})",
    rf"(?:stuur|verzend)\b{_GAP}(?:\b(?:bestand|pdf|document|e-?mail)\b|{_FILE})",
    rf"(?:wyślij|prześlij)\b{_GAP}(?:\b(?:plik|pdf|dokument|e-?mail)\b|{_FILE})",
    rf"trimite(?:-mi)?\b{_GAP}(?:\b(?:fi[sș]ierul|pdf|documentul|e-?mail)\b|{_FILE})",
    rf"(?:отправь|пришли|перешли)(?:те)?\b{_GAP}(?:\b(?:файл|pdf|документ|письмо)\b|{_FILE})",
    rf"(?:надішли|відправ|перешли)(?:те|іть)?\b{_GAP}(?:\b(?:файл|pdf|документ|лист)\b|{_FILE})",
    r"(?:发|發|寄)(?:送)?(?:给|給)?[^\n。！？]{0,20}(?:文件|文档|檔案|邮件|郵件)",
)
_FORGET = (rf"(?:delete|remove|erase)\b{_GAP}\b(?:note|memory|memories|notes)\b",)
_ENDS = {
    Request.REMIND: r"(?:リマインドして|思い出させて)(?:ください|ね)?[。!！]{0,3}\Z",
    Request.CANCEL: r"リマインダー[^\n。]{0,10}(?:取り消して|キャンセルして|削除して)(?:ください)?[。!！]{0,3}\Z",
    Request.SEND: r"(?:ファイル|PDF|メール|資料)[^\n。]{0,20}送って(?:ください)?[。!！]{0,3}\Z",
}
"""Japanese orders end with the verb."""
_REMARK = re.compile(r"(?:please )?note that\b", re.IGNORECASE)
"""Introduces an explanation more often than it orders a note."""


def request_in(text: str) -> Request | None:
    """Return the act that *text*, a person's own words, asks for; `None` for an ordinary message."""
    text = _MENTION.sub("", text[:LONGEST_READ], count=1) if text.lstrip().startswith("@") else text[:LONGEST_READ]
    sentences = [each.group().strip() for each in _SENTENCE.finditer(text)]
    for request, starts, end in _patterns():
        if any(starts.match(each) or (end and end.search(each)) for each in sentences):
            return request
    intent = read_intent([text])
    if intent.forgets:
        return Request.FORGET
    return Request.REMEMBER if intent.note and not any(map(_REMARK.match, sentences)) else None


@cache
def _patterns() -> tuple[tuple[Request, re.Pattern[str], re.Pattern[str] | None], ...]:
    orders = {Request.REMIND: _REMIND, Request.CANCEL: _CANCEL, Request.SEND: _SEND, Request.FORGET: _FORGET}
    return tuple((each, _starting(orders[each]), _ending(each)) for each in orders)


def _starting(orders: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?:(?:{_PLEASE})[\s,]{{0,3}}){{0,3}}(?:{'|'.join(orders)})", re.IGNORECASE)


def _ending(request: Request) -> re.Pattern[str] | None:
    return re.compile(_ENDS[request], re.IGNORECASE) if request in _ENDS else None
