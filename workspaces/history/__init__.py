"""Version history of an agent's text files, filtered by a turn's access."""

from workspaces.history.commits import Commit, CommitId, Diff, FileChange, FileDiff
from workspaces.history.exposed_turns import ExposedTurns, exposed_place
from workspaces.history.filtered_view import LogQuery, View, VisibleCommit
from workspaces.history.history import Authors, History, RestoredFile
from workspaces.history.line_origins import LineOrigin, LineOrigins, changes_of, saved_beside
from workspaces.history.line_writers import LineWriters, WrittenBy
from workspaces.history.messages import OWNERS_COMMANDS, OWNERS_PAGE, Act, Origin, Topic, message_for, subject_for
from workspaces.history.pending import EDITOR, Pending
from workspaces.history.purge import Purged
from workspaces.history.repair import Repair, RepairReason
from workspaces.history.tracked_files import KEPT_BYTES
from workspaces.history.turn_changes import FileWriting, TurnChanges
