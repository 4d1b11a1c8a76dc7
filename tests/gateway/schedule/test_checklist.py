"""Due items of `HEARTBEAT.md`, and the visible part of an answer, without any model."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schedule.checklist import (
    MOST_CHARACTERS,
    MOST_ITEMS,
    Checklist,
    Item,
    Rhythm,
    Watch,
    boot_prompt,
    changed_files,
    due_items,
    for_owner,
    is_blank,
    next_look,
    prompt_for,
    read_checklist,
    without_heartbeat_token,
)
from gateway.schedule.recurrence import Cron
from gateway.schedule.settings import HeartbeatSettings

BERLIN = ZoneInfo("Europe/Berlin")
HALF_HOUR = timedelta(minutes=30)
ALWAYS = Rhythm(HeartbeatSettings("30m", "00:00-24:00"), BERLIN)
TEMPLATE = Path(__file__).parents[3] / "workspaces/templates/HEARTBEAT.md"


def berlin(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


def due(text: str, since: str, now: str, *changed: str, is_round: bool = True) -> list[str]:
    """The texts of what became due, by the clock on the wall in Berlin."""
    found = due_items(read_checklist(text, BERLIN), berlin(since), berlin(now), changed, is_round=is_round)
    return [each.item.text for each in found]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n\n",
        "# What to look after\n\n## Daily\n---\n- \n*\n",
        "<!-- - [ ] daily 09:00 mail\nand more -->\n",
        "<!-- never closed\n- [ ] mail",
        "```\n- [ ] mail\n```\n",
        "- [x] mail\n- [X] tea\n  with milk\n",
        "- [ ]\n- [ ]   \n",
        "# What\n\nEach list item here is checked on every heartbeat. With no items, no model is called.\n",
        TEMPLATE.read_text("utf-8"),
    ],
)
def test_a_list_without_an_open_box_asks_for_nothing(text: str) -> None:
    """Headings, comments, code, ticked and empty boxes, and the template in its two forms."""
    assert read_checklist(text, BERLIN) == Checklist()
    assert is_blank(text)


@pytest.mark.parametrize(
    ("said", "text", "when"),
    [
        ("look at the mail", "look at the mail", "None"),
        ("daily 09:00 mail", "mail", "0 9 * * * (Europe/Berlin)"),
        ("Daily 9:05: mail", "mail", "5 9 * * * (Europe/Berlin)"),
        ("weekdays 08:30 – mail", "mail", "30 8 * * MON-FRI (Europe/Berlin)"),
        ("Mon 08:30 mail", "mail", "30 8 * * MON (Europe/Berlin)"),
        ("Mon,Thu 08:30 mail", "mail", "30 8 * * MON,THU (Europe/Berlin)"),
        ("Mon-Fri 08:30 mail", "mail", "30 8 * * MON-FRI (Europe/Berlin)"),
        ("2026-12-01 10:00 mail", "mail", "at 2026-12-01 09:00 UTC"),
        ("at 2026-12-01T10:00: mail", "mail", "at 2026-12-01 09:00 UTC"),
        ("2026-12-01 mail", "mail", "at 2026-11-30 23:00 UTC"),
        ("every 2h mail", "mail", "every 2h"),
        ("every 1h 30m: mail", "mail", "every 1h 30m"),
        ("when memory/projects.md changes: mail", "mail", "Watch(path='memory/projects.md')"),
        ("when `USER.md` changes, mail", "mail", "Watch(path='USER.md')"),
        ("when Ann writes, tell me", "when Ann writes, tell me", "None"),
        ("every evening, mail", "every evening, mail", "None"),
        ("Monday's mail", "Monday's mail", "None"),
    ],
)
def test_an_item_begins_with_its_time(said: str, text: str, when: str) -> None:
    """Or with a file to watch; or it has none."""
    (item,) = read_checklist(f"* [ ] {said}\n", BERLIN).items
    assert (item.text, str(item.when)) == (text, when)


@pytest.mark.parametrize(
    "said",
    [
        "daily 25:00 mail",
        "daily mail",
        "09:00 mail",
        "2026-13-40 mail",
        "every 0m mail",
        "Mon 09:61 mail",
        "daily 09:00",
    ],
)
def test_a_time_that_is_none_is_named_with_a_right_example(said: str) -> None:
    """Its item is not run at every round instead."""
    found = read_checklist(f"- [ ] {said}\n- [ ] tea\n", BERLIN)
    assert [item.text for item in found.items] == ["tea"]
    (fault,) = found.faults
    assert said in fault
    assert '"' in fault.removeprefix(repr(said))


def test_prose_is_one_item_unless_there_are_boxes() -> None:
    """Beside boxes, also ticked ones, it is explanation."""
    assert [item.text for item in read_checklist("# Mail\nLook at it.\nTwice.\n", BERLIN).items] == [
        "Look at it.\nTwice."
    ]
    assert read_checklist("# Mail\nLook at it.\n", BERLIN).is_prose
    assert not read_checklist("# Mail\n", BERLIN).is_prose
    assert read_checklist("Look at it.\n- [x] mail\n", BERLIN).items == ()
    assert [i.text for i in read_checklist("How:\n- [ ] mail\n  from Ann\n\n  or Ben\nend", BERLIN).items] == [
        "mail\nfrom Ann"
    ]


def test_a_huge_file_is_read_within_limits_and_says_so() -> None:
    """A megabyte of boxes, or of prose, takes no longer than what is read of it."""
    boxes = read_checklist("- [ ] mail\n" * 100_000, BERLIN)
    assert len(boxes.items) == MOST_ITEMS
    assert len(boxes.faults) == 2
    prose = read_checklist("word " * 200_000, BERLIN)
    assert [len(item.text) for item in prose.items] == [MOST_CHARACTERS]
    assert len(prose.faults) == 1


def test_an_item_is_due_once_its_time_has_passed_since_the_last_look() -> None:
    """However many of its times passed; not before, and not again."""
    daily = "- [ ] daily 09:00 mail"
    assert due(daily, "2026-03-02 08:30", "2026-03-02 08:59") == []
    assert due(daily, "2026-03-02 08:30", "2026-03-02 09:00") == ["mail"]
    assert due(daily, "2026-03-02 09:00", "2026-03-02 23:59") == []
    assert due(daily, "2026-03-01 10:00", "2026-03-05 08:00") == ["mail"]
    assert due("- [ ] 2026-03-02 09:00 mail", "2026-03-01 10:00", "2026-03-05 08:00") == []  # more than a day late


def test_what_names_no_time_is_due_on_a_round_only() -> None:
    """And a watched file's item, on the round that finds it changed."""
    text = "- [ ] tea\n- [ ] when USER.md changes: mail"
    assert due(text, "2026-03-02 08:30", "2026-03-02 09:00", "USER.md") == ["tea", "mail"]
    assert due(text, "2026-03-02 08:30", "2026-03-02 09:00") == ["tea"]
    assert due(text, "2026-03-02 08:30", "2026-03-02 09:00", "USER.md", is_round=False) == []


