"""The offline responder in the real loop: notes, quotes with their places, and what it says of itself."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, SummaryEntry, ToolCall, Usage, UserEntry
from gateway.agent.loop import TurnOutlets, run_turn
from gateway.agent.models.offline import OfflineModel, respond
from gateway.agent.models.offline_quotes import NOTHING, OFFER, QUOTE_CAP, UNCLEAR, excerpt
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.settings import TurnLimits
from gateway.agent.tools.tool import Toolbox, tool
from gateway.agent.window.compact import shown_summary
from gateway.errors import ToolError
from tests.workspaces.turns import MAIN

PORT = {
    "path": "memory/2026-11-20.md",
    "start_line": 5,
    "end_line": 5,
    "date": "2026-11-20",
    "score": 0.9,
    "snippet": "09:14 The staging database moved to port 5433",
    "citation": "memory/2026-11-20.md#L5-L5",
    "similarity": 0.62,
    "matched": 0.8,
}
NONE = "No jobs are scheduled."
FAINT = {
    **PORT,
    "snippet": "lunch with Ann",
    "citation": "memory/2026-11-19.md#L1-L1",
    "similarity": 0.1,
    "matched": 0.0,
}


class Talk:
    """A conversation with the offline responder, over tools that keep notes and return the given hits."""

    def __init__(self, *hits: dict[str, object], mode: str = "hybrid", notice: str | None = None) -> None:
        self.history: list[Entry] = []
        self.notes: list[str] = []
        self.queries: list[str] = []
        self.drafts: list[str] = []
        self.scheduled: list[tuple[str, str]] = []
        self.notified: list[str] = []
        self.hits = list(hits)

        @tool
        async def add_note(text: str) -> str:
            """Write a note."""
            if text == "full":
                raise ToolError("the disk is full")
            self.notes.append(text)
            return f"Noted in memory/2026-11-21.md#L{len(self.notes) + 2}."

        @tool
        async def memory_search(query: str, max_results: int = 6) -> str:
            """Search memory."""
            self.queries.append(query)
            return json.dumps({"hits": self.hits[:max_results], "mode": mode, "notice": notice})

        @tool
        async def schedule(when: str = "", what: str = "") -> str:
            """Schedule a job."""
            if not when:
                return "\n".join(f"{n}. at 9: {what}; next 9" for n, (_, what) in enumerate(self.scheduled, 1)) or NONE
            if "9" not in when:
                raise ToolError("'milk' is not a schedule: write one; nothing was scheduled")
            self.scheduled.append((when, what))
            return "Scheduled as job 1; next Sun 2026-11-22 09:00."

        @tool
        async def notify(text: str) -> str:
            """Notify the owner."""
            self.notified.append(text)
            return "Your owner is notified."

        self.tools = Toolbox([add_note, memory_search, schedule], MAIN)
        self.tools_of_a_job = Toolbox([notify], MAIN)

    async def say(self, text: str, model: OfflineModel | None = None, sender: str = "") -> str:
        self.history.append(UserEntry(text, datetime(2026, 11, 21, tzinfo=UTC), sender, str(len(self.history))))

        async def journal(entry: Entry) -> None:
            self.history.append(entry)

        async def draft(piece: str) -> None:
            self.drafts.append(piece)

        request = ModelRequest("", tuple(self.history), ())
        answer = await run_turn(
            model or OfflineModel(), request, self.tools, TurnLimits(steps=3), TurnOutlets(journal, draft)
        )
        assert answer.model == "offline"
        return answer.text


async def test_what_shall_be_remembered_is_noted_and_shown() -> None:
    """The confirmation quotes what was saved and says where it stands."""
    talk = Talk()
    answer = await talk.say("remember that the staging database moved to port 5433")
    assert talk.notes == ["the staging database moved to port 5433"]
    assert answer.startswith("Noted in `memory/2026-11-21.md#L3`:\n\n> the staging database moved to port 5433")
    assert talk.queries == []
    assert talk.drafts == [answer]


async def test_a_reminder_is_scheduled_and_comes_as_the_persons_own_words() -> None:
    """The time is read by the tool; without one the answer says so, and how to write it. The job needs no memory."""
    talk = Talk()
    asked = "remind me tomorrow at 9 to call the mill"
    assert (await talk.say(asked)).startswith("Scheduled as job 1; next Sun 2026-11-22 09:00.")
    answer = await talk.say("remind me to buy milk")
    assert "I need a time, as in “remind me tomorrow at 9 to …”: nothing was scheduled" in answer
    assert "is not a schedule" not in answer
    assert talk.queries == []
    [(when, what)] = talk.scheduled
    assert when == asked
    job = Talk()
    job.tools = job.tools_of_a_job
    await job.say(what)
    assert job.notified == [f"A reminder:\n\n> {asked}"]


async def test_the_first_result_is_quoted_even_if_another_is_more_alike() -> None:
    """The ranking also knows which line holds the kind of answer that was asked for."""
    number = PORT | {"snippet": "the technician is Rashid 0478 22 91 03", "similarity": 0.18, "matched": 0.39}
    called = PORT | {"snippet": "Rashid called", "similarity": 0.53, "matched": 0.39}
    answer = await Talk(number, called).say("whats rashids number")
    assert "0478 22 91 03" in answer
    assert "0478" not in await Talk(called, number | {"similarity": 0.0}).say("whats rashids number")


async def test_messages_quoted_together_stand_apart() -> None:
    """A line and the one that it is understood with: in one paragraph "…stairs 16:40 Owner: …" would run on."""
    both = PORT | {
        "snippet": "16:36 Owner: the lights are under the stairs\n16:40 Owner: the crate is red",
        "matched": 1.0,
    }
    answer = await Talk(both).say("where are the lights")
    assert "> Owner: the lights are under the stairs\n>\n> 16:40 Owner: the crate is red" in answer


async def test_a_pasted_text_is_not_answered_with_its_own_parts() -> None:
    """They are in memory by the time of the search; a note about it is quoted."""
    pasted = "\n".join(f"{number:03}: the boiler of the mill was read" for number in range(100))
    part = PORT | {"snippet": "16:40 Owner: 041: the boiler of the mill was read 042: the boiler", "matched": 1.0}
    note = PORT | {"snippet": "the boiler of the mill is Mara's", "matched": 0.6}
    answer = await Talk(part, note).say(pasted)
    assert "Mara's" in answer
    assert "041" not in answer


async def test_news_is_offered_as_a_note_without_quotes_that_do_not_answer() -> None:
    """Nobody asked, so the nearest line would be noise."""
    near = PORT | {"similarity": 0.35, "matched": 0.1}
    said = "oven 2 is broken again, the technician comes on thursday"
    assert (await Talk(near).say(said)).startswith(OFFER)
    assert (await Talk(near).say("broken oven?")).startswith(UNCLEAR)
    assert (await Talk(near).say("my back hurts")).startswith(OFFER)
    assert (await Talk(near).say("oven technician thursday")).startswith(UNCLEAR)


async def test_a_statement_of_this_conversation_answers_at_once() -> None:
    """Memory takes in the newest messages after a pause; until then they are quoted from the conversation."""
    talk = Talk()
    await talk.say("the deadline is 18 January, they pay 0.11 per word")
    await talk.say("my back hurts so I do pilates thursdays at 19:15 with Mireia")
    assert "> the deadline is 18 January" in await talk.say("when is my deadline?")
    assert "> my back hurts so I do pilates thursdays at 19:15" in await talk.say("when is my pilates class")
    assert (await talk.say("where do I park?")).startswith(NOTHING)


async def test_nobody_is_told_that_they_said_what_another_said() -> None:
    """In a group "you said" quotes the one who asks."""
    talk = Talk()
    await talk.say("the deadline is 18 January, they pay 0.11 per word", sender="Ann")
    assert (await talk.say("when is the deadline?", sender="Ben")).startswith(NOTHING)
    assert "18 January" not in await talk.say("what did I say?", sender="Ben")
    assert "18 January" in await talk.say("when is the deadline?", sender="Ann")
    assert "18 January" in await talk.say("what did I say?", sender="Ann")


async def test_a_newer_statement_stands_above_an_older_note() -> None:
    """A note that holds no longer is not the whole answer; the same words are quoted once."""
    note = PORT | {"snippet": "09:14 The deadline is 18 January"}
    talk = Talk(note)
    await talk.say("they moved the deadline to 25 January, finally")
    answer = await talk.say("when is the deadline?")
    assert 0 < answer.index("> they moved the deadline to 25 January") < answer.index("> The deadline is 18 January")
    talk.hits[:] = [PORT | {"snippet": "Owner: they moved the deadline to 25 January, finally"}]
    assert (await talk.say("when is the deadline?")).count("25 January") == 1


async def test_a_statement_that_memory_found_too_stands_where_it_ranks() -> None:
    """Said last and sharing a word, it does not go above the note that answers."""
    marit = {**PORT, "snippet": "the queen in hive 7 was replaced, she came from Marit"}
    blue = {**FAINT, "snippet": "10:02 the queen in hive 7 is marked blue", "matched": 0.5, "similarity": 0.2}
    talk = Talk(marit, blue)
    await talk.say("the queen in hive 7 is marked blue")
    answer = await talk.say("who did I get the new queen from?")
    assert "Marit" in answer
    assert "conversation" not in answer
    talk.hits.pop()
    assert "In this conversation you said" in await talk.say("who did I get the new queen from?")


async def test_a_list_that_was_told_in_several_messages_is_quoted_whole() -> None:
    """Each of them has as many words of the question; the newest three, in the order in which they were said."""
    talk = Talk()
    for told in ("list for drydock: sea chest gratings", "the cat sleeps all day", "drydock list also: cooler plates"):
        await talk.say(told)
    await talk.say("forget about the drydock list")
    answer = await talk.say("what's on the drydock list?")
    assert answer.startswith(
        "In this conversation you said:\n> list for drydock: sea chest gratings\n> drydock list also: cooler plates"
    )
    assert "cat" not in answer
    assert "forget" not in answer


async def test_a_question_is_answered_with_quote_day_and_place() -> None:
    """The note's day is told in words, the time stands beside it, and the citation leads to the line."""
    answer = await Talk(PORT, FAINT).say("Where is the staging database?")
    assert answer.startswith(
        "Friday, 20 November 2026, 09:14 (`memory/2026-11-20.md#L5-L5`):\n> The staging database moved to port 5433\n"
    )
    assert "Ann" not in answer


