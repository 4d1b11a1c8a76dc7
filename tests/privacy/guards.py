"""This file lists the guards that keep private text private: how to take each one away, and which test then fails.

`test_guards.py` takes each one away in a copy of the code; docs/privacy.md shows the list.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """A line of the code without which something private would show."""

    file: str
    what: str
    """What it sees to, as the rest of a sentence: "it sees to it that …"."""
    line: str
    """A passage that occurs once in the file."""
    without: str
    """What stands there when the guard is gone."""
    test: str
    """What fails then."""


GUARDS = (
    Guard(
        "workspaces/access.py",
        "a chat reads its own shared notes and no other file",
        "    return row.own_scope and _is_own(access, path)\n\n\ndef may_write",
        "    return True\n\n\ndef may_write",
        "tests/workspaces/test_access.py::test_each_cell_of_the_matrix_is_as_written",
    ),
    Guard(
        "workspaces/access.py",
        "a chat writes among its own shared notes only",
        "    return row.writes and _is_own(access, path)",
        "    return row.writes",
        "tests/workspaces/test_access.py::test_each_cell_of_the_matrix_is_as_written",
    ),
    Guard(
        "workspaces/access.py",
        "a chat searches its own scope only",
        "    return frozenset({access.scope}) if row.own_scope and access.scope != PRIVATE else frozenset()",
        "    return None",
        "tests/workspaces/test_access.py::test_memory_tools_flush_and_search_follow_the_matrix",
    ),
    Guard(
        "workspaces/access.py",
        "who may not read private text cannot be given the private scope",
        "if row.own_scope and access.scope != PRIVATE else frozenset()",
        "if row.own_scope else frozenset()",
        "tests/workspaces/test_access.py::test_a_chat_without_a_shared_audience_has_no_scope_of_its_own",
    ),
    Guard(
        "workspaces/access.py",
        "a folder that only looks like a chat's belongs to nobody",
        'Scope(f"shared:{chat}") if _folder_name(chat) == parts[2] else PRIVATE',
        'Scope(f"shared:{chat}")',
        "tests/workspaces/test_access.py::test_a_folder_with_another_spelling_belongs_to_no_chat",
    ),
    Guard(
        "workspaces/access.py",
        "a prompt shows only the files of its row",
        "        return path.name in row.files\n    return row.memory_in_prompt",
        "        return True\n    return row.memory_in_prompt",
        "tests/workspaces/test_access.py::test_each_cell_of_the_matrix_is_as_written",
    ),
    Guard(
        "workspaces/access.py",
        "what a turn may see is never stored",
        '        raise TypeError("Access is computed for each turn and never stored")',
        "        return super().__reduce__()  # type: ignore[misc]",
        "tests/workspaces/test_access.py::test_an_access_cannot_be_stored",
    ),
    Guard(
        "workspaces/workspace.py",
        "a file is read by access",
        "if access.agent != self.agent or not may_read(access, place):",
        "if access.agent != self.agent:",
        "tests/workspaces/test_workspace.py::test_the_matrix_holds_on_real_files",
    ),
    Guard(
        "workspaces/workspace.py",
        "a file is read by its own agent only",
        "if access.agent != self.agent or not may_read(access, place):",
        "if not may_read(access, place):",
        "tests/workspaces/test_workspace.py::test_no_agent_reaches_the_home_of_another",
    ),
    Guard(
        "workspaces/workspace.py",
        "a file is written by access",
        "if access.agent != self.agent or not may_write(access, place):",
        "if access.agent != self.agent:",
        "tests/workspaces/test_workspace.py::test_the_matrix_holds_on_real_files",
    ),
    Guard(
        "workspaces/workspace.py",
        "a folder is listed by access",
        "if place != _HERE and place not in way and not may_read(access, place):",
        "if False:",
        "tests/workspaces/test_workspace.py::test_refused_and_absent_are_told_in_the_same_bytes",
    ),
    Guard(
        "workspaces/workspace.py",
        "a listing shows names by access",
        "    return may_read(access, path) or (entry.is_folder and path in way)",
        "    return True",
        "tests/workspaces/test_workspace.py::test_a_listing_shows_what_the_turn_may_read",
    ),
    Guard(
        "workspaces/place.py",
        "a second name of a private file is no file",
        "    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1",
        "    return stat.S_ISREG(facts.st_mode)",
        "tests/workspaces/test_files.py::test_only_plain_files_of_one_name_are_touched",
    ),
    Guard(
        "workspaces/place.py",
        "a link to a private file is no file",
        "_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC",
        "_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC",
        "tests/workspaces/test_files.py::test_only_plain_files_of_one_name_are_touched",
    ),
    Guard(
        "workspaces/files.py",
        "a link to a private folder is no folder",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
        "tests/workspaces/test_files.py::test_no_folder_is_reached_through_a_link",
    ),
    Guard(
        "workspaces/bootstrap.py",
        "the prompt's files are filtered by name after everything that may add to them",
        "may_show(access, PurePosixPath(file.name)) and (",
        "(",
        "tests/workspaces/test_bootstrap.py::test_each_session_type_is_shown_its_files_in_order",
    ),
    Guard(
        "workspaces/bootstrap.py",
        "the prompt's files are filtered by identity, whatever they are called",
        "(file.identity is None or file.identity not in hidden)",
        "True",
        "tests/workspaces/test_bootstrap.py::test_no_name_brings_a_private_file_in",
    ),
    Guard(
        "gateway/agent/context.py",
        "what was private before a hook ran stays private, wherever it was moved",
        "if rights(access).private else withheld_files(agent.workspace, access)",
        "",
        "tests/gateway/agent/test_context.py::test_no_change_on_disk_brings_a_private_file_in",
    ),
    Guard(
        "workspaces/usage.py",
        "a quota counts what its own audience has",
        "        scope = scope_of(path)\n        quota",
        "        scope = PRIVATE\n        quota",
        "tests/workspaces/test_usage.py::test_a_full_workspace_shows_in_no_other_chat",
    ),
    Guard(
        "workspaces/history/filter.py",
        "a commit shows the changes of a chat's own notes only",
        "if sees_path(access, change.path))",
        ")",
        "tests/workspaces/history/test_view.py::test_a_filtered_commit_names_only_what_may_be_seen",
    ),
    Guard(
        "workspaces/history/filter.py",
        "a part of a commit does not tell which turn made it",
        "subject=subject, origin=None,",
        "subject=subject,",
        "tests/workspaces/history/test_view.py::test_a_filtered_commit_names_only_what_may_be_seen",
    ),
    Guard(
        "workspaces/history/filter.py",
        "an earlier version is seen by its audience only",
        "return may_read(access, path) and (scopes is None or scope_of(path) in scopes)",
        "return True",
        "tests/workspaces/history/test_view.py::test_a_filtered_commit_names_only_what_may_be_seen",
    ),
    Guard(
        "workspaces/history/filter.py",
        "earlier versions of files that everybody reads are the owner's",
        "return may_read(access, path) and (scopes is None or scope_of(path) in scopes)",
        "return may_read(access, path)",
        "tests/workspaces/history/test_view.py::test_earlier_versions_are_seen_by_scope_not_by_todays_readers",
    ),
    Guard(
        "workspaces/history/view.py",
        "a chat is shown ids of its own, not git's",
        "yield git_id, replace(part, id=partial_id(part, number))",
        "yield git_id, part",
        "tests/workspaces/history/test_view.py::test_what_a_chat_sees_is_the_same_whatever_is_private",
    ),
    Guard(
        "workspaces/history/view.py",
        "a diff holds what the turn sees",
        "_is_within(each, path) and sees_path(self._access, each)",
        "_is_within(each, path)",
        "tests/workspaces/history/test_view.py::test_what_a_chat_sees_is_the_same_whatever_is_private",
    ),
    Guard(
        "workspaces/history/view.py",
        "an earlier text is given to who sees its path",
        "self._repository.files(git_id).get(place) if sees_path(self._access, place) else None",
        "self._repository.files(git_id).get(place)",
        "tests/workspaces/history/test_view.py::test_a_chat_reads_the_versions_of_its_own_notes",
    ),
    Guard(
        "workspaces/history/view.py",
        "the files of an earlier day are given to who sees their paths",
        "for path, content in files.items() if sees_path(self._access, path)}",
        "for path, content in files.items()}",
        "tests/workspaces/memory/test_earlier.py::test_nobody_sees_more_of_an_earlier_day_than_of_today",
    ),
    Guard(
        "workspaces/history/history.py",
        "a history is read by its own agent only",
        "        if access.agent != self._workspace.agent:",
        "        if False:",
        "tests/workspaces/history/test_history.py::test_a_workspace_of_another_agent_has_another_history",
    ),
    Guard(
        "workspaces/memory/search.py",
        "the scopes of a turn limit its search, and another agent has none",
        "return readable_scopes(access) if access.agent == self._agent else frozenset()",
        "return readable_scopes(access)",
        "tests/workspaces/memory/test_search.py::test_another_agents_turn_finds_nothing",
    ),
    Guard(
        "workspaces/memory/search.py",
        "each hit is checked again when it is returned",
        "if self._may_see(hit, scopes))",
        ")",
        "tests/workspaces/memory/test_search.py::test_a_hit_is_checked_again_when_it_is_returned",
    ),
    Guard(
        "workspaces/memory/search.py",
        "a group is not told that private notes are still being indexed",
        "pending = scopes is None and (",
        "pending = (",
        "tests/workspaces/memory/test_search.py::test_a_search_does_not_wait_for_a_sync_that_runs",
    ),
    Guard(
        "workspaces/memory/notices.py",
        "why a search went without meaning is the owner's to know",
        'return f"{what}: {reason}" if to_owner else what',
        'return f"{what}: {reason}"',
        "tests/workspaces/memory/test_search.py::test_why_a_search_went_without_meaning_is_told_to_the_owner_alone",
    ),
    Guard(
        "workspaces/memory/search.py",
        "while the index is away, the files are searched by scope too",
        "if self._is_for(source.audience(path), scopes)]",
        "]",
        "tests/workspaces/memory/test_search.py::test_while_the_index_is_away_each_audience_finds_its_own_in_the_files",
    ),
    Guard(
        "workspaces/memory/search.py",
        "a conversation is read by its audience",
        "if audience is not None and (scopes is None or audience in scopes):",
        "if audience is not None:",
        "tests/gateway/conversation/test_transcript_source.py::test_a_conversation_can_be_read_around_a_hit",
    ),
    Guard(
        "workspaces/memory/exact.py",
        "a search letter by letter looks into a turn's own files only",
        "if scopes is None or source.audience(path) in scopes)",
        ")",
        "tests/workspaces/memory/test_exact.py::test_each_audience_finds_its_own",
    ),
    Guard(
        "workspaces/memory/edge.py",
        "the engine is asked within scopes",
        "    if where.scopes is not None:",
        "    if False:",
        "tests/contracts/test_engine.py::test_the_engine_itself_sees_the_scopes_alone",
    ),
    Guard(
        "workspaces/memory/server.py",
        "a Qdrant server is asked within scopes",
        "        if where.scopes is not None:",
        "        if False:",
        "tests/contracts/test_engine.py::test_the_engine_itself_sees_the_scopes_alone",
    ),
    Guard(
        "workspaces/memory/hybrid.py",
        "what the engine finds is checked against the scopes once more",
        "for id_ in known if scopes is None or self._places[id_].scope in scopes]",
        "for id_ in known]",
        "tests/contracts/test_engine.py::test_a_request_sees_its_scopes_and_no_others",
    ),
    Guard(
        "workspaces/memory/finder.py",
        "words are weighed by their rarity in the scopes that are searched",
        "self._manifest.words.idf(words.indices, scopes)",
        "self._manifest.words.idf(words.indices, None)",
        "tests/workspaces/memory/test_search.py::test_private_text_never_shows_in_a_groups_search",
    ),
    Guard(
        "workspaces/memory/finder.py",
        "word pieces are weighed by their rarity in the scopes that are searched",
        "self._manifest.pieces.idf(pieces, scopes)",
        "self._manifest.pieces.idf(pieces, None)",
        "tests/workspaces/memory/test_search.py::test_private_text_never_shows_in_a_groups_search",
    ),
    Guard(
        "gateway/door/routing.py",
        "only the owner's own direct chat is private",
        "    if message.kind is not ChatKind.DIRECT:\n        return SessionType.GROUP\n",
        "",
        "tests/gateway/door/test_routing.py::test_the_session_type_follows_from_the_platforms_facts",
    ),
    Guard(
        "gateway/door/routing.py",
        "a direct chat is the owner's by the transport's id of the sender",
        "    if policy.is_owner(message.address.channel, message.sender):\n",
        "    if True:\n",
        "tests/gateway/door/test_routing.py::test_the_session_type_follows_from_the_platforms_facts",
    ),
    Guard(
        "gateway/conversation/kept.py",
        "a conversation that is kept is listed, and so read, by its audience",
        "if scopes is None or scope_of_session(session) in scopes",
        "if True",
        "tests/gateway/conversation/test_kept.py::test_each_sees_its_own_conversations",
    ),
    Guard(
        "gateway/conversation/transcript_source.py",
        "the owner's conversation is nobody else's",
        'return Scope(f"shared:{address}") if kind in {SessionType.GUEST, SessionType.GROUP} and address else PRIVATE',
        'return Scope(f"shared:{address}")',
        "tests/gateway/conversation/test_transcript_source.py::test_a_session_of_no_chat_is_private",
    ),
    Guard(
        "gateway/conversation/transcript_source.py",
        "when a conversation is found does not depend on how much others write",
        "len(line) - sum(map(len, _NUMBERED.findall(line)))",
        "len(line)",
        "tests/gateway/conversation/test_transcript_source.py::test_when_a_conversation_is_looked_at_does_not_tell_how_much_others_write",
    ),
    Guard(
        "gateway/agent/tools/memory.py",
        "a subagent has no memory tools",
        "    if not rights(access).memory_tools:\n        return []\n",
        "",
        "tests/gateway/agent/tools/test_memory.py::test_turns_without_memory_have_no_memory_tools",
    ),
    Guard(
        "gateway/agent/tools/history.py",
        "a turn that sees no history has no history tools",
        "    if readable_scopes(access) == frozenset():\n        return []\n",
        "",
        "tests/gateway/agent/tools/test_history.py::test_each_turn_has_the_tools_it_may_use",
    ),
    Guard(
        "gateway/agent/tools/tool.py",
        "why files, history or index do not work is the owner's to know",
        "(str(trouble) if self._is_private else trouble.told_to_others)",
        "str(trouble)",
        "tests/gateway/agent/tools/test_history.py::test_a_group_is_not_told_what_is_wrong_with_the_history",
    ),
    Guard(
        "gateway/conversation/turn.py",
        "the code of an error counts nobody's messages",
        "_FAILED.format(code=code)",
        "_FAILED.format(code=row.turn_id)",
        "tests/gateway/conversation/test_turn.py::test_the_code_of_a_failure_counts_no_other_messages",
    ),
    Guard(
        "gateway/conversation/delivery.py",
        "a reply's key counts nobody's replies",
        "    facts = (str(row.outgoing.address),",
        "    facts = (str(row.id), str(row.outgoing.address),",
        "tests/gateway/conversation/test_delivery.py::test_a_key_counts_no_other_replies",
    ),
    Guard(
        "gateway/commands/registry.py",
        "a command is run by who may run it, where others do not read",
        "elif not asker.may_run(found[0].who):",
        "elif False:",
        "tests/gateway/commands/test_registry.py::test_a_command_runs_for_whom_it_is_meant_and_for_nobody_else",
    ),
    Guard(
        "gateway/commands/command.py",
        "a command over private text is run in the owner's own chat only",
        "return self.is_owner and self.access.session_type is SessionType.MAIN",
        "return self.is_owner",
        "tests/gateway/commands/test_registry.py::test_a_command_runs_for_whom_it_is_meant_and_for_nobody_else",
    ),
)