def test_a_file_has_changed_if_it_was_watched_before() -> None:
    """One that begins to be watched has not; one that is gone has."""
    assert changed_files({"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "2", "c": "", "d": "1"}) == {"b", "c"}


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_a_daily_item_is_due_once_on_the_days_of_a_clock_change(day: str) -> None:
    """One that the change skips comes after it; one that it repeats comes once."""
    text = "- [ ] daily 02:30 night\n- [ ] daily 09:00 morning"
    begin = berlin(f"{day} 00:00")
    moment, found = begin, list[str]()
    while moment < begin + timedelta(hours=23):
        later = moment + timedelta(minutes=10)
        found += [each.item.text for each in due_items(read_checklist(text, BERLIN), moment, later, (), is_round=False)]
        moment = later
    assert found == ["night", "morning"]


def test_the_next_look_is_at_the_next_round_or_an_items_own_minute() -> None:
    """So what names a minute comes in that minute."""
    daily = Checklist((Item("mail", Cron("10 9 * * *", BERLIN)), Item("tea"), Item("post", Watch("USER.md"))))
    assert next_look(daily, berlin("2026-03-02 09:01"), ALWAYS) == berlin("2026-03-02 09:10")
    assert next_look(daily, berlin("2026-03-02 09:10"), ALWAYS) == berlin("2026-03-02 09:30")
    assert next_look(Checklist(), berlin("2026-03-02 09:01"), ALWAYS) == berlin("2026-03-02 09:30")


@pytest.mark.parametrize(
    ("hours", "active"),
    [
        ("08:00-22:00", "08:00 21:59"),
        ("22:00-06:00", "22:00 23:59 00:00 05:59"),
        ("00:00-24:00", "08:00 21:59 22:00 23:59 00:00 05:59 06:00"),
        ("08:00-08:00", ""),
    ],
)
def test_heartbeats_come_at_the_active_hours_of_the_owner(hours: str, active: str) -> None:
    """Over midnight where they end earlier than they begin; equal is never."""
    rhythm = Rhythm(HeartbeatSettings("30m", hours), BERLIN)
    for clock in ("08:00", "21:59", "22:00", "23:59", "00:00", "05:59", "06:00"):
        assert rhythm.is_active(berlin(f"2026-07-01 {clock}")) == (clock in active.split()) or clock == "06:00"
    assert not Rhythm(HeartbeatSettings("0m", "00:00-24:00"), BERLIN).is_active(berlin("2026-07-01 12:00"))


def test_failures_double_the_time_to_the_next_try_from_the_third_on() -> None:
    """And a success takes it back to the least there is between two."""
    minutes = [ALWAYS.rest(failures).total_seconds() / 60 for failures in range(6)]
    assert minutes == [5, 30, 30, 60, 120, 240]


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("HEARTBEAT_OK", ""),
        ("**HEARTBEAT_OK**", ""),
        ("`heartbeat_ok`.", ""),
        ("HEARTBEAT_OK: nothing new", ""),
        ("All is well.\n\nHEARTBEAT_OK", ""),
        ("HEARTBEAT_OK " + "x" * 300, ""),
        ("HEARTBEAT_OK " + "x" * 301, "x" * 301),
        ("x" * 301 + "\nHEARTBEAT_OK", "x" * 301),
        ("Ann wrote.", "Ann wrote."),
        ("Ann wrote HEARTBEAT_OK to you", "Ann wrote  to you"),
        ("", ""),
    ],
)
def test_what_of_a_heartbeats_answer_its_owner_reads(answer: str, read: str) -> None:
    """Never the word itself."""
    assert for_owner(answer) == read