@pytest.mark.parametrize("hits", [[], [FAINT]])
async def test_below_the_threshold_there_is_nothing(hits: list[dict[str, object]]) -> None:
    """A faint hit is not passed off as an answer."""
    answer = await Talk(*hits).say("Where is the staging database?")
    assert answer.startswith(NOTHING)
    assert ">" not in answer.replace("<name>", "")


async def test_the_nearest_note_is_shown_as_unclear() -> None:
    """A note that may answer is quoted, and said not to answer clearly."""
    answer = await Talk({**PORT, "similarity": 0.36, "matched": 0.0}).say("Where is the staging database?")
    assert answer.startswith(UNCLEAR)
    assert "> The staging database moved to port 5433" in answer


async def test_a_plain_statement_is_offered_to_be_noted() -> None:
    """ "Yes" afterwards notes it word for word; in another conversation without notes nothing is offered."""
    talk = Talk()
    assert (await talk.say("My dog is called Rex")).startswith(OFFER)
    assert talk.notes == []
    assert (await talk.say("yes please")).startswith("Noted in")
    assert talk.notes == ["My dog is called Rex"]
    assert not (await talk.say("yes")).startswith("Noted in")


async def test_words_about_something_known_are_answered_first() -> None:
    """Keywords bring quotes and no offer; a sentence, or a number that the notes do not have, brings both."""
    assert OFFER not in await Talk(PORT).say("staging database port")
    assert (await Talk(PORT).say("The staging database moved again.")).count(OFFER) == 1
    assert OFFER not in await Talk(PORT).say("staging database port 5433")
    assert (await Talk(PORT).say("staging database got 5434")).count(OFFER) == 1
    assert OFFER not in await Talk(PORT).say("port number of the staging database in the cellar")
    assert (await Talk(PORT).say("port number of the staging database in the cellar is 5434")).count(OFFER) == 1


