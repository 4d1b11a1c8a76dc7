"""Orders not to write something down: "don't note that", "schreib das nicht auf", in the offline responder's languages.

Only a clause of its own counts ("I don't write that down" is none), and it must end behind what is not to be noted:
"don't keep it in the fridge" is about something else.
"""

import re
from enum import StrEnum

from workspaces.lazy_pattern import lazy_pattern


class Withheld(StrEnum):
    """The message that an order keeps out of the notes."""

    THIS = "this"
    """The one that holds the order."""
    BEFORE = "before"
    """That one, and its sender's message before it."""


LONGEST_READ = 2_000
"""Characters of a message that are read."""
_NO_NOTE = (
    r"(?:do not|don['’]?t|never) (?:write|note|save|store|keep|record|log|put|jot) (?:any of )?(?:this|that|it|these"
    r"|those)(?: (?:down|anywhere|on (?:file|record)|(?:in|into|to) (?:your |the |my |any )?(?:notes?|memory|files?))"
    r"){0,2}"
    r"|(?:keep|leave) (?:this|that|it) (?:off the record|out of (?:your |the |my )?(?:notes?|memory))"
    r"|(?:(?:this|that) is |that['’]s )?(?:strictly )?off the record|not for (?:the|your) notes"
    r"|(?:schreibe?|notiere?|speichere?|merke?)(?: dir)? (?:das|dies|es)(?: bitte)? (?:nicht|nirgend(?:wo|s))(?: auf)?"
    r"|(?:das|dies)(?: bitte)? (?:nicht|nirgend(?:wo|s)) (?:aufschreiben|notieren|speichern|merken)"
    r"|(?:ne )?(?:note|garde|enregistre|écris)[zr]? (?:pas|jamais) (?:ça|cela)(?: nulle part)?"
    r"|ne (?:le |la |les )(?:note|garde|enregistre|écris)[zr]? (?:pas|nulle part)"
    r"|no (?:lo |la |los |las )?(?:apunt|anot|guard|registr|escrib)[aei]s?(?: (?:esto|eso|nada de eso))?"
    r"(?: en (?:ning[uú]n (?:lado|sitio|lugar)|ninguna parte|(?:tus|las) notas))?"
    r"|non (?:lo |la )?(?:annotar|scriver|salvar|segnar)(?:e|lo|la)(?: (?:questo|da nessuna parte)){0,2}"
    r"|n[ãa]o (?:o |a )?(?:anot|guard|registr|escrev)[ae]s?(?: (?:isso|isto|em lado nenhum|em lugar nenhum)){0,2}"
    r"|(?:schrijf|noteer|bewaar) (?:dit|dat|het) (?:niet|nergens)(?: op)?"
    r"|nie (?:zapisuj|notuj)(?:cie)?(?: (?:tego|nigdzie)){0,2}"
    r"|nu (?:nota|scrie|salva)(?: (?:asta|nic[ăa]ieri)){0,2}"
    r"|не (?:записывай|сохраняй)(?:те)?(?: (?:это|этого|никуда|нигде)){0,2}"
    r"|не (?:записуй|зберігай)(?:те)?(?: (?:це|цього|нікуди|ніде)){0,2}"
)
_ORDER = lazy_pattern(
    r"(?:\A|[.,;:!?(\n–—-])[ \t]{0,3}(?:(?:please|pls|and|but|so|bitte|und|aber|et|mais|por favor|y|pero|e|ma|mas"
    r"|en|maar|proszę|ale|пожалуйста|но|а)[ ,]{1,3}){0,2}"
    rf"(?:{_NO_NOTE})"
    r"(?=[ \t]{0,3}(?:[.,;:!?)\n–—-]|please\b|pls\b|bitte\b|por favor\b|per favore\b|\Z))",
    re.IGNORECASE,
)
_CJK_ORDER = lazy_pattern(
    r"(?:不要|别|別)(?:记(?:下来|下|录)|記(?:下來|下|錄)|写下来|寫下來|保存)|(?:メモ|記録|保存)(?:は|を)?しないで|書き留めないで"
)


def withheld_by(text: str) -> Withheld | None:
    """Return the message that *text* orders to keep out of the notes; `None` if it orders nothing of the kind."""
    read = text[:LONGEST_READ]
    found = _ORDER.search(read) or (None if read.isascii() else _CJK_ORDER.search(read))
    if found is None:
        return None
    is_alone = not read[: found.start()].strip() and not read[found.end() :].lstrip().startswith((":", "："))
    return Withheld.BEFORE if is_alone else Withheld.THIS
