"""A project in one file, and back: nothing is lost, nothing is trusted, nothing is half replaced."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile

import pytest
import zstandard

from indexer.adapters.archive import Archive, Unpacking, tree
from indexer.adapters.locks import project_lock
from indexer.errors import IndexerError, Misconfigured
from indexer.pipeline import restore as restoring
from indexer.pipeline.wiring import Wiring
from indexer.settings import Settings
from tests.stores.qdrant_double import QdrantDouble
from tests.support.cli import Cli
from tests.support.shop import PAGES, html, open_shop, sources

TOKEN = "1234567890:AAF-made-up-token-of-a-bot-abcdefghijk"


def _hits(cli, name="p", mode="hybrid"):
    return cli("search", "--project-name", name, "--mode", mode, "--json", "сколько стоит масло?").ok().json


def _contents(path):
    with path.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


class Quiet:
    def say(self, line):
        pass

    def step(self, phase, done, total, note=""):
        pass


@pytest.fixture(scope="module")
def site():
    with open_shop() as site:
        yield site


@pytest.fixture(scope="module")
def kept(tmp_path_factory, site):
    """A projects folder with `p`, and its backup."""
    folder = tmp_path_factory.mktemp("kept")
    cli = Cli(folder)
    cli("init-project", "--name", "p", *sources(site), "--tg-api-key", TOKEN).ok()
    cli("backup", "--project-name", "p", "--to", str(folder / "p.tar.zst")).ok()
    return cli, folder / "p.tar.zst"


def test_a_project_restored_elsewhere_answers_the_same_and_owes_nothing(kept, site, tmp_path):
    cli, file = kept
    assert file.stat().st_mode & 0o777 == 0o600
    assert TOKEN.encode() not in _contents(file)
    there = Cli(tmp_path)
    done = there("restore", str(file), "--json").ok().json
    assert (done["rebuilt"], done["token"], done["vectors"]) == (False, False, done["points"])
    assert _hits(there) == _hits(cli)
    again = there("reindex", "--project-name", "p", "--json").ok().json
    assert (again["generation"], again["embedded"], again["fetched"]) == (done["generation"], 0, 0)
    title, body = PAGES["/prices"]
    site.page("/prices", html(title, body + "<h2>Новое</h2><p>Мойка стоит 700 ₽, с воском 900 ₽.</p>"))
    changed = there("reindex", "--project-name", "p", "--json").ok().json
    assert (changed["changed"], changed["embedded"]) == (1, 1), "what did not change is known already"
    with_token = tmp_path / "whole.tar.zst"
    told = cli("backup", "p", "--to", str(with_token), "--with-token", "--json").ok().json
    assert (told["backup"]["token"], told["size"]) == (True, with_token.stat().st_size)
    assert TOKEN.encode() in _contents(with_token)


def test_a_name_that_is_taken_is_replaced_by_force_only_or_becomes_a_copy(kept):
    cli, file = kept
    note = cli.projects / "p" / "note.txt"
    note.write_text("a person's own")
    cli("restore", str(file)).fails(2, "--force", "--as")
    before = _hits(cli, mode="bm25")
    (ours,) = cli("list", "--json").ok().json
    (cli.projects / "p" / "1_pages" / "stray.json").write_text("{}")
    done = cli("restore", str(file), "--force", "--json").ok().json
    assert (done["id"], done["rebuilt"], done["token"]) == (ours["id"], False, True)
    assert note.read_text() == "a person's own"
    assert not (cli.projects / "p" / "1_pages" / "stray.json").exists()
    assert _hits(cli, mode="bm25") == before
    copy = cli("restore", str(file), "--as", "q", "--json").ok().json
    assert (copy["id"] != ours["id"], copy["rebuilt"], copy["token"]) == (True, True, False)
    same = [{**hit, "id": ""} for hit in before]
    assert [{**hit, "id": ""} for hit in _hits(cli, "q", mode="bm25")] == same
    assert sorted(path.name for path in cli.projects.iterdir()) == [".cache", "p", "q", "registry.db"]
    cli("restore", str(file), "--as", "../q").fails(2, "project name")
    assert cli("remove-project", "--project-name", "q", "--yes").ok()


def test_on_a_server_the_index_is_built_from_the_embeds_beside_the_live_one(kept, tmp_path):
    cli, file = kept
    with QdrantDouble() as server:
        there = Cli(tmp_path, INDEXER_STORE__URL=server.url)
        first = there("restore", str(file), "--json").ok().json
        second = there("restore", str(file), "--force", "--json").ok().json
        assert (second["rebuilt"], second["points"]) == (True, first["points"])
        listed = there("generations", "--project-name", "p", "--json").ok().json
        names = [second["generation"], first["generation"]]
        assert [one["generation"] for one in listed] == names, "known, so that they are removed one day"
        assert [hit["id"] for hit in _hits(there, mode="bm25")] == [
            hit["id"] for hit in _hits(cli, mode="bm25")
        ]


def test_a_restore_that_fails_in_the_end_leaves_the_old_project(kept, monkeypatch):
    cli, file = kept
    wiring = Wiring(Settings(projects_dir=str(cli.projects)))
    before = sorted(path for path in cli.projects.rglob("*") if path.suffix == ".json")

    def fail(*_):
        raise IndexerError("the registry cannot be written")

    monkeypatch.setattr(wiring.registry, "update", fail)
    mine = cli.projects / "p" / "1_pages" / "mine.json"
    mine.write_text("{}")
    with pytest.raises(IndexerError, match="the registry cannot"):
        restoring.restore(wiring, file, name="", force=True, progress=Quiet())
    wiring.close()
    mine.unlink()
    assert sorted(path for path in cli.projects.rglob("*") if path.suffix == ".json") == before


def test_a_run_in_the_way_and_targets_that_will_not_do_are_named(kept, tmp_path):
    cli, file = kept
    with project_lock(cli.projects / "p"):
        cli("backup", "p", "--to", str(tmp_path / "x")).fails(5, "held by")
        cli("restore", str(file), "--force").fails(5, "held by")
    other = tmp_path / "letter.txt"
    other.write_text("dear all")
    cli("backup", "p", "--to", str(other)).fails(2, "no backup")
    cli("backup", "p", "--to", str(tmp_path)).fails(2, "is a folder")
    cli("backup", "p", "--to", str(tmp_path / "no" / "x")).fails(2, "no folder")
    cli("backup", "p", "--to", str(cli.projects / "p" / "runs" / "x")).fails(2, "own folder")
    cli("backup", "nosuch", "--to", str(other)).fails(2, "nosuch")
    cli("restore", str(other)).fails(2, "no backup")
    cli("restore", str(tmp_path / "none")).fails(2, "cannot read")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_what_is_cut_short_or_damaged_anywhere_changes_nothing(kept, tmp_path):
    cli, file = kept
    data = file.read_bytes()
    bad = tmp_path / "bad"
    target = tmp_path / "target"
    for length in (len(data) - 200, len(data) // 2, len(data) // 20, 60):
        bad.write_bytes(data[:length])
        target.mkdir()
        with Unpacking(bad) as archive, pytest.raises(IndexerError, match=r"cut short|no backup|damaged"):
            _unpack(archive, target)
        shutil.rmtree(target)
    bad.write_bytes(data[: len(data) // 2])
    before = cli("list").ok().out
    cli("restore", str(bad), "--force").fails(1, "nothing was changed")
    assert cli("list").ok().out == before
    assert not [path for path in cli.projects.iterdir() if path.name.startswith(".restore")]
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    bad.write_bytes(flipped)
    cli("restore", str(bad), "--as", "q").fails(1, "damaged")
    assert not (cli.projects / "q").exists()


def test_the_archive_is_what_tar_and_sha256sum_know(kept):
    with tarfile.open(fileobj=io.BytesIO(_contents(kept[1]))) as archive:
        names = [member.name for member in archive if member.isfile()]
        digests = [hashlib.sha256(archive.extractfile(name).read()).hexdigest() for name in names]
        listed = archive.extractfile(names[-1]).read().decode()
    assert (names[0], names[-1]) == ("manifest.json", "SHA256SUMS")
    pairs = zip(digests[:-1], names[:-1], strict=True)
    assert listed == "".join(f"{digest}  {name}\n" for digest, name in pairs)


def _unpack(archive, target, known=lambda _: True):
    manifest = json.loads(archive.manifest())
    archive.extract(target, files=manifest["files"], size=manifest["bytes"], known=known)


def _forge(path, members, files=None, size=1000):
    """An archive of `tarfile.TarInfo` (or name) and data, with honest digests."""
    count = len(members) if files is None else files
    with Archive(path, json.dumps({"format": 1, "files": count, "bytes": size}).encode()) as archive:
        for member, data in members:
            if isinstance(member, str):
                archive.add(member, data)
            else:
                archive._out.write(member.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512))


def _link(kind, name="runs/x", to="/etc/passwd"):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


HOSTILE = {
    "leads out": [("../x", b"1")],
    "absolute": [("/x", b"1")],
    "leads out later": [("runs/../../x", b"1")],
    "dot": [("runs/./x", b"1")],
    "empty part": [("runs//x", b"1")],
    "backslash": [("runs\\x", b"1")],
    "unknown name": [("unknown", b"1")],
    "twice": [("runs/x", b"1"), ("runs/x", b"2")],
    "below a file": [("runs", b"1"), ("runs/x", b"2")],
    "symbolic link": [(_link(tarfile.SYMTYPE), b"")],
    "hard link": [(_link(tarfile.LNKTYPE), b"")],
    "device": [(_link(tarfile.CHRTYPE), b"")],
    "fifo": [(_link(tarfile.FIFOTYPE), b"")],
    "extended header": [(_link(tarfile.REGTYPE, "runs/" + "x" * 300, ""), b"")],
    "more bytes than announced": [("runs/x", b"1" * 2000)],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_hostile_members_are_refused(tmp_path, members):
    _forge(tmp_path / "a", members)
    (tmp_path / "out").mkdir()
    with (
        Unpacking(tmp_path / "a") as archive,
        pytest.raises(Misconfigured, match="no backup of indexer would"),
    ):
        _unpack(archive, tmp_path / "out", known=lambda name: name.split("/")[0] != "unknown")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "out"]


def test_more_or_less_than_announced_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    for files, words in ((1, "would"), (3, "cut short")):
        _forge(tmp_path / "a", [("runs/x", b"1"), ("runs/y", b"2")], files=files)
        with Unpacking(tmp_path / "a") as archive, pytest.raises(IndexerError, match=words):
            _unpack(archive, tmp_path / "out")
        shutil.rmtree(tmp_path / "out")
        (tmp_path / "out").mkdir()


def test_a_digest_that_does_not_fit_is_named(tmp_path):
    _forge(tmp_path / "a", [("runs/x", b"honest")])
    packed = zstandard.ZstdCompressor().compress(_contents(tmp_path / "a").replace(b"honest", b"forged"))
    (tmp_path / "a").write_bytes(packed)
    (tmp_path / "out").mkdir()
    with Unpacking(tmp_path / "a") as archive, pytest.raises(IndexerError, match="is damaged"):
        _unpack(archive, tmp_path / "out")


@pytest.mark.parametrize(("key", "words"), [("format", "newer indexer"), ("schema", "newer indexer")])
def test_a_backup_of_a_newer_version_is_refused(indexer, tmp_path, key, words):
    facts = {
        "format": 1,
        "schema": 1,
        "created": "",
        "project": "p",
        "id": "x",
        "generation": "",
        "token": False,
    }
    with Archive(tmp_path / "a", json.dumps(facts | {"files": 0, "bytes": 0, key: 99}).encode()):
        pass
    indexer("restore", str(tmp_path / "a")).fails(2, words)


def test_empty_folders_and_holes_come_back_and_links_do_not(tmp_path):
    folder = tmp_path / "from" / "runs"
    (folder / "empty").mkdir(parents=True)
    with (folder / "hole").open("wb") as file:
        file.seek(5_000_000)
        file.write(b"end")
    (folder / "link").symlink_to("/etc/passwd")
    found = list(tree(folder, under="runs"))
    size = sum(one.size for one in found)
    with Archive(tmp_path / "a", json.dumps({"files": len(found), "bytes": size}).encode()) as archive:
        for one in found:
            archive.add_file(one)
    (tmp_path / "out").mkdir()
    with Unpacking(tmp_path / "a") as archive:
        _unpack(archive, tmp_path / "out")
    assert (tmp_path / "out" / "runs" / "empty").is_dir()
    assert (tmp_path / "out" / "runs" / "hole").read_bytes() == (folder / "hole").read_bytes()
    assert (tmp_path / "out" / "runs" / "hole").stat().st_blocks * 512 < 2_000_000
    assert not (tmp_path / "out" / "runs" / "link").exists()
