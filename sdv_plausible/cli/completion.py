"""The command ``sdv-plausible completion``: shell completion of commands, options and choices."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sdv_plausible.cli.output import print_result

PURPOSE = "print a script that completes commands in your shell"
EXAMPLE = "bash"

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Command:
    """Options and choices of a command."""

    purpose: str
    options: Mapping[str, str]  # with their help texts
    choices: Mapping[str, tuple[str, ...]]  # by option; "" is the positional argument


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the choice of the shell."""
    command.add_argument("shell", choices=SHELLS, help="shell for which a script is printed; source it")


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    text = script(options.shell, parser_commands(options.all_commands()))
    print_result(options, text.removesuffix("\n"), {"shell": options.shell, "script": text})


def parser_commands(parser: argparse.ArgumentParser) -> dict[str, Command]:
    """Return the commands by name, from the parser."""
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    purposes = {action.dest: action.help or "" for action in subparsers._choices_actions}
    return {name: _command(subparser, purposes[name]) for name, subparser in subparsers.choices.items()}


def _command(parser: argparse.ArgumentParser, purpose: str) -> Command:
    options: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    for action in parser._actions:
        for name in action.option_strings or [""]:
            if name:
                options[name] = action.help or ""
            if action.choices:
                choices[name] = tuple(map(str, action.choices))
    return Command(purpose, options, choices)


def script(shell: str, commands: Mapping[str, Command]) -> str:
    """Return the completion script of a shell in :data:`SHELLS`."""
    if shell == "fish":
        return "\n".join(_fish(commands)) + "\n"
    choices = [
        f'      "{name} {option or name}") words="{" ".join(values)}" ;;'
        for name, command in commands.items()
        for option, values in command.choices.items()
    ]
    options = [f'        "{n}-") words="{" ".join(c.options)}" ;;' for n, c in commands.items()]
    template = (Path(__file__).parent / "templates" / "completion.bash").read_text(encoding="utf-8")
    text = template.format(
        commands=" ".join(commands), choices="\n".join(choices), options="\n".join(options)
    )
    return text if shell == "bash" else f"autoload -U +X bashcompinit && bashcompinit\n{text}"


def _fish(commands: Mapping[str, Command]) -> Iterator[str]:
    for name, command in commands.items():
        yield (
            f"complete -c sdv-plausible -n __fish_use_subcommand -f -a {name} -d {_quoted(command.purpose)}"
        )
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option, words in command.options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values = f" -x -a '{' '.join(command.choices[option])}'" if option in command.choices else ""
            yield f"complete -c sdv-plausible {seen} {kind}{values} -d {_quoted(_short(words))}"
        if "" in command.choices:
            yield f"complete -c sdv-plausible {seen} -f -a '{' '.join(command.choices[''])}'"


def _short(words: str) -> str:
    return words.replace("%(default)s", "").split(". ")[0][:80]


def _quoted(words: str) -> str:
    plain = words.replace("\\", "").replace("'", "")
    return f"'{plain}'"
