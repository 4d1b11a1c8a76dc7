"""The fourth document: a report on OpenClaw's code, with its numbers, hooks and known troubles."""

import pytest

from gateway.sessions.session_note import MESSAGES
from tests.conformance.facts import context, has_command, has_event, weighs_seven_to_three
from tests.conformance.statements import Statement, better, is_document, lacking, same, settings
from workspaces.memory.hits import LONGEST_SNIPPET
from workspaces.memory.index.embeddings.hosted import CALLS_AT_ONCE
from workspaces.memory.text.chunking import CHUNK_TOKENS, OVERLAP_TOKENS
from workspaces.memory.watch import DEBOUNCE_MS

OPEN = settings("openclaw").memory
WINDOW = context("openclaw")
BOOTSTRAP = "tests/workspaces/test_bootstrap.py"
COMPACTION = "tests/gateway/sessions/test_compaction.py"
EMBEDDERS = "tests/workspaces/memory/index/embeddings/test_hosted.py"
FLUSH = "tests/gateway/sessions/test_flush.py"
PRUNE = "tests/gateway/agent/window/test_prune.py"
SEARCH = "tests/workspaces/memory/test_search.py"
SOURCE = "tests/gateway/transcripts/test_memory_source.py"
STATEMENTS = (
    same(
        "memory.md stands in where MEMORY.md is missing, once",
        f"{BOOTSTRAP}::test_the_alias_of_memory_counts_where_the_name_is_missing",
    ),
    same(
        "notes, days and conversations are searched",
        f"{SOURCE}::test_a_message_is_found_by_its_line_in_the_transcript",
        check=lambda: OPEN.transcripts,
    ),
    same("0.7 of vectors and 0.3 of words", check=lambda: weighs_seven_to_three("openclaw")),
    same("six results", check=lambda: OPEN.max_results == 6),
    better(
        "from a score of 0.35 on, by the weighted sum",
        "the same number, by a score that is absolute: a hit by words alone is not lost, and an identifier counts 1",
        f"{SEARCH}::test_a_threshold_cuts_what_hardly_bears_but_no_identifier",
        check=lambda: OPEN.min_score == 0.35,
    ),
    same("a passage of 700 characters", check=lambda: LONGEST_SNIPPET == 700),
    same(
        "the files stand in the prompt in a fixed order, the lasting one last",
        f"{BOOTSTRAP}::test_each_session_type_is_shown_its_files_in_order",
    ),
    same(
        "the model is told to search before it answers about earlier work",
        "tests/gateway/agent/tools/test_memory.py::test_a_search_gives_passages_with_their_source",
    ),
    same(
        "a delegated agent is shown two files",
        "tests/workspaces/test_access.py::test_each_cell_of_the_matrix_is_as_written",
    ),
    better(
        "a hook may add any file to the prompt",
        "it may add, replace and remove, but nothing private for others: the filter comes after it",
        "tests/gateway/agent/test_prompt_files.py::test_a_hook_adds_replaces_and_removes_files_of_the_owners_prompt",
        check=lambda: has_event("agent:bootstrap"),
    ),
    same("20,000 characters of a file", check=lambda: OPEN.file_chars == 20_000),
    same(
        "daily notes are searched and not put into the prompt",
        f"{BOOTSTRAP}::test_the_days_can_be_left_out",
        check=lambda: not OPEN.daily_notes_in_prompt,
    ),
    same(
        "/new writes a note of the last 15 messages",
        "tests/gateway/sessions/test_lifecycle.py::test_a_session_that_ends_leaves_a_note_and_a_transcript_put_away",
        check=lambda: MESSAGES == 15,
    ),
    same(
        "which the model names, or else the time does",
        "tests/gateway/sessions/test_lifecycle.py::test_a_note_is_called_what_the_model_says_if_that_is_a_name",
    ),
    better(
        "conversations are read by two parsers",
        "one module writes and reads them",
        "tests/gateway/transcripts/test_codec.py::test_a_transcript_cut_at_any_byte_keeps_the_records_before",
    ),
    same("a flush is on by default", check=lambda: WINDOW.flush),
    same("it is due at the window less 20,000 and 4,000", check=lambda: WINDOW.limit(1_048_576) == 1_024_576),
    same("once a round", f"{FLUSH}::test_what_was_flushed_is_not_flushed_again"),
    same(
        "old results are trimmed once the provider's cache is cold, after five minutes",
        f"{PRUNE}::test_nothing_is_trimmed_while_the_cache_may_hold",
        check=lambda: (WINDOW.prune, WINDOW.prune_ttl_s) == ("cache-ttl", 300),
    ),
    same(
        "the latest three answers are whole",
        f"{PRUNE}::test_the_latest_three_turns_are_whole",
        check=lambda: WINDOW.whole_turns == 3,
    ),
    same(
        "long results lose their middle from 30 % of the window on",
        f"{PRUNE}::test_a_long_old_result_is_cut_down_to_its_ends",
        check=lambda: (
            (WINDOW.trim_share, WINDOW.long_chars, WINDOW.head_chars, WINDOW.tail_chars) == (0.3, 4_000, 1_500, 1_500)
        ),
    ),
    same(
        "whole ones go from 50 % on, if that frees 50,000 characters",
        f"{PRUNE}::test_from_half_of_the_window_on_whole_results_make_way_the_oldest_first",
        check=lambda: (WINDOW.clear_share, WINDOW.least_cleared_chars) == (0.5, 50_000),
    ),
    same(
        "only what is shown changes; the conversation on disk stays",
        f"{PRUNE}::test_only_texts_of_old_results_ever_change",
    ),
    same("tools can be named or excepted", f"{PRUNE}::test_tools_may_be_named_or_excepted"),
    same("commands show the index, build it and search", check=lambda: has_command("memory")),
    same(
        "files are synced at a start, before a search and by a watch",
        f"{SEARCH}::test_a_changed_note_is_found_without_a_call",
        check=lambda: OPEN.watch == "events",
    ),
    same(
        "1.5 seconds after a change, and not by the clock", check=lambda: (DEBOUNCE_MS, OPEN.sync_every_s) == (1_500, 0)
    ),
    same(
        "a conversation is indexed again after 50 messages or 100 kB",
        f"{SOURCE}::test_a_conversation_is_looked_at_again_after_fifty_messages",
    ),
    same("each agent has an index of its own", f"{SEARCH}::test_another_agents_turn_finds_nothing"),
    same(
        "OpenAI's and Gemini's embeddings can be used, four requests at once",
        f"{EMBEDDERS}::test_four_calls_travel_at_once",
        check=lambda: CALLS_AT_ONCE == 4,
    ),
    better(
        "or a local model of 0.6 GB",
        "a local model of 22 MB comes along, so that memory works without a download",
        "tests/workspaces/memory/index/embeddings/test_local.py::test_vectors_have_the_promised_shapes_and_length_one",
    ),
    same(
        "400 tokens with 80 in common",
        check=lambda: OPEN.chunking == "windows" and (CHUNK_TOKENS, OVERLAP_TOKENS) == (400, 80),
    ),
    same(
        "hooks hear of a command, a start and an end",
        check=lambda: all(map(has_event, ("command:*", "session_start", "session_end"))),
    ),
    same("before and after a summary", check=lambda: has_event("before_compaction") and has_event("after_compaction")),
    better(
        "the one before cannot stop it",
        "it can: a hook may refuse, with a reason",
        "tests/journeys/test_hooks.py::test_an_owners_compact_is_refused_with_the_hooks_reason",
    ),
    better(
        "a result may be changed before it is stored, by hooks without a contract between them",
        "each hook's result is checked before the next sees it",
        "tests/gateway/hooks/test_events.py::test_the_next_handler_never_sees_a_wrong_payload",
    ),
    better(
        "nobody checks that a flush wrote anything",
        "each note is read back, and what was said is noted without a model if none was",
        f"{COMPACTION}::test_a_flush_that_saves_nothing_costs_nothing_that_was_said",
    ),
    better(
        "the agent does not know how full its window is",
        "it is told from half on, and /context shows it",
        "tests/gateway/commands/test_context.py::test_the_agent_is_told_how_full_its_window_is_from_half_of_it_on",
    ),
    better(
        "a summary of a large session can fail",
        "it is made in parts, and by wording where no model can",
        f"{COMPACTION}::test_a_summary_that_cannot_be_used_is_made_by_wording",
    ),
    better(
        "nothing is saved where nobody gives /new for a day",
        "a rest and a new day save it",
        "tests/gateway/sessions/test_lifecycle.py::test_rest_and_idle_come_by_themselves",
    ),
    better(
        "a reader may see half a file",
        "a file changes whole or not at all",
        "tests/workspaces/test_files.py::test_a_kill_at_any_step_leaves_the_old_file_or_the_new",
    ),
    lacking(
        "plug-ins replace the memory's engine",
        "its index is Qdrant; hooks, tools, channels, models and importers can be added",
    ),
)


def test_the_document_is_the_one_that_was_read() -> None:
    """Its statements were walked through in this text."""
    is_document("003_d2eab3b608d852a7.txt", "61f74b2c64dd06f8")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.says)
def test_each_statement_is_as_it_says(statement: Statement) -> None:
    """The same, or something else on purpose."""
    statement.hold()
