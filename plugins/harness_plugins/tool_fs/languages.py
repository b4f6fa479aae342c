"""Guess the language of a file from its name, for highlighting."""

from os.path import basename, splitext

_BY_NAME = {"dockerfile": "dockerfile", "makefile": "makefile", "cmakelists.txt": "cmake"}

_BY_EXTENSION = {
    extension: language
    for language, extensions in {
        "bash": "sh bash zsh",
        "c": "c h",
        "cpp": "cc cpp cxx hh hpp hxx",
        "csharp": "cs",
        "css": "css",
        "diff": "diff patch",
        "elixir": "ex exs",
        "erlang": "erl",
        "fortran": "f90 f95",
        "go": "go",
        "graphql": "graphql gql",
        "haskell": "hs",
        "html": "html htm",
        "ini": "ini cfg",
        "java": "java",
        "javascript": "js mjs cjs",
        "json": "json jsonl",
        "jsx": "jsx",
        "julia": "jl",
        "kotlin": "kt kts",
        "latex": "tex",
        "lua": "lua",
        "markdown": "md markdown",
        "nix": "nix",
        "objectivec": "m",
        "ocaml": "ml mli",
        "perl": "pl pm",
        "php": "php",
        "powershell": "ps1",
        "protobuf": "proto",
        "python": "py pyi",
        "r": "r",
        "ruby": "rb",
        "rust": "rs",
        "scala": "scala",
        "scss": "scss",
        "sql": "sql",
        "svelte": "svelte",
        "swift": "swift",
        "terraform": "tf",
        "toml": "toml",
        "tsx": "tsx",
        "typescript": "ts mts cts",
        "vue": "vue",
        "xml": "xml svg",
        "yaml": "yaml yml",
        "zig": "zig",
    }.items()
    for extension in extensions.split()
}


def language_of(path: str) -> str | None:
    """Return the usual name of the language, or None when the file's name does not tell."""
    name = basename(path).lower()
    return _BY_NAME.get(name) or _BY_EXTENSION.get(splitext(name)[1].lstrip("."))
