"""`proctor completion`: a completion script made from the parser itself, so that it can't lag behind."""

import argparse
from collections.abc import Iterator

from proctor_cli.exits import Exit
from proctor_cli.world import World

SHELLS = ("bash", "zsh")

_SCRIPT = """\
# {shell} completion of proctor
_proctor() {{
    local words path="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
{moves}
        esac
    done
    case "$path:${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
        *)
            case "$path" in
{words}
            esac ;;
    esac
    local current="${{COMP_WORDS[COMP_CWORD]}}"
    if [[ "$words" == "<file>"* && "$current" != -* ]]; then
        COMPREPLY=( $(compgen -f -- "$current") )
    else
        COMPREPLY=( $(compgen -W "${{words#<file>}}" -- "$current") )
    fi
}}
complete -F _proctor proctor
"""

_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"
_FILES = frozenset({"file", "event_file"})


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print the script."""
    text = script(args.shell, args.parser())
    world.console.answer({"shell": args.shell, "script": text}, text)
    return Exit.OK


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for one shell."""
    moves, values, words = [], [], []
    for path, node in nodes(parser, ""):
        children = subcommands(node)
        moves += [f'            "{path} {name}") path="{path} {name}" ;;' for name in children]
        offered, pattern = list(children), f'"{path}":'
        for action in node._actions:  # noqa: SLF001 - argparse has no public way to list them
            shown = value_words(action)
            if action.option_strings and shown is not None:
                options = "|".join(f"{pattern}{option}" for option in action.option_strings)
                values.append(f'        {options}) words="{shown}" ;;')
            elif not action.option_strings and not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                offered += [shown] if shown and shown != "<file>" else []
            offered += [option for option in action.option_strings if option.startswith("--")]
        is_file = any(value_words(a) == "<file>" for a in node._actions if not a.option_strings)  # noqa: SLF001
        words.append(
            f'                "{path}") words="{"<file> " if is_file else ""}{" ".join(offered)}" ;;'
        )
    body = _SCRIPT.format(
        shell=shell, moves="\n".join(moves), values="\n".join(values), words="\n".join(words)
    )
    return (_ZSH if shell == "zsh" else "") + body


def value_words(action: argparse.Action) -> str | None:
    """What may stand as the value: choices, `<file>`, nothing known (empty), or None for a flag."""
    if action.nargs == 0 or isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
        return None
    if action.choices:
        return " ".join(map(str, action.choices))
    return "<file>" if action.dest in _FILES else ""


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Name → parser of the commands below one."""
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return dict(action.choices)
    return {}


def nodes(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every parser with the words that lead to it, e.g. ` people load`."""
    yield path, parser
    for name, child in subcommands(parser).items():
        yield from nodes(child, f"{path} {name}")
