"""A terminal sees a bar with speed, errors and the host that is waited for; anything else sees plain lines."""

from __future__ import annotations

import fcntl
import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading

import pytest

from indexer.cli import progress
from indexer.cli.console import Console, printable
from tests.support.shop import html, open_shop, publish_sitemap, sources

PAGES = 8
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def root_logger():
    """A console takes the root logger over: give it back."""
    root, ours = logging.getLogger(), logging.getLogger("indexer")
    before = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


@pytest.fixture
def slow_shop():
    with open_shop({}) as shop:
        for number in range(PAGES):
            shop.page(
                f"/page-{number}", html(f"Страница {number}", f"<p>Товар номер {number} есть в наличии.</p>")
            )
            shop.fault(f"/page-{number}", "delay", seconds=0.25)
        publish_sitemap(shop, ["/missing", *(f"/page-{number}" for number in range(PAGES))])
        yield shop


def _start(shop):
    return ["init-project", "--name", "p", *sources(shop), "--concurrency", "1", "--until-phase", "chunk"]


def _on_a_terminal(cli, *words):
    """What a person sees: stderr is a terminal of 120 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = []

    def read():
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            seen.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "indexer", *words],
            cwd=cli.folder,
            env=cli.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        out, _ = process.communicate(timeout=100)
    finally:
        reader.join(30)
        os.close(ours)
    return process.returncode, out.decode(), b"".join(seen).decode()


def test_a_terminal_shows_a_bar_with_pages_a_second_errors_and_the_host(indexer, slow_shop):
    code, out, seen = _on_a_terminal(indexer, *_start(slow_shop), "--json")
    assert code == 3
    assert out.startswith("{")
    assert re.search(r"Scraping: +\d+%\|.*\d/9 \[.*\d\.\d\d pages/s", seen)
    assert "1 failed" in seen
    assert f"waiting for {slow_shop.host}" in seen
    lines = [line.rpartition("\r")[2] for line in seen.split("\r\n")]
    assert f"Scraping completed: {PAGES} pages" in lines, "the bar left nothing on the line"


def test_with_q_a_terminal_stays_empty(indexer, slow_shop):
    code, out, seen = _on_a_terminal(indexer, *_start(slow_shop), "-q")
    assert code == 3
    assert "found" in out
    assert seen == ""


def test_without_a_terminal_there_are_lines_and_no_control_characters(indexer, slow_shop):
    result = indexer(*_start(slow_shop), "-v")
    assert result.code == 3
    assert f"Scraping completed: {PAGES} pages\n" in result.err
    assert not CONTROL.search(result.err + result.out)
    assert "%|" not in result.err


@pytest.mark.usefixtures("root_logger")
def test_a_long_phase_prints_a_plain_line_now_and_then(capsys, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    console = Console(json=False, quiet=False, verbose=0)
    for step in range(13):
        console.step("Scraping", step * 10, 400, "2 failed, waiting for shop.test")
        clock[0] += 1.0
    console.step("Chunking", 1, 0)
    assert capsys.readouterr().err.splitlines() == [
        "Scraping: 50 of 400 pages, 10.0 pages/s, 2 failed, waiting for shop.test",
        "Scraping: 100 of 400 pages, 10.0 pages/s, 2 failed, waiting for shop.test",
    ]


@pytest.mark.usefixtures("root_logger")
def test_what_a_server_wrote_cannot_steer_the_terminal(capsys):
    console = Console(json=False, quiet=False, verbose=1)
    evil = "a\x1b[2Jb\x07\rc\x9bd\u202ee"
    console.say(evil)
    console.error(evil, 1)
    logging.getLogger("indexer").warning("%s", evil)
    console.result({}, evil + "\tnext\nline")
    shown = capsys.readouterr()
    assert not CONTROL.search(shown.err + shown.out)
    assert "\u202e" not in shown.err + shown.out
    assert "\tnext\nline" in shown.out
    assert (
        printable("user:pw@x https://user:pw@host/ sesame", ["sesame"]) == "user:pw@x https://***@host/ ***"
    )


def test_ignoring_robots_is_said_in_each_run_and_shown_by_status(indexer, slow_shop):
    slow_shop.mend()
    slow_shop.page("/robots.txt", "User-agent: *\nDisallow: /page-1\n", content_type="text/plain")
    publish_sitemap(slow_shop, ["/page-0", "/page-1"])
    said = "Ignoring robots.txt (--ignore-robots)"
    obedient = indexer(*_start(slow_shop)).ok()
    assert said not in obedient.err
    assert "robots.txt" not in indexer("status", "--project-name", "p").ok().out
    assert "/page-1" not in slow_shop.paths()
    seed = ("seed", "--project-name", "p", "--until-phase", "chunk")
    assert indexer(*seed, "--ignore-robots").ok().err.count(said) == 1
    assert "/page-1" in slow_shop.paths()
    assert indexer(*seed).ok().err.count(said) == 1, "stored with the project"
    assert "ignored (--ignore-robots)" in indexer("status", "--project-name", "p").ok().out
    assert indexer("status", "--project-name", "p", "--json").ok().json["ignore_robots"] is True
    assert said not in indexer(*seed, "--obey-robots").ok().err
    assert indexer("status", "--project-name", "p", "--json").ok().json["ignore_robots"] is False
