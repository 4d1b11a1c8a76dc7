"""The second document: OneClaw's memory with categories, daily logs, a hybrid search and versions in git."""

import pytest

from tests.conformance.facts import DAY, LONG_TERM, reads, weighs_seven_to_three
from tests.conformance.statements import Statement, better, is_document, lacking, same, settings
from tests.workspaces.turns import MAIN
from workspaces.memory.index.embeddings.transformer import DIMENSION
from workspaces.memory.index.settings import GENTLE
from workspaces.sections import Category

ONE = settings("oneclaw").memory
HISTORY = "tests/workspaces/history/test_history.py"
LIFECYCLE = "tests/gateway/sessions/test_lifecycle.py"
NOTES = "tests/gateway/agent/tools/test_notes.py"
RANKING = "tests/workspaces/memory/index/test_ranking.py"
TOOLS = "tests/gateway/agent/tools/test_history.py"
IMPORTS = "tests/gateway/importers/test_folders.py"
STATEMENTS = (
    better(
        "the lasting file lies in memory/, and the days in memory/daily/",
        "one layout for both systems, at the root and in memory/; `import oneclaw` brings either there",
        f"{IMPORTS}::test_both_layouts_of_oneclaw_lead_to_the_same_places",
        check=lambda: reads(MAIN, LONG_TERM, DAY),
    ),
    same(
        "its facts have categories: profile, preferences, interests, workflow, projects, notes",
        check=lambda: (
            {"profile", "preferences", "interests", "workflow", "projects", "notes"} <= {str(each) for each in Category}
        ),
    ),
    same("two tools save and correct them", f"{NOTES}::test_a_lasting_fact_is_saved_corrected_and_deleted"),
    same(
        "a session's end writes the day's log",
        f"{LIFECYCLE}::test_a_session_that_ends_leaves_a_note_and_a_transcript_put_away",
    ),
    better(
        "an app that goes to the background writes it too",
        "a server has no background: a conversation that rests does it",
        f"{LIFECYCLE}::test_rest_and_idle_come_by_themselves",
    ),
    same(
        "so does a change of the session", f"{LIFECYCLE}::test_who_turns_to_another_agent_leaves_a_note_with_the_first"
    ),
    same("and a change of the day", f"{LIFECYCLE}::test_a_new_day_is_noted_before_its_first_message"),
    same(
        "and the moment before a summary",
        "tests/gateway/sessions/test_compaction.py::test_a_full_conversation_is_noted_then_summarised_and_goes_on",
    ),
    same("keywords count 30 % and vectors 70 %", check=lambda: weighs_seven_to_three("oneclaw")),
    same(
        "keywords are scored by BM25",
        "tests/workspaces/memory/test_search.py::test_a_hit_has_its_place_its_day_and_its_parts",
    ),
    better(
        "vectors come from a small e5 on this machine, 384 numbers each",
        "from e5-small-v2, on this machine and of 384 numbers too, which finds more of people's talk",
        "tests/workspaces/memory/index/embeddings/test_local.py::test_vectors_have_the_promised_shapes_and_length_one",
        check=lambda: DIMENSION == 384,
    ),
    same(
        "without the model keywords alone answer",
        "tests/workspaces/memory/test_search.py::test_without_an_embedder_words_are_found_and_it_is_said",
    ),
    better(
        "they are kept in the app's database",
        "in a Qdrant index beside the notes, which may be deleted at any time",
        "tests/workspaces/memory/test_search.py::test_a_deleted_index_comes_back_with_the_same_answers",
    ),
    better(
        "age lowers a score without a bound",
        "bounded to 2 %: unbounded decay lost most evidence when it was measured; decay_floor = 0 brings it back",
        f"{RANKING}::test_without_a_floor_age_takes_everything",
        check=lambda: ONE.decay_floor == GENTLE.floor,
    ),
    same(
        "memories that fit are put before each request",
        "tests/journeys/test_what_you_tell.py::test_the_readmes_story_holds_on_the_second_day",
        check=lambda: ONE.recall == "on",
    ),
    lacking(
        "entries have a score of quality",
        "no formula is known; what is repeated is not written, and a likely replacement asks",
    ),
    better(
        "duplicates and poor entries are cleaned up by themselves",
        "a repetition is not written in the first place, and nothing is ever removed without its owner",
        "tests/gateway/commands/test_replaces.py::test_a_repetition_is_not_written_twice",
    ),
    same("every write is a commit", f"{HISTORY}::test_a_change_is_one_commit_with_its_origin"),
    same("binary files are left out of it", f"{HISTORY}::test_only_texts_of_a_sensible_size_are_kept"),
    same("the repository is tidied once a month", f"{HISTORY}::test_maintenance_is_done_once_a_month"),
    better(
        "a commit's message names the kind of change and the file",
        "it also names the message and the chat that led to it",
        f"{TOOLS}::test_a_change_is_shown_with_its_source",
    ),
    same(
        "search_history looks through notes, logs and conversations",
        "tests/gateway/agent/tools/test_memory.py::test_history_is_searched_between_days_and_letter_by_letter",
    ),
    same("a tool lists commits, of one file too", f"{TOOLS}::test_the_log_is_one_line_a_change"),
    same("one shows a commit", f"{TOOLS}::test_a_change_is_shown_with_its_source"),
    same("one compares two", f"{TOOLS}::test_two_revisions_are_compared"),
    same("one restores a file", f"{TOOLS}::test_a_file_is_restored_in_the_name_of_the_turn"),
    same("one exports everything as a bundle", f"{TOOLS}::test_the_export_is_named"),
    better(
        "a screen shows logs, memory, statistics and versions with filters",
        "the program and the page's chat show them: history log --path, memory status, /history",
        "tests/gateway/cli/test_history.py::test_the_log_is_newest_first",
    ),
    same("attachments are not versioned", f"{HISTORY}::test_only_texts_of_a_sensible_size_are_kept"),
)


def test_the_document_is_the_one_that_was_read() -> None:
    """Its statements were walked through in this text."""
    is_document("001_2a8165d1d67b017a.txt", "8c21fa06fe570e9e")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.says)
def test_each_statement_is_as_it_says(statement: Statement) -> None:
    """The same, or something else on purpose."""
    statement.hold()
