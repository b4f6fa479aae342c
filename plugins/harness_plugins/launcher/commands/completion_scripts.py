"""Write completion scripts from the vocabulary of the command line."""

from typing import Literal

from harness_plugins.launcher.commands.vocabulary import Vocabulary, Word

_BASH = """\
# Completion of dsh for bash.
_dsh() {{
    local place= word words index
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${{COMP_WORDS[index]}}
        case "$place $word" in
            {places}) place="$place $word" ;;
        esac
    done
    case $place in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _dsh dsh
"""

_ZSH = """\
#compdef dsh
# Completion of dsh for zsh.
_dsh() {{
    local place= word known
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$place $word" in
            {places}) place="$place $word" ;;
        esac
    done
    case $place in
{cases}
    esac
    compadd -- ${{=known}} || _files
}}
compdef _dsh dsh
"""


def script(shell: Literal["bash", "zsh", "fish"], words: Vocabulary) -> str:
    """Return the script of a shell."""
    if shell == "fish":
        return _fish(words)
    template, variable = (_BASH, "words") if shell == "bash" else (_ZSH, "known")
    places = "|".join(f'"{_path(place)}"' for place in words if place)
    cases = "\n".join(
        f'        "{_path(place)}") {variable}="{" ".join(word.text for word in found)}" ;;'
        for place, found in words.items()
    )
    return template.format(places=places, cases=cases)


def _path(place: tuple[str, ...]) -> str:
    return "".join(f" {word}" for word in place)


def _fish(words: Vocabulary) -> str:
    lines = ["# Completion of dsh for fish."]
    for place, found in words.items():
        actions = [word.text for word in found if not word.is_option]
        condition = _fish_condition(place, actions)
        lines += [f"complete -c dsh -n '{condition}' {_fish_word(word)}" for word in found]
    return "\n".join(lines) + "\n"


def _fish_condition(place: tuple[str, ...], actions: list[str]) -> str:
    if not place:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in place)
    if not actions:
        return seen
    return f"{seen}; and not __fish_seen_subcommand_from {' '.join(actions)}"


def _fish_word(word: Word) -> str:
    meaning = word.meaning.replace("\\", "").replace("'", "")
    if word.is_option:
        return f"-l {word.text[2:]} -d '{meaning}'"
    return f"-f -a {word.text} -d '{meaning}'"
