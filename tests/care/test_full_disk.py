"""On a disk that is full or read-only every phase ends with a clear error, the live index answers, and goes on after."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.support.cli import Cli
from tests.support.shop import html, open_shop, sources

P = ("--project-name", "p")
PHASES = {
    "scrape": ("reindex", *P, "--until-phase", "scrape"),
    "chunk": ("seed", *P, "--from-phase", "chunk", "--until-phase", "chunk"),
    "embed": ("seed", *P, "--from-phase", "embed", "--until-phase", "embed"),
    "index": ("seed", *P, "--from-phase", "index", "--until-phase", "index"),
    "rollback": ("rollback", *P),
    "publish": ("publish", *P, "--force", "--reason", "the rollback was a test"),
    "backup": ("backup", "p", "--to", "projects/p.tar.zst"),
}


class Disk:
    """A small ext4 file system, which can be filled and made read-only, also for root."""

    def __init__(self, folder):
        self.folder = folder

    def fill(self, free=0):
        """Until `free` bytes are left."""
        ballast = self.folder / "ballast"
        with ballast.open("wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(65536))
                except OSError:
                    break
        os.truncate(ballast, max(0, ballast.stat().st_size - free))

    def drain(self):
        (self.folder / "ballast").unlink(missing_ok=True)

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path):
    image, folder = tmp_path / "image", tmp_path / "projects"
    if os.geteuid() or not shutil.which("mkfs.ext4"):
        pytest.skip("only root can mount a small disk, and mkfs.ext4 is needed")
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(48 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True, capture_output=True)
    done = subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("this machine mounts no file: it has no loop devices, or forbids them")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _texts(cli):
    hits = cli("search", *P, "--mode", "bm25", "--json", "гарантия масло").ok().json
    return sorted(hit["text"] for hit in hits)


@pytest.mark.timeout(300)
def test_a_full_or_read_only_disk_costs_nothing_but_the_run(disk, tmp_path):
    cli = Cli(tmp_path)
    with open_shop() as site:
        cli("init-project", "--name", "p", *sources(site)).ok()
        before = _texts(cli)
        site.page("/warranty", html("Гарантия", "<p>Гарантия теперь десять лет, и на масло.</p>"))
        for phase, words in PHASES.items():
            disk.remount("ro")
            cli(*words).fails(2, "cannot write", "writable")
            if phase == "scrape":
                assert _texts(cli) == before
            disk.remount("rw")
            disk.fill(20_000 if phase in ("chunk", "publish") else 0)  # some files fit, not all
            cli(*words).fails(1, "no space left", "free some space")
            if phase in ("index", "rollback"):
                assert _texts(cli) == before
            disk.drain()
            assert not list(disk.folder.glob(".p.tar*"))
            assert cli(*words).ok()
            if phase in ("index", "rollback", "publish"):
                after = _texts(cli)
                assert after != before
                before = after
        disk.fill()
        assert cli("gc", *P, "--keep", "1", "--json").ok().json["removed"], (
            "the remedy works when it is needed"
        )
        disk.drain()
        assert cli("reindex", *P, "--json").ok().json["embedded"] == 0
        assert _texts(cli) == before
        found = cli("doctor", "p", "--json").json["findings"]
        assert {one["check"] for one in found if one["severity"] != "info"} == {"disk"}, "it is a small one"
