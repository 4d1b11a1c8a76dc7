"""The third document: OpenClaw's workspace, who is shown which file, and the flush before a summary."""

import pytest

from tests.conformance.facts import (
    DAY,
    LONG_TERM,
    PERSONA,
    RULES,
    context,
    has_command,
    reads,
    reads_none,
    searches,
    weighs_seven_to_three,
)
from tests.conformance.statements import Statement, better, is_document, same, settings
from tests.workspaces.turns import CRON, FULL_HEARTBEAT, GROUP, GROUP_WITH_USER, HEARTBEAT, MAIN, SUBAGENT
from workspaces.access import rights
from workspaces.memory.hits import LONGEST_SNIPPET
from workspaces.memory.text.chunking import CHUNK_TOKENS, OVERLAP_TOKENS
from workspaces.memory.watch import DEBOUNCE_MS

OPEN = settings("openclaw").memory
BOOTSTRAP = "tests/workspaces/test_bootstrap.py"
COMPACTION = "tests/gateway/sessions/test_compaction.py"
FLUSH = "tests/gateway/sessions/test_flush.py"
SEARCH = "tests/workspaces/memory/test_search.py"
STATEMENTS = (
    same(
        "memory is Markdown in a workspace for each agent, and nothing else",
        f"{SEARCH}::test_a_deleted_index_comes_back_with_the_same_answers",
    ),
    same("the lasting file is shown in the owner's own chat", check=lambda: reads(MAIN, LONG_TERM)),
    same("and never in a group", check=lambda: reads_none(GROUP, LONG_TERM, DAY)),
    better(
        "today's and yesterday's notes are in the prompt of the owner's chat",
        "another document shows from the code that they are only searched, and the preset follows the code; "
        "daily_notes_in_prompt = true, the usual default, puts them there",
        f"{BOOTSTRAP}::test_the_days_can_be_left_out",
        check=lambda: not OPEN.daily_notes_in_prompt and settings("standard").memory.daily_notes_in_prompt,
    ),
    same("who the agent is, is shown in every chat", check=lambda: reads(GROUP, "SOUL.md", "IDENTITY.md")),
    better(
        "so is the file about the owner",
        "it holds addresses and habits: groups see it only with user_file_in_groups",
        check=lambda: reads_none(GROUP, "USER.md") and reads(GROUP_WITH_USER, "USER.md"),
    ),
    same("rules and notes on tools are shown in every chat", check=lambda: reads(GROUP, *RULES)),
    same(
        "the checklist is for heartbeats",
        "tests/workspaces/test_access.py::test_each_cell_of_the_matrix_is_as_written",
        check=lambda: reads(HEARTBEAT, "HEARTBEAT.md"),
    ),
    same(
        "the first conversation's file goes away after it",
        "tests/gateway/sessions/test_onboarding.py::test_it_is_gone_when_the_conversation_that_it_led_is_over",
    ),
    same(
        "a file is read when the gateway starts",
        "tests/journeys/test_heartbeat.py::test_boot_is_run_when_the_gateway_starts",
    ),
    same(
        "a delegated agent sees the rules and the notes on tools alone",
        check=lambda: reads(SUBAGENT, *RULES) and reads_none(SUBAGENT, LONG_TERM, DAY, *PERSONA),
    ),
    same("a scheduled task sees what it needs", check=lambda: reads_none(CRON, LONG_TERM, DAY)),
    same(
        "one file has 20,000 characters at most, all of them 24,000",
        check=lambda: (OPEN.file_chars, OPEN.total_chars) == (20_000, 24_000),
    ),
    same("what is longer is cut", f"{BOOTSTRAP}::test_limits_hold_for_files_days_and_total"),
    better(
        "long files may crowd the lasting one out",
        "a share is reserved for it",
        f"{BOOTSTRAP}::test_memory_cannot_be_squeezed_out",
    ),
    better(
        "there is no tool to save a memory; the tools for files do it",
        "the preset hides save_memory and update_memory; add_note stays, since it appends in one step",
        "tests/conformance/test_presets.py::test_tools_are_offered_and_hidden_by_the_preset",
    ),
    better(
        "the agent changes its own rules and its persona",
        "it proposes: files that steer it wait for the owner where others' words were read",
        "tests/gateway/agent/test_write_guard.py::test_after_a_look_at_what_others_wrote_the_memory_waits",
    ),
    same(
        "notes are cut into some 400 tokens",
        check=lambda: OPEN.chunking == "windows" and (CHUNK_TOKENS, OVERLAP_TOKENS) == (400, 80),
    ),
    better(
        "vectors are kept in SQLite",
        "in Qdrant, with the same promise: the index may be deleted",
        f"{SEARCH}::test_a_deleted_index_comes_back_with_the_same_answers",
    ),
    same(
        "words catch identifiers that vectors miss",
        f"{SEARCH}::test_a_threshold_cuts_what_hardly_bears_but_no_identifier",
    ),
    same("vectors count 70 %, keywords 30 %, and both can be set", check=lambda: weighs_seven_to_three("openclaw")),
    same(
        "what was found twice is shown once",
        "tests/workspaces/memory/index/test_ranking.py::test_a_repetition_is_left_out_and_a_difference_is_kept",
    ),
    same(
        "one tool searches, one reads lines of a file",
        "tests/gateway/agent/tools/test_memory.py::test_lines_of_a_note_can_be_read",
    ),
    same(
        "a passage has 700 characters at most",
        f"{SEARCH}::test_long_passages_are_cut",
        check=lambda: LONGEST_SNIPPET == 700,
    ),
    same(
        "with its file, lines, score and citation",
        "tests/gateway/agent/tools/test_memory.py::test_a_search_gives_passages_with_their_source",
    ),
    same("changed files are indexed after 1.5 seconds", check=lambda: DEBOUNCE_MS == 1_500),
    same(
        "another model builds the index anew",
        "tests/workspaces/memory/test_sync.py::test_another_embedder_builds_beside_and_swaps",
    ),
    better(
        "the embedder is the first of local, OpenAI, Gemini, Voyage that is there",
        "local, then any with a key; private notes leave the machine only by may_leave",
        "tests/workspaces/memory/index/embeddings/test_hosted.py::test_private_text_never_leaves_unless_it_may",
    ),
    same(
        "notes are saved at the window less 20,000 and 4,000 tokens",
        check=lambda: context("openclaw").limit(200_000) == 176_000,
    ),
    same("in a turn that nobody sees", f"{FLUSH}::test_a_note_is_written_and_read_back_and_nothing_is_said"),
    same("once for each summary", f"{FLUSH}::test_what_was_flushed_is_not_flushed_again"),
    same(
        "not where the session may not write",
        f"{FLUSH}::test_a_session_without_notes_of_its_own_is_never_asked",
        check=lambda: not rights(SUBAGENT).flush,
    ),
    same("it appends and overwrites nothing", f"{FLUSH}::test_two_conversations_flush_into_one_day"),
    same(
        "it can be turned off, and its words can be set",
        check=lambda: context("openclaw").flush and context("openclaw").flush_prompt is None,
    ),
    better(
        "a delegated agent has no search of memory",
        "the same; and nobody's search finds what its turn may not read",
        f"{SEARCH}::test_each_audience_finds_its_own",
        check=lambda: not searches(SUBAGENT) and searches(MAIN),
    ),
    same("memory is shown, searched and indexed by a command", check=lambda: has_command("memory")),
    same("a heartbeat with everything is a setting", check=lambda: reads(FULL_HEARTBEAT, *RULES)),
)


def test_the_document_is_the_one_that_was_read() -> None:
    """Its statements were walked through in this text."""
    is_document("002_9cbeb8fe35b3fad5.txt", "85177b8cd12cbc7f")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.says)
def test_each_statement_is_as_it_says(statement: Statement) -> None:
    """The same, or something else on purpose."""
    statement.hold()