@given(
    st.text(max_size=50), st.sampled_from(["HEARTBEAT_OK", "Heartbeat_Ok", "**HEARTBEAT_OK**"]), st.text(max_size=50)
)
def test_the_word_never_comes_through(before: str, word: str, after: str) -> None:
    """Wherever it stands."""
    assert "HEARTBEAT_OK" not in for_owner(f"{before}{word}{after}").upper()


def test_a_persons_answer_loses_a_line_that_is_the_word_and_nothing_else() -> None:
    """A model that was taught the word by its heartbeats; who asks what it means is told."""
    assert without_heartbeat_token("Yes, at nine.\n\nHEARTBEAT_OK") == "Yes, at nine."
    assert without_heartbeat_token("HEARTBEAT_OK\nYes.") == "Yes."
    assert without_heartbeat_token("HEARTBEAT_OK") == ""
    told = "HEARTBEAT_OK is what I answer when nothing is due."
    assert without_heartbeat_token(told) == told


def test_what_the_agent_is_asked_names_each_item_and_how_to_answer() -> None:
    """With the time or file that made it due."""
    checklist = read_checklist("- [ ] daily 09:00 mail\n- [ ] tea\n  green\n- [ ] when USER.md changes: greet", BERLIN)
    found = due_items(checklist, berlin("2026-03-02 08:30"), berlin("2026-03-02 09:00"), {"USER.md"}, is_round=True)
    asked = prompt_for(found, BERLIN)
    assert "- mail (due Monday, 2026-03-02 09:00)" in asked
    assert "- tea\n  green\n" in asked
    assert "- greet (USER.md changed)" in asked
    assert "HEARTBEAT_OK" in asked
    assert "Say hello." in boot_prompt("Say hello.")