async def test_what_was_said_is_told_again() -> None:
    """Without a topic it is the statements of this conversation, without a search."""
    talk = Talk()
    await talk.say("My dog is called Rex")
    await talk.say("Where is the boat?")
    queries = list(talk.queries)
    assert "> My dog is called Rex" in await talk.say("What did I say?")
    assert talk.queries == queries


async def test_an_order_to_forget_names_the_command() -> None:
    """A sentence removes nothing."""
    assert "`/forget the gate code`" in await Talk().say("forget the gate code")


async def test_an_order_to_cancel_shows_the_jobs() -> None:
    """A search for its words, and an offer to note them, cancelled nothing."""
    talk = Talk()
    assert NONE in await talk.say("cancela el recordatorio del electricista")
    assert not talk.queries


async def test_an_exact_word_is_enough() -> None:
    """A note that has the question's rare word answers, however little its meaning is alike."""
    hit = {**PORT, "similarity": 0.11, "matched": 0.9}
    assert "5433" in await Talk(hit).say("what is STAGING_DB_PORT")


async def test_where_nothing_is_known_of_meaning_words_decide() -> None:
    """Without an embedder a note answers that holds enough of the question's words."""
    assert "5433" in await Talk({**PORT, "similarity": 0.0, "matched": 0.45}, mode="keyword").say("staging port?")
    faint = {**PORT, "similarity": 0.0, "matched": 0.2}
    assert (await Talk(faint, mode="keyword").say("staging port?")).startswith(NOTHING)


