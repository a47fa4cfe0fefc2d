"""Protocols that are not on the list are refused before fsspec is asked."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import AccessError, InputError, UnreachableError
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.run import RunFolder

FOREIGN = (
    "reference::/tmp/references.json",
    "reference://::/tmp/references.json",
    "simplecache::s3://bucket/data.zarr",
    "filecache::https://host/data.zarr",
    "s3://bucket/data.zarr::reference://x",
    "file://reference::/tmp/references.json",
    "zip://data.zarr",
    "tar://data.zarr",
    "github://owner:repository@main/data.zarr",
    "dask://data.zarr",
    "local:///data.zarr",
    "S3://bucket/data.zarr",
    "ssh://host/data.zarr",
)
URLS = [url for url in FOREIGN if "://" in url and not url.startswith("file:")]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the protocols that fsspec is asked for."""
    found: list[str] = []
    original = fsspec.core.get_filesystem_class

    def noted(protocol: str) -> type:
        found.append(protocol)
        return original(protocol)

    monkeypatch.setattr(fsspec.core, "get_filesystem_class", noted)
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run folder that somebody else could have made."""
    folder = tmp_path_factory.mktemp("runs")
    X = [[k % 7, k % 5] for k in range(60)]
    y = [k % 2 for k in range(60)]
    data = api.ingest((X, y), folder / "data.zarr", test_fraction=0.2)
    api.train(
        data.place,
        folder / "run",
        holdout=data.place / "test",
        gamma=1.0,
        execution=api.Execution(workers=0),
        quiet=True,
    )
    return folder / "run"


@pytest.mark.one_quick
@pytest.mark.parametrize("url", URLS)
def test_a_foreign_run_opens_only_what_is_on_the_list(
    url: str, run: Path, tmp_path: Path, asked: list[str]
) -> None:
    """The recorded places of its data and its held-out rows."""
    foreign = Path(shutil.copytree(run, tmp_path / "run"))
    header = RunFolder.open(str(run)).header
    for change in ({"data": {**header["data"], "url": url}}, {"holdout": url}):
        Location.of(foreign / "run.json").write_json(seal({**header, **change}))
        with pytest.raises(InputError, match="not opened"):
            api.resume(foreign, tol=1e-5, execution=api.Execution(workers=0), quiet=True)
        with pytest.raises(InputError, match="not opened"):
            DataSet.open(url)
        with contextlib.suppress(InputError):  # of held-out rows that cannot be opened
            api.open_run(foreign).report(tmp_path / "report.html")
    assert asked == []


@pytest.mark.parametrize("url", FOREIGN)
@pytest.mark.parametrize("ending", ["", ".csv", ".zarr", ".npz", ".parquet", "/test"])
def test_no_source_asks_fsspec_for_anything_else(
    url: str, ending: str, tmp_path: Path, asked: list[str]
) -> None:
    with pytest.raises(InputError):
        api.ingest(url + ending, tmp_path / "data.zarr")
    assert set(asked) <= {"file"}


@pytest.mark.parametrize("url", URLS)
def test_nothing_is_written_there_nor_a_run_opened(
    url: str, run: Path, tmp_path: Path, asked: list[str]
) -> None:
    data = json.loads((run / "run.json").read_text())["data"]["url"]
    ours = api.open_run(run)
    for do in (
        lambda: api.open_run(url),
        lambda: api.train(data, url),
        lambda: api.train(url, tmp_path / "x"),
        lambda: api.train(data, tmp_path / "x", holdout=url),
        lambda: api.ingest(data, url),
        lambda: api.ingest(data, tmp_path / "y", test=url),
        lambda: api.ingest(data, tmp_path / "y", weights=url),
        lambda: ours.predict(url),
        lambda: ours.predict_file(data, f"{url}.csv"),
        lambda: ours.export(f"{url}.model"),
        lambda: ours.compress(url, bound=0.1),
    ):
        with pytest.raises(InputError, match="not opened"):
            do()
    assert asked == []


def test_a_web_server_is_only_read_from(run: Path, tmp_path: Path) -> None:
    data = json.loads((run / "run.json").read_text())["data"]["url"]
    ours = api.open_run(run)
    url = "https://host.invalid/x"
    for do in (
        lambda: api.train(data, url),
        lambda: api.ingest(data, url),
        lambda: ours.predict_file(data, f"{url}.csv"),
        lambda: ours.export(f"{url}.model"),
        lambda: ours.compress(url, bound=0.1),
        lambda: ours.report(f"{url}.html"),
    ):
        with pytest.raises(InputError, match="a web server is read only"):
            do()


def test_addresses_that_are_kept_have_no_credentials(tmp_path: Path, run: Path) -> None:
    data = json.loads((run / "run.json").read_text())["data"]["url"]
    for url in ("s3://key:SECRET@bucket/x.zarr", "https://host/x.zarr?sig=SECRET"):
        for do in (
            lambda url=url: api.train(url, tmp_path / "x"),
            lambda url=url: api.train(data, url),
            lambda url=url: api.train(data, tmp_path / "x", holdout=url),
        ):
            with pytest.raises(InputError, match="no password or query in its address") as caught:
                do()
            assert "SECRET" not in "".join(traceback.format_exception(caught.value))


CSV = "a,b,y\n" + "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(60))


class Answers(http.server.BaseHTTPRequestHandler):
    """Lets in whoever has the signature, and knows of nothing else."""

    def do_HEAD(self) -> None:
        path, _, query = self.path.partition("?")
        # The first kind looks at no more than the path, as many servers of files do.
        known = path == "/plain/rows.csv" or (path == "/rows.csv" and query == "sig=SECRET")
        page = path.startswith("/pages/")
        body = CSV.encode() if known or path == "/pages/rows.csv" else b"<html>"
        absent = path.startswith("/absent/")
        self.send_response(200 if known or page else 404 if absent else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_GET = do_HEAD  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.mark.parametrize("path", ["rows.csv?sig=SECRET", "plain/rows.csv", "pages/rows.csv"])
def test_a_file_is_read_where_its_neighbours_are_forbidden(
    path: str, server: str, tmp_path: Path, run: Path
) -> None:
    message: list[str] = []
    data = api.ingest(f"{server}/{path}", tmp_path / "data.zarr", label="y", report=message.append)
    assert data.n_rows == 60
    assert any("rows.csv" in line for line in message)
    assert data.source.startswith(f"{server}/{path.partition('?')[0]}")
    kept = "".join(file.read_text() for file in tmp_path.rglob("*.json"))
    assert "SECRET" not in kept + "".join(message)
    assert data.made_with["source"] == "rows.csv"
    assert len(api.open_run(run).predict(f"{server}/{path}")) == 60


@pytest.mark.parametrize("path", ["rows.csv?sig=WRONG", "rows.csv", "data.zarr"])
def test_what_is_forbidden_is_reported_as_such(path: str, server: str, tmp_path: Path) -> None:
    calls: list[Callable[[], object]] = [lambda: api.ingest(f"{server}/{path}", tmp_path / "x")]
    if "?" not in path:
        calls.append(lambda: api.train(f"{server}/{path}", tmp_path / "x"))
    for do in calls:
        with pytest.raises(AccessError, match="access was refused") as caught:
            do()
        shown = "".join(traceback.format_exception(caught.value))
        assert "WRONG" not in shown
        assert "damaged" not in str(caught.value)


@pytest.mark.long  # it is asked several times, some seconds apart
@pytest.mark.parametrize("name", ["rows.csv", "data.zarr"])
def test_a_server_that_does_not_answer_is_reported_as_out_of_reach(
    name: str, tmp_path: Path, run: Path
) -> None:
    with socket.socket() as port:  # bound, but nobody listens
        port.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{port.getsockname()[1]}/{name}"
        calls: list[Callable[[], object]] = [
            lambda: api.ingest(url, tmp_path / "x"),
            lambda: api.train(url, tmp_path / "x"),
            lambda: api.open_run(run).predict(url),
        ]
        for do in calls:
            with pytest.raises(UnreachableError, match="cannot be reached: Cannot connect to host"):
                do()


def test_what_a_server_does_not_have_is_reported_as_absent(server: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        api.ingest(f"{server}/absent/rows.csv", tmp_path / "x")
