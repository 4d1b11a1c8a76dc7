"""The fifth document: OpenClaw's two layers of memory, its search, summaries and trimming in brief."""

import pytest

from tests.conformance.facts import DAY, LONG_TERM, reads, weighs_seven_to_three
from tests.conformance.statements import Statement, better, is_document, same, settings
from tests.workspaces.turns import MAIN
from workspaces.memory.text.chunking import CHUNK_TOKENS, OVERLAP_TOKENS
from workspaces.memory.watch import DEBOUNCE_MS

OPEN = settings("openclaw").memory
COMPACTION = "tests/gateway/sessions/test_compaction.py"
PRUNE = "tests/gateway/agent/window/test_prune.py"
SEARCH = "tests/workspaces/memory/test_search.py"
STATEMENTS = (
    same(
        "what a request holds is bounded, what is on disk is not",
        "tests/gateway/agent/window/test_shown.py::test_whole_turns_are_kept_newest_first_and_the_rest_is_counted",
    ),
    same(
        "memory is the lasting file, the days and the conversations",
        check=lambda: reads(MAIN, LONG_TERM, DAY) and OPEN.transcripts,
    ),
    same(
        "days are added to, with the time of each entry",
        "tests/workspaces/test_notes.py::test_a_day_reads_as_a_list_below_its_date",
    ),
    same(
        "the lasting file holds what stays true",
        "tests/gateway/agent/tools/test_notes.py::test_a_lasting_fact_is_saved_corrected_and_deleted",
    ),
    same(
        "a search takes a number of results and a threshold, 6 and 0.35 by default",
        "tests/conformance/test_presets.py::test_a_search_takes_the_numbers_of_the_settings",
        check=lambda: (OPEN.max_results, OPEN.min_score) == (6, 0.35),
    ),
    same(
        "lines of a file are read from a line on",
        "tests/gateway/agent/tools/test_memory.py::test_lines_of_a_note_can_be_read",
    ),
    better(
        "writing has no tool of its own",
        "files are written as there; add_note appends in one step",
        "tests/conformance/test_presets.py::test_tools_are_offered_and_hidden_by_the_preset",
    ),
    same(
        "a saved file is indexed after 1.5 seconds",
        "tests/workspaces/memory/test_watch.py::test_a_saved_file_is_searchable_soon_and_no_search_asked_for_it",
        check=lambda: DEBOUNCE_MS == 1_500,
    ),
    same(
        "in pieces of 400 tokens with 80 in common",
        "tests/workspaces/memory/text/test_chunking.py::test_plain_windows_are_a_setting",
        check=lambda: (CHUNK_TOKENS, OVERLAP_TOKENS) == (400, 80),
    ),
    better(
        "as vectors of 1,536 numbers in SQLite",
        "384 numbers of a model on this machine, or a provider's 1,536, in Qdrant",
        "tests/workspaces/memory/index/embeddings/test_hosted.py::test_openais_protocol_is_spoken_as_each_provider_wants_it",
    ),
    same("vectors and words are searched at once", f"{SEARCH}::test_a_hit_has_its_place_its_day_and_its_parts"),
    same("and added with 0.7 and 0.3", check=lambda: weighs_seven_to_three("openclaw")),
    better(
        "a sum below the threshold is dropped",
        "the threshold reads an absolute score, so that a hit by words alone stays",
        f"{SEARCH}::test_a_threshold_cuts_what_hardly_bears_but_no_identifier",
    ),
    same(
        "near the limit older turns become a summary, newer ones stay",
        "tests/gateway/agent/window/test_compact.py::test_as_many_of_the_latest_turns_stay_whole_as_fit_and_always_the_last",
    ),
    same(
        "the summary is written into the conversation's file",
        f"{COMPACTION}::test_a_crash_at_any_step_hides_no_turn_and_keeps_one_summary",
    ),
    same(
        "a silent turn saves notes before",
        f"{COMPACTION}::test_a_full_conversation_is_noted_then_summarised_and_goes_on",
    ),
    same("long results keep their head and tail", f"{PRUNE}::test_a_long_old_result_is_cut_down_to_its_ends"),
    same("or make way as a whole", f"{PRUNE}::test_from_half_of_the_window_on_whole_results_make_way_the_oldest_first"),
    same("when the provider's cache has gone cold", f"{PRUNE}::test_nothing_is_trimmed_while_the_cache_may_hold"),
    same("agents have workspaces and indexes of their own", f"{SEARCH}::test_another_agents_turn_finds_nothing"),
    same(
        "memory can be read, edited and versioned as text",
        "tests/workspaces/history/test_history.py::test_the_owners_own_edits_are_picked_up",
    ),
    same(
        "the agent searches instead of being given everything",
        check=lambda: OPEN.recall == "off" and OPEN.whole_tokens == 0,
    ),
    same(
        "what matters outlives the conversation",
        "tests/journeys/test_what_you_tell.py::test_the_readmes_story_holds_on_the_second_day",
    ),
)


def test_the_document_is_the_one_that_was_read() -> None:
    """Its statements were walked through in this text."""
    is_document("004_c4833eace3126049.txt", "fb8cf80a12104537")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.says)
def test_each_statement_is_as_it_says(statement: Statement) -> None:
    """The same, or something else on purpose."""
    statement.hold()