async def test_no_more_than_four_quotes() -> None:
    """An answer fits a screen."""
    answer = await Talk(*[{**PORT, "citation": f"memory/x.md#L{n}-L{n}"} for n in range(6)]).say("port?")
    assert answer.count("5433") == 4


async def test_it_says_what_it_is_in_full_once_and_then_briefly() -> None:
    """The first answer tells how to configure a model; later ones only remind."""
    talk = Talk(PORT)
    first = await talk.say("Where is the staging database?")
    second = await talk.say("Which port does it have?")
    noted = await talk.say("remember that it is fast")
    assert first.count("No language model is configured") == 1
    assert "strandline connect model" in first
    assert second.count("language model") == 1
    assert "strandline connect model" not in second
    assert "language model" not in noted


async def test_a_stand_in_does_not_claim_that_nothing_is_configured() -> None:
    """As the last fallback it says that the model is down."""
    answer = await Talk(PORT).say("Where is the staging database?", OfflineModel(stands_in=True))
    assert "gives no answer now" in answer
    assert "configured" not in answer


async def test_a_greeting_costs_no_search() -> None:
    """Hello is answered with what can be said."""
    talk = Talk(PORT)
    answer = await talk.say("hello")
    assert "remember that" in answer
    assert talk.queries == []
    assert await talk.say("thanks!") == "You are welcome."


async def test_what_it_can_do_is_said_again_briefly() -> None:
    """Later in a conversation the question still leads to examples and to the commands."""
    talk = Talk(PORT)
    await talk.say("hello")
    answer = await talk.say("what can you do?")
    assert "remember that" in answer
    assert "`/help`" in answer


async def test_a_follow_up_is_searched_with_what_it_leans_on() -> None:
    """The words of the question before it go with it."""
    talk = Talk(PORT)
    await talk.say("Where is the staging database?")
    await talk.say("and when was that?")
    assert talk.queries == ["Where is the staging database?", "and when was that? staging database"]


async def test_a_note_and_a_question_in_one_message() -> None:
    """Both are done, and both are told."""
    talk = Talk(PORT)
    answer = await talk.say("Remember that Ann likes tea. Where is the staging database?")
    assert talk.notes == ["Ann likes tea."]
    assert answer.index("Ann likes tea.") < answer.index("5433")


async def test_a_search_by_words_alone_says_so() -> None:
    """What the search degrades to is passed on, in its own words where it has some."""
    assert "keywords only" in await Talk(PORT, mode="keyword").say("port?")
    assert "(still indexing)" in await Talk(PORT, mode="keyword", notice="still indexing").say("port?")


