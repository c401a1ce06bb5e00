"""Completion: what the shells are told is what there is, and bash does it."""

import shutil
import subprocess

import pytest

from sdv_plausible.cli import main
from sdv_plausible.cli.completion import SHELLS, parser_commands, script


@pytest.fixture(scope="module")
def commands():
    return parser_commands(main.parser(tuple(main.COMMANDS)))


def completed(made: str, *words: str) -> set[str]:
    """What bash offers after these words, the last of which is begun."""
    quoted = " ".join(f"'{word}'" for word in words)
    lines = [made, f"COMP_WORDS=({quoted})", f"COMP_CWORD={len(words) - 1}", "_sdv_plausible"]
    code = "\n".join([*lines, 'printf "%s\\n" "${COMPREPLY[@]}"'])
    return set(
        subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )


def test_every_command_and_option_is_there_and_the_command_prints_it(commands, capsys):
    assert list(commands) == list(main.COMMANDS)
    some = {"--undeclared", "--row-cap", "--rules", "--person", "-o", "--json", "--debug"}
    assert some <= set(commands["synthesize"].options)
    for shell in SHELLS:
        made = script(shell, commands)
        assert [name for name in main.COMMANDS if name not in made] == []
    assert main.main(["completion", "bash"]) == 0
    assert "complete -o default -F _sdv_plausible" in capsys.readouterr().out


def test_bash_completes(commands):
    made = script("bash", commands)
    assert completed(made, "sdv-plausible", "s") == {"synthesize", "sample"}
    assert completed(made, "sdv-plausible", "synthesize", "x.csv", "--und") == {"--undeclared"}
    assert completed(made, "sdv-plausible", "synthesize", "--undeclared", "") == {"private", "infer"}
    assert completed(made, "sdv-plausible", "synthesize", "peo") == set()  # files
    assert completed(made, "sdv-plausible", "completion", "f") == {"fish"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(commands, shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    (tmp_path / "script").write_text(script(shell, commands))
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)
