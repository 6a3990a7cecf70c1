"""A schedule is one line or one timer, says what it runs, and goes again without a trace."""

from __future__ import annotations

import os
import stat
import subprocess

import pytest

from indexer.pipeline.schedule import Plan, cron_line, unit_name, units

_CRONTAB = """#!/bin/sh
if [ "$1" = -l ]; then
    [ -f "$TAB" ] || { echo "no crontab for $USER" >&2; exit 1; }
    cat "$TAB"
else
    cat > "$TAB"
fi
"""
_SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in *show-environment) echo "LANG=C"; echo "$MANAGER" ;; esac
"""


@pytest.fixture
def fakes(tmp_path):
    """Programs in place of crontab and systemctl, which write down what they are told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("crontab", _CRONTAB), ("systemctl", _SYSTEMCTL)):
        path = folder / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "TAB": str(tmp_path / "tab"),
        "CALLS": str(tmp_path / "calls"),
        "MANAGER": "",
        "XDG_CONFIG_HOME": str(tmp_path / "my config"),
    }


def test_a_cron_line_comes_and_goes_and_others_stay(indexer, fakes, tmp_path):
    (tmp_path / "tab").write_text("5 4 * * * backup\n")
    indexer("init-project", "--name", "Клиника 1").ok()
    one = ("--project-name", "Клиника 1", "--via", "cron")
    for _ in range(2):
        indexer("schedule", "install", *one, "--at", "02:15", "--jitter", "0", **fakes).ok()
    indexer("schedule", "install", "--via", "cron", "--jobs", "3", **fakes).ok()
    mine, other, backup = sorted((tmp_path / "tab").read_text().splitlines(), key=lambda line: line[-3:])
    lines = {line.rpartition("# ")[2]: line for line in (mine, other, backup)}
    assert "5 4 * * * backup" in lines.values()
    assert lines["indexer:Клиника 1"].startswith("15 2 * * * cd ")
    assert "--project-name 'Клиника 1' >> " in lines["indexer:Клиника 1"]
    assert "--all --jobs 3" in lines["indexer:*"]
    assert "15 2" in indexer("schedule", "show", *one, **fakes).ok().out
    indexer("schedule", "remove", *one, **fakes).ok()
    indexer("schedule", "remove", *one, **fakes).fails(2, "no schedule")
    indexer("schedule", "remove", "--via", "cron", **fakes).ok()
    assert (tmp_path / "tab").read_text() == "5 4 * * * backup\n"


def test_a_cron_line_runs_as_it_stands(indexer, tmp_path, fakes):
    indexer("init-project", "--name", "p 100%").ok()
    shown = indexer("schedule", "install", "--project-name", "p 100%", "--via", "cron", "--json", **fakes)
    line = shown.ok().json["lines"][0]
    command = line.split(" ", 5)[5].replace("\\%", "%")  # what cron hands to the shell
    done = subprocess.run(["/bin/sh", "-c", command], env=indexer.env, cwd="/", check=False)
    assert done.returncode == 2
    log = (indexer.projects / "reindex.log").read_text()
    assert "no sources to look at again" in log


def _runs_as_cron_does(line):
    """A crontab's line with the few variables that cron sets; gives the code."""
    command = line.split(" ", 5)[5].replace("\\%", "%")
    bare = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    return subprocess.run(["/bin/sh", "-c", command], env=bare, cwd="/", check=False).returncode


def test_a_scheduled_run_has_the_settings_of_the_shell_that_installed_it(indexer, fakes, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "my.toml").write_text('[models]\nembedding = ["fake/from-the-file"]\n')
    (tmp_path / "token").write_text("sesame-of-the-bot")
    given = {
        "INDEXER_CONFIG": "conf/my.toml",
        "INDEXER_CRAWL__USER_AGENT": '50% "ours" it\'s $HOME',
        "INDEXER_PROVIDERS__FAKE__BASE_URL": "nothing://here",
        "INDEXER_BOT_TOKEN_FILE": str(tmp_path / "token"),
        **fakes,
    }
    indexer("init-project", "--name", "p").ok()
    indexer("set", "--project-name", "p", "urls", "http://127.0.0.1:1/").ok()
    line = indexer("schedule", "install", "--via", "cron", "--json", **given).ok().json["lines"][0]
    assert f"--config {tmp_path}/conf/my.toml" in line
    assert f"INDEXER_BOT_TOKEN_FILE={tmp_path}/token" in line
    assert "sesame" not in line
    assert _runs_as_cron_does(line) == 2
    log = (indexer.projects / "reindex.log").read_text()
    assert "[providers.fake]" in log, "the file that only a variable named, and what variables add to it"
    indexer("schedule", "install", "--via", "systemd", **given).ok()
    service = (tmp_path / "my config" / "systemd" / "user" / "indexer.service").read_text()
    assert f'"--config" "{tmp_path}/conf/my.toml"' in service
    assert 'Environment="INDEXER_CRAWL__USER_AGENT=50%% \\"ours\\" it\'s $HOME"\n' in service