async def test_a_note_that_fails_is_not_confirmed() -> None:
    """The refusal of the tool is told, and nothing else."""
    answer = await Talk().say("remember: full")
    assert answer.startswith("I could not save that: the disk is full")


def ask(*entries: Entry, tools: Sequence[str] = ("add_note", "memory_search")) -> ReplyEntry:
    return respond(ModelRequest("", entries, [ToolSpec(name, "", {}) for name in tools]))


def user(text: str) -> UserEntry:
    return UserEntry(text, datetime(2026, 11, 21, tzinfo=UTC), "", "m")


def test_where_a_turn_has_no_tools_it_says_so() -> None:
    """A subagent's turn has neither notes nor search."""
    assert ask(user("where is it?"), tools=()).text.startswith("I cannot search memory")
    assert ask(user("remember that x is y"), tools=["memory_search"]).text.startswith("I cannot save notes")
    assert ask(user("remember that")).text.startswith("What should I remember?")


def test_it_is_a_function_of_the_request() -> None:
    """The same request gets the same calls and texts, but for the ids of its calls."""
    calls = [ask(user("Where is the port?")).calls[0] for _ in range(2)]
    assert calls[0].arguments == calls[1].arguments == '{"query": "Where is the port?", "max_results": 6}'
    assert calls[0].id != calls[1].id


def test_it_takes_over_from_a_model_that_failed_in_the_middle() -> None:
    """Results that another model had asked for are told; other tools' results are passed over."""
    read = ReplyEntry("", (ToolCall("c1", "read_file", "[]"),), "big", Usage())
    began = (user("where is the port?"), read, ResultEntry("c1", "read_file", "private text", False))
    assert [call.name for call in ask(*began).calls] == ["memory_search"]
    searched = ReplyEntry("", (ToolCall("c2", "memory_search", '{"query": 3}'),), "big", Usage())
    reply = ask(*began, searched, ResultEntry("c2", "memory_search", json.dumps({"hits": [PORT]}), False))
    assert "5433" in reply.text
    assert "private" not in reply.text


def test_messages_in_a_row_are_heard_together() -> None:
    """Two messages that nothing answered yet are one: neither the note nor the question is lost."""
    calls = ask(user("remember that x is y"), user("where is z?")).calls
    assert [call.name for call in calls] == ["add_note", "memory_search"]


def test_a_summary_is_no_part_of_the_message_after_it() -> None:
    """An order is carried out in its own words, and a summary is never quoted as what somebody said."""
    summary = SummaryEntry("## Open tasks\n- remind me on Monday at 9 to water the garden", "t2", (), False, "")
    said = UserEntry(shown_summary(summary), datetime(2026, 11, 21, tzinfo=UTC), "", "")
    reply = ask(said, user("remind me at 9 to stretch"), tools=["schedule", "memory_search"])
    assert json.loads(reply.calls[0].arguments)["when"] == "remind me at 9 to stretch"
    looks = ReplyEntry("", (ToolCall("c1", "memory_search", "{}"),), "offline", Usage())
    finds = ResultEntry("c1", "memory_search", json.dumps({"hits": []}), False)
    assert "Summary by" not in ask(said, user("where is the garden?"), looks, finds).text


def test_a_result_that_is_no_json_is_told_as_it_is() -> None:
    """A search whose result cannot be read does not stop the turn."""
    searched = ReplyEntry("", (ToolCall("c1", "memory_search", "{}"),), "offline", Usage())
    assert "cannot read" in ask(user("x?"), searched, ResultEntry("c1", "memory_search", "cut [", False)).text


def test_a_long_note_is_quoted_where_it_bears_on_the_question() -> None:
    """The excerpt begins with the sentence that has the question's words, and shows where it is cut."""
    text = "Nothing here. " * 60 + "The staging database has port 5433. " + "More of it. " * 60
    shown = excerpt(text, "Which port has the staging database?")
    assert shown.startswith("… The staging database has port 5433.")
    assert shown.endswith(" …")
    assert len(shown) <= QUOTE_CAP + 4
    assert excerpt("short", "x") == "short"
    assert excerpt(" " * (QUOTE_CAP + 1), "x") == "…"
