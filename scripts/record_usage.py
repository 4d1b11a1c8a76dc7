"""Count a generated conversation with the tokenizers of two language models, for the test of our own count.

    pip install mistral-common sentencepiece   # brings both tokenizers; nothing is downloaded when it runs
    python scripts/record_usage.py > tests/gateway/agent/window/recorded_usage.json

The conversation grows by English notes, program text, JSON, and sentences in other scripts, short and long in turn.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from mistral_common.tokens.tokenizers.mistral import MistralTokenizer  # type: ignore[import-not-found]

ROOT = Path(__file__).parent.parent
OTHER_SCRIPTS = (
    "Напомни мне завтра утром позвонить в мастерскую и спросить, готов ли велосипед.",
    "来週の水曜日に歯医者の予約があります。場所は駅前のビルの三階です。",
    "أين وضعت مفتاح الدراجة الاحتياطي؟ أظن أنه في الدرج الثاني في المطبخ.",
    "Bitte schreib auf, dass die Heizung im Gästezimmer jetzt auf zwanzig Grad steht.",
)


def steps() -> Iterator[str]:
    """Yield the addition of each request to the previous one."""
    notes = sorted((ROOT / "bench/notes").rglob("*.md"))
    programs = sorted((ROOT / "workspaces").rglob("*.py"))
    pick = random.Random(7)
    for number in range(120):
        source = pick.choice(programs if number % 3 == 2 else notes).read_text()
        at = pick.randrange(max(1, len(source) - 200))
        length = pick.choice((40, 200, 1_000, 4_000))
        piece = source[at : at + length]
        match number % 4:
            case 0:
                yield piece[:200]
            case 1:
                yield json.dumps({"path": f"memory/{number}.md", "start_line": at, "snippet": piece}, indent=1)
            case 2:
                yield piece
            case _:
                yield OTHER_SCRIPTS[number % len(OTHER_SCRIPTS)] * (1 + number % 3)


def requests(count: Callable[[str], int]) -> Iterator[list[int]]:
    """Yield each request's length in characters and in tokens."""
    system = "\n".join(path.read_text() for path in sorted((ROOT / "workspaces/templates").glob("*.md")))[:8_000]
    characters, tokens = len(system), count(system)
    for step in steps():
        characters, tokens = characters + len(step), tokens + count(step) + 4
        yield [characters, tokens]


def main() -> None:
    """Print the record."""
    tokenizers = {"tekken": MistralTokenizer.v3(is_tekken=True), "sentencepiece": MistralTokenizer.v3()}
    record = {}
    for name, tokenizer in tokenizers.items():
        raw = tokenizer.instruct_tokenizer.tokenizer

        def count(text: str, encode: Callable[..., list[int]] = raw.encode) -> int:
            return len(encode(text, bos=False, eos=False))

        record[name] = list(requests(count))
    print(json.dumps(record))


if __name__ == "__main__":
    main()
