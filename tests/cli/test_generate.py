"""``generate``: rows from a description alone, for recipients, and with uniform columns."""

import os
from pathlib import Path

import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.cli.main import main
from sdv_plausible.datasets import census_like, census_like_metadata


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    domain = {name: words for name, words in census_like_metadata().items() if name in ("age", "sex", "race")}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, model="correlated")
    synth.fit(census_like(3_000)[list(domain)])
    path = tmp_path_factory.mktemp("description") / "d.json"
    synth.release().save(path, readable=True)
    return path


def run(description, folder, name: str, *more: str) -> pd.DataFrame:
    output = folder / f"{name}.csv"
    assert main(["generate", str(description), "-o", str(output), "--overwrite", *more]) == 0
    return pd.read_csv(output)


def test_so_many_rows_as_the_table_has_about(description, tmp_path):
    """The noise of the number has deviation 37 here: a false alarm in 1e-15 of the runs."""
    assert abs(len(run(description, tmp_path, "o")) - 3_000) < 300
    assert len(run(description, tmp_path, "o", "-n", "17")) == 17


def test_the_same_recipient_gets_the_same_rows(description, tmp_path):
    secret = str(tmp_path / "secret.key")
    ann, bob, again = (
        run(description, tmp_path, str(i), "-n", "200", "--recipient", name, "--secret", secret)
        for i, name in enumerate(("Ann", "Bob", "Ann"))
    )
    assert ann.equals(again)
    assert not ann.equals(bob)
    assert (tmp_path / "secret.key").stat().st_mode & 0o077 == 0
    assert (tmp_path / "secret.key").read_text(encoding="ascii").strip() not in description.read_text("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize(
    ("mode", "is_warned"), [(0o644, True), (0o640, True), (0o400, False), (0o600, False)]
)
def test_a_secret_that_others_may_read_is_told_of(description, tmp_path, capsys, mode, is_warned):
    """Whoever has it makes any recipient's rows, and knows whose a copy is. One that was just made is not."""
    given, path = ("-n", "5", "--recipient", "Ann"), tmp_path / "secret.key"
    run(description, tmp_path, "o", *given, "--secret", str(path))
    assert capsys.readouterr().err == ""
    path.chmod(mode)
    run(description, tmp_path, "o", *given, "--secret", str(path))
    said = capsys.readouterr().err
    assert said.count("\n") == is_warned
    assert (f"others may read the secret in {path} (mode {mode:03o})" in said) == is_warned


def test_uniform_columns(description, tmp_path):
    """9,000 draws: each share is within five deviations of a half."""
    rows = run(description, tmp_path, "u", "-n", "9000", "--uniform", "sex")
    shares = rows["sex"].value_counts(normalize=True)
    assert ((shares - 1 / len(shares)).abs() < 5 * 0.5 / 9000**0.5).all()


def test_mistakes(description, tmp_path, capsys):
    ann, secret = ["--recipient", "Ann"], tmp_path / "s"
    for content, more, said in (
        ("", ann, "go together"),
        ("", ["--uniform", "shoe"], "uniform"),
        ("", ["-n", "-3"], "num_rows"),
        *(
            (text, [*ann, "--secret", str(secret)], f"{secret} holds no secret")
            for text in ("hello", "", "00" * 31)
        ),
    ):
        secret.write_text(content, encoding="ascii")
        assert main(["generate", str(description), "-o", str(tmp_path / "o.csv"), *more]) == 2
        assert said in capsys.readouterr().err


def test_a_secret_is_written_whole_or_not_at_all(description, tmp_path, monkeypatch):
    """An empty file was left by a full disk, and every later call refused it."""

    def full(*_):
        raise OSError(28, "No space left on device")

    secret = tmp_path / "s"
    told = [
        "generate",
        str(description),
        "-o",
        str(tmp_path / "o.csv"),
        "--recipient",
        "Ann",
        "--secret",
        str(secret),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        assert main(told) != 0
    assert not secret.exists()
    assert main(told) == 0


def test_rows_replace_neither_the_secret_nor_the_description(description, tmp_path, capsys):
    secret, other = tmp_path / "s.csv", tmp_path / "d.csv"
    secret.write_text("00" * 32, encoding="ascii")
    other.write_bytes(description.read_bytes())
    for output, more, said in (
        (secret, ["--recipient", "Ann", "--secret", str(secret)], "and secret ("),
        (other, [], "choose another name"),
    ):
        before = output.read_bytes()
        assert main(["generate", str(other), "-o", str(output), "--overwrite", *more]) == 2
        assert said in capsys.readouterr().err
        assert output.read_bytes() == before
