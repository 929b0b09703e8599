"""Quiet colours, dark and light, and the terminal's own for NO_COLOR. Chosen once, switched with `d`."""

import os

from textual.theme import Theme

DARK = Theme(
    name="specwatch-dark",
    primary="#6cb6ff",
    secondary="#b392f0",
    accent="#e3b341",
    success="#56d364",
    warning="#e3b341",
    error="#ff7b72",
    foreground="#d1d7e0",
    background="#0f1318",
    surface="#171c23",
    panel="#1d242d",
    dark=True,
    variables={"muted": "#8b949e", "faint": "#3d4650"},
)
LIGHT = Theme(
    name="specwatch-light",
    primary="#0757ba",
    secondary="#7a3fbf",
    accent="#875c00",
    success="#116329",
    warning="#875c00",
    error="#b3141f",
    foreground="#1f2328",
    background="#ffffff",
    surface="#f4f6f8",
    panel="#eaeef2",
    dark=False,
    variables={"muted": "#59636e", "faint": "#b4bcc5"},
)
PLAIN = Theme(
    name="specwatch-plain",
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    success="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    ansi=True,
    variables={
        "muted": "ansi_default",
        "faint": "ansi_default",
        "ansi-background": "ansi_default",  # Textual's own styles ask for both
        "ansi-foreground": "ansi_default",
    },
)
THEMES = (DARK, LIGHT, PLAIN)


def chosen(no_color: bool) -> Theme:
    """$SPECWATCH_THEME (dark or light), else by the terminal's background in $COLORFGBG, else dark."""
    if no_color:
        return PLAIN
    wanted = os.environ.get("SPECWATCH_THEME", "")
    if wanted in ("dark", "light"):
        return DARK if wanted == "dark" else LIGHT
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in ("7", "15") else DARK
