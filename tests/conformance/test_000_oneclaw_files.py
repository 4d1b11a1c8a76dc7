"""The first document: OneClaw's memory as files in the prompt, and its search by substring."""

import pytest

from gateway.sessions.flush import LEAST_MESSAGES
from tests.conformance.facts import DAY, LONG_TERM, context, reads, reads_none, searches
from tests.conformance.statements import Statement, better, is_document, same, settings
from tests.workspaces.turns import CRON, MAIN, PRIVATE_CRON, SUBAGENT
from workspaces.prompt_limits import ONECLAW

ONE = settings("oneclaw").memory
BOOTSTRAP = "tests/workspaces/test_bootstrap.py"
COMPACTION = "tests/gateway/sessions/test_compaction.py"
FLUSH = "tests/gateway/sessions/test_flush.py"
STATEMENTS = (
    same(
        "lasting facts are one Markdown file at the root, each day has a file of its own",
        check=lambda: reads(MAIN, LONG_TERM, DAY),
    ),
    same(
        "the files are the truth, and everything else comes from them",
        "tests/workspaces/memory/test_search.py::test_a_deleted_index_comes_back_with_the_same_answers",
    ),
    same(
        "the prompt has 4,000 characters of the lasting file",
        f"{BOOTSTRAP}::test_the_oneclaw_preset_has_its_numbers_and_its_look",
        check=lambda: ONE.file_chars == ONECLAW.file_chars == 4_000,
    ),
    same("4,000 of today's notes", check=lambda: ONE.today_chars == 4_000),
    same("2,000 of yesterday's", check=lambda: ONE.yesterday_chars == 2_000),
    same(
        "memory stands in one block between markers, and a mark says where it was cut",
        f"{BOOTSTRAP}::test_the_oneclaw_preset_has_its_numbers_and_its_look",
    ),
    same("without notes there is no block", f"{BOOTSTRAP}::test_the_oneclaw_preset_without_memory_has_no_block"),
    same("the notes are in the prompt of a chat", check=lambda: ONE.daily_notes_in_prompt),
    better(
        "a delegated agent gets the same memory",
        "its task may come from somebody else's text; only AGENTS.md and TOOLS.md are for it",
        check=lambda: reads_none(SUBAGENT, LONG_TERM, DAY),
    ),
    better(
        "a scheduled task gets the same memory",
        "a job that others may hear of sees none; schedule.remembers grants it to a job that only the owner reads",
        check=lambda: reads_none(CRON, LONG_TERM, DAY) and reads(PRIVATE_CRON, LONG_TERM, DAY),
    ),
    same(
        "a tool named search_memory is always offered",
        "tests/conformance/test_presets.py::test_tools_are_offered_and_hidden_by_the_preset",
        check=lambda: ONE.offer_tools == ("search_memory",) and searches(MAIN),
    ),
    same(
        "it searches the lasting file and all days, 20 results at most",
        "tests/gateway/agent/tools/test_memory.py::test_the_older_name_works_and_costs_nothing",
    ),
    better(
        "days are searched newest first, after the lasting file",
        "all places are searched newest first, conversations too, so that one long file does not fill every result",
        "tests/gateway/agent/tools/test_memory.py::test_history_is_searched_between_days_and_letter_by_letter",
    ),
    better(
        "a result has the line before and after it",
        "a result is the whole passage with its lines, and memory_get reads what stands around it",
        "tests/gateway/agent/tools/test_memory.py::test_lines_of_a_note_can_be_read",
    ),
    same(
        "the search finds a text whatever its case",
        "tests/gateway/agent/tools/test_memory.py::test_history_is_searched_between_days_and_letter_by_letter",
    ),
    better(
        "notes are written by the tools for files alone",
        "write_file and edit_file do it too; add_note appends in one step, so that two turns lose nothing",
        "tests/gateway/agent/tools/test_notes.py::test_a_note_comes_with_its_receipt",
    ),
    same("the older part is summarised at 80 % of the window", check=lambda: context("oneclaw").share == 0.8),
    same(
        "before that the model saves what matters",
        f"{COMPACTION}::test_a_full_conversation_is_noted_then_summarised_and_goes_on",
    ),
    same(
        "only with more than two messages",
        f"{FLUSH}::test_where_it_is_off_or_too_little_was_said_nobody_is_asked",
        check=lambda: LEAST_MESSAGES == 3,
    ),
    same(
        "in five steps at most, at temperature 0.3",
        check=lambda: (context("oneclaw").flush_steps, context("oneclaw").flush_temperature) == (5, 0.3),
    ),
    better(
        "it may write any file then",
        "a flush gets the tools for notes alone: nobody watches it",
        f"{FLUSH}::test_a_note_is_written_and_read_back_and_nothing_is_said",
    ),
    same(
        "/summarize and a tool of the model start it as well",
        "tests/gateway/commands/test_context.py::test_summarize_shows_the_summary",
    ),
    better(
        "the agent reads its memory passively",
        "it does, and the memories that fit a question are put beside it (recall)",
        check=lambda: ONE.recall == "on",
    ),
)


def test_the_document_is_the_one_that_was_read() -> None:
    """Its statements were walked through in this text."""
    is_document("000_25ff5ed80a811a94.txt", "e36d54f84c5b4565")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.says)
def test_each_statement_is_as_it_says(statement: Statement) -> None:
    """The same, or something else on purpose."""
    statement.hold()
