"""What a person sees of a program's output, by a terminal emulator."""

import pyte


def on_screen(output: str, columns: int = 80, lines: int = 200) -> str:
    """Return the text that stands on a screen after *output*, without spaces at the ends of lines."""
    screen = pyte.Screen(columns, lines)
    screen.set_mode(pyte.modes.LNM)
    pyte.Stream(screen).feed(output)
    return "\n".join(line.rstrip() for line in screen.display).rstrip()