def test_a_secret_of_the_shell_is_in_no_schedule_and_its_absence_is_said(indexer, fakes, tmp_path):
    (tmp_path / "indexer.toml").write_text(
        '[models]\nembedding = ["fake/m"]\n[providers.fake]\nbase_url = "http://127.0.0.1:1/v1"\n'
        'api_key_env = ["THE_KEY"]\n'
    )
    indexer("init-project", "--name", "p").ok()
    indexer("set", "--project-name", "p", "crawl.auth_env", "PORTAL").ok()
    secrets = {
        "THE_KEY": "sk-0123456789",
        "PORTAL": "reader:horse-battery",
        "INDEXER_REGISTRY_URL": "",
        "INDEXER_BOT_TOKEN": "sesame-of-the-bot",
    }
    for via, place in (("cron", tmp_path / "tab"), ("systemd", tmp_path / "my config")):
        told = indexer("schedule", "install", "--via", via, **secrets, **fakes)
        told.fails(2, "THE_KEY, INDEXER_BOT_TOKEN and PORTAL", "THE_KEY_FILE=/")
        assert not place.exists()
        for secret in filter(None, secrets.values()):
            assert secret not in told.err + told.out
    for name, text in (
        ("INDEXER_PROVIDERS__FAKE__HEADERS__X_AUTH", "sesame"),
        ("INDEXER_BOT__URL", "https://me:horse-battery@bot.example"),
        ("INDEXER_CRAWL__INCLUDE", '["/a",\n"/b"]'),
    ):
        indexer("schedule", "install", "--via", "cron", **{name: text}, **fakes).fails(2, name, "--config")
    (tmp_path / "tab").write_text('THE_KEY = x\n"PORTAL"=y\n')
    given = {"THE_KEY": "sk-0123456789", "PORTAL": "reader:horse-battery", **fakes}
    indexer("schedule", "install", "--via", "cron", **given).ok()
    assert "sk-0" not in (tmp_path / "tab").read_text(), "cron has it from its own table"
    indexer("schedule", "install", "--via", "systemd", **given).fails(2, "THE_KEY and PORTAL")
    indexer("schedule", "install", "--via", "systemd", **given | {"MANAGER": "THE_KEY=x\nPORTAL=y"}).ok()


def test_a_line_that_cron_would_cut_off_is_not_installed(indexer, fakes, tmp_path):
    long = {"INDEXER_CRAWL__USER_AGENT": "x" * 1000}
    indexer("schedule", "install", "--via", "cron", **long, **fakes).fails(2, "INDEXER_CRAWL__USER_AGENT")
    assert not (tmp_path / "tab").exists()


def test_a_timer_is_written_started_and_removed(indexer, fakes, tmp_path):
    done = indexer("schedule", "install", "--at", "04:05", "--jitter", "45", "--json", **fakes).ok().json
    assert done["via"] == "systemd", "it answers, so it is asked"
    folder = tmp_path / "my config" / "systemd" / "user"
    timer, service = ((folder / f"indexer.{kind}").read_text() for kind in ("timer", "service"))
    assert "OnCalendar=*-*-* 04:05:00\nRandomizedDelaySec=45min\nPersistent=true" in timer
    assert '"reindex" "--log-json"' in service
    assert "KillMode=mixed" in service, "each project is interrupted once, by the command that started it"
    assert "--user enable --now indexer.timer" in (tmp_path / "calls").read_text()
    assert "04:05" in indexer("schedule", "show", **fakes).ok().out
    indexer("schedule", "remove", **fakes).ok()
    assert not list(folder.iterdir())
    indexer("schedule", "install", "--at", "25:00", **fakes).fails(2, "03:30")


def test_what_systemd_and_cron_would_expand_is_escaped(tmp_path):
    plan = Plan(
        name="a%b", words=("reindex", "--project-name", 'a%b $x "q"'), folder=tmp_path, at=5, jitter=30,
        log=tmp_path / "l",
    )  # fmt: skip
    assert '"a%%b $$x \\"q\\""' in units(plan)[f"{unit_name('a%b')}.service"]
    assert "\\%b" in cron_line(plan)
    assert unit_name("Клиника") != unit_name("Клиники")
    minute, hour = map(int, cron_line(plan).split(" ", 2)[:2])
    assert 5 <= minute + 60 * hour <= 35
