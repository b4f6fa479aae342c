"""Define the cards that show a call and its result to people.

Cards are JSON objects, pure in the arguments and the logged result, so a replay shows what was
shown live. UI text never enters what the model reads.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

CardKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "fetch", "other"
]


class Location(TypedDict):
    """Point at a file, and at a line of it, counted from 1."""

    path: str
    line: NotRequired[int]


class FileDiff(TypedDict):
    """Show one change of a file; `oldText` is `None` for a new file."""

    path: str
    oldText: str | None
    newText: str


class GenericCall(TypedDict):
    """Announce a call by a title; the view of tools without a card of their own."""

    card: Literal["generic"]
    title: str
    kind: NotRequired[CardKind]
    rawInput: NotRequired[Any]
    content: NotRequired[list[Any]]
    locations: NotRequired[list[Location]]


class TerminalCall(TypedDict):
    """Announce a command."""

    card: Literal["terminal"]
    title: str
    description: NotRequired[str]
    cwd: NotRequired[str]


class DiffCall(TypedDict):
    """Announce changes of files."""

    card: Literal["diff"]
    title: str
    diffs: list[FileDiff]
    locations: NotRequired[list[Location]]


class GenericResult(TypedDict):
    """Show a result by a title and content blocks."""

    card: Literal["generic"]
    title: str
    content: NotRequired[list[Any]]


class TerminalResult(TypedDict):
    """Show what a command printed and how it ended."""

    card: Literal["terminal"]
    title: str
    output: str
    exitCode: NotRequired[int]
    signal: NotRequired[str]


class DiffResult(TypedDict):
    """Show the changes that were made."""

    card: Literal["diff"]
    title: str
    diffs: list[FileDiff]


class MatchLine(TypedDict):
    """Show one matching line, counted from 1."""

    lineNumber: int
    line: str


class MatchFile(TypedDict):
    """Show the matches of one file."""

    path: str
    matches: list[MatchLine]


class MatchesResult(TypedDict):
    """Show what a content search found; `total` counts what was left out as well."""

    card: Literal["search"]
    shape: Literal["matches"]
    files: list[MatchFile]
    truncated: bool
    total: int


class PathsResult(TypedDict):
    """Show what a path search found; `total` counts what was left out as well."""

    card: Literal["search"]
    shape: Literal["paths"]
    paths: list[str]
    truncated: bool
    total: int


class NumberedLine(TypedDict):
    """Show one line of a file, counted from 1."""

    number: int
    text: str


class ReadResult(TypedDict):
    """Show a window of a file; `offset` is its first line, counted from 1."""

    card: Literal["read"]
    path: str
    offset: int
    lines: list[NumberedLine]
    totalLines: int
    lang: NotRequired[str]


class WebSource(TypedDict):
    """Name one page that a search found."""

    url: str
    title: NotRequired[str]
    snippet: NotRequired[str]
    publishedAt: NotRequired[str]


class WebSearchResult(TypedDict):
    """Show the pages that a web search found."""

    card: Literal["web"]
    kind: Literal["search"]
    sources: list[WebSource]
    answer: NotRequired[str]
    truncated: bool


class WebFetchResult(TypedDict):
    """Show that a page was fetched."""

    card: Literal["web"]
    kind: Literal["fetch"]
    url: str
    statusCode: int
    truncated: bool


CallView: TypeAlias = GenericCall | TerminalCall | DiffCall
"""Card of a pending call."""

ResultView: TypeAlias = (
    GenericResult
    | TerminalResult
    | DiffResult
    | MatchesResult
    | PathsResult
    | ReadResult
    | WebSearchResult
    | WebFetchResult
)
"""Card of a finished call."""
