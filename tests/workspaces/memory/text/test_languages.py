"""Languages of notes, as people write them."""

import pytest

from workspaces.memory.text.languages import language_of

NOTES = {
    "English": "Ida said the boat is in the harbour until Sunday, and that we should bring a tent with us.",
    "German": "Ida hat gesagt, dass das Boot bis Sonntag im Hafen liegt und wir ein Zelt mitbringen sollen.",
    "French": "Ida a dit que le bateau est dans le port jusqu'à dimanche et que nous devons apporter une tente.",
    "Spanish": "Ida dijo que el barco está en el puerto hasta el domingo y que tenemos que llevar una tienda.",
    "Italian": "Ida ha detto che la barca è nel porto fino a domenica e che dobbiamo portare una tenda.",
    "Portuguese": "A Ida disse que o barco está no porto até domingo e que temos de levar uma tenda para a praia.",
    "Dutch": "Ida zei dat de boot tot zondag in de haven ligt en dat we een tent mee moeten nemen.",
    "Polish": "Ida powiedziała, że łódka jest w porcie do niedzieli i że trzeba wziąć namiot na plażę.",
    "Romanian": "Ida a spus că barca este în port până duminică și că trebuie să luăm un cort cu noi.",
    "Russian": "Ида сказала, что лодка стоит в порту до воскресенья и что нам надо взять палатку.",
    "Ukrainian": "Іда сказала, що човен стоїть у порту до неділі і що нам треба взяти намет.",
    "Chinese": "伊达说船在港口停到星期天，我们要带一顶帐篷。",
    "Japanese": "イダさんは、船が日曜日まで港にあるので、テントを持って来てと言いました。",
    "Korean": "이다는 배가 일요일까지 항구에 있으니 텐트를 가져오라고 했다.",
    "Greek": "Η Ίντα είπε ότι το καράβι είναι στο λιμάνι μέχρι την Κυριακή.",
}


@pytest.mark.parametrize("language", NOTES)
def test_a_note_is_known_by_its_language(language: str) -> None:
    """One sentence suffices, with a foreign name in it."""
    assert language_of(NOTES[language]) == language


@pytest.mark.parametrize("text", ["", "5433", "AB-1204 ok", "\U0001f701\U0001f702", "Rex", "\ud800", "?!"])
def test_what_tells_nothing_has_no_language(text: str) -> None:
    """Numbers, identifiers and names are of no language."""
    assert language_of(text) is None


def test_technical_english_is_english() -> None:
    """Code and names between do not make it another language."""
    assert language_of("Deploy to the staging DB (port 5433) with `make deploy`; the CI is on de.example") == "English"
