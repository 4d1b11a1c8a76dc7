"""What /status says."""

from datetime import UTC, datetime

from msgspec import structs

from gateway.control.cron_wire import JobsStatus
from gateway.control.status_text import brief
from gateway.control.status_wire import AgentStatus, ChannelStatus, MemoryStatus, Status

FINE = Status("1.2.3", "/home", ready=True, uptime_s=3_661.9, time_zone="UTC", time_zone_source="config.toml")


def test_a_gateway_that_is_well_says_little() -> None:
    """One line, and what waits: the message that asks is not counted among it."""
    assert brief(structs.replace(FINE, inbox_waiting=1)) == (
        "Strandline 1.2.3 is ready, up 1:01:01.\n- 0 messages and 0 replies wait; 0 could not be delivered"
    )


def test_what_is_wrong_is_named() -> None:
    """Each agent, channel, repair and reason with what an owner needs to look further."""
    memory = MemoryStatus(1_200, "keyword", "the model is away", {"big.md": "too large"})
    told = brief(
        structs.replace(
            FINE,
            ready=False,
            loading=("telegram.home",),
            agents=(
                AgentStatus("main", "stub", memory),
                AgentStatus(
                    "other",
                    "offline",
                    None,
                    "disk full",
                    left_out="A.md (it is a link)",
                    left_out_mend="cp A.md",
                    cut_files="B.md (1 of 2 characters are shown)",
                    cut_files_mend="shorten it",
                ),
            ),
            channels=(ChannelStatus("telegram", "home", "waiting", "no network"),),
            inbox_waiting=3,
            outbox_queued=2,
            outbox_dead=1,
            approvals_waiting=4,
            reasons={"stranger": 7, "dead_letter": 1},
            repairs=("session main/main: damaged lines skipped",),
            assumed=("the window of model stub is 128,000 tokens; window_tokens is not set",),
        )
    )
    assert told.splitlines() == [
        "Strandline 1.2.3 is starting, up 1:01:01, still loading telegram.home.",
        "- agent `main`: model `stub`, 1,200 memories, keyword search (the model is away), not indexed: big.md",
        (
            "- agent `other`: model `offline`, changes to files are not recorded: disk full, skipped: A.md (it is a "
            "link); to fix it: `cp A.md`, cut in its prompt: B.md (1 of 2 characters are shown); to fix it: shorten "
            "it"
        ),
        "- channel `telegram.home`: waiting (no network)",
        "- 2 messages and 2 replies wait; 1 could not be delivered",
        "- 4 changes wait for you: `/approve` lists them",
        "- assumed: the window of model stub is 128,000 tokens; window_tokens is not set",
        "- repaired: session main/main: damaged lines skipped",
        "- counted: dead_letter 1, stranger 7",
    ]


def test_jobs_that_fail_or_were_stopped_are_told_of() -> None:
    """With how many come, and when the first of them does; an agent without any is not spoken of."""
    due = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
    busy = AgentStatus("main", "stub", None, jobs=JobsStatus(3, due, failing=1, stopped=2))
    told = brief(structs.replace(FINE, agents=(busy, AgentStatus("idle", "stub", None)))).splitlines()
    assert told[1:3] == [
        (
            "- agent `main`: model `stub`, jobs: 3 scheduled, the next 2026-03-01 12:05, 1 failed in their last "
            "run, 2 stopped"
        ),
        "- agent `idle`: model `stub`",
    ]
