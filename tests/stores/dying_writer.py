"""
Kills a writer with SIGKILL before each step it takes, and says what is left: one JSON line a trial.

    python -m tests.stores.dying_writer FOLDER STRIDE [SERVER_URL]

A step is whatever the interpreter announces (an audit event): a file opened, renamed or
removed in the project's folder, a connection to the server. Trial n: two published
generations (older: OLD, live: OLD), a writer that is killed before step n while it
builds and publishes NEW and cleans up, then a look, and each third time a whole run by another writer. Trials go
STRIDE steps apart, until a writer lives.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "socket.connect"}


def opened(folder: Path, url: str, project: str) -> Any:
    if url:
        from indexer.adapters.qdrant import QdrantStore
        from indexer.settings import Store

        return QdrantStore(project, settings=Store(url=url), folder=folder, sleep=lambda seconds: None)
    from indexer.adapters.edge import EdgeStore

    return EdgeStore(folder / "vectors", collection=project)


def prepare(folder: Path, url: str, project: str) -> None:
    from tests.stores.points import OLD, build, generation

    for number in (1, 2):
        build(opened(folder, url, project), generation(str(number)), OLD)


def write(folder: Path, url: str, project: str, step: int) -> None:
    """Build, publish and clean up; die before the step of that number."""
    from tests.stores.points import DIMENSION, NEW, generation, manifest_of, points_of, snapshot_of

    store = opened(folder, url, project)
    points = points_of(NEW)
    taken = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal taken
        if event not in EVENTS or (event != "socket.connect" and str(folder) not in str(arguments[0])):
            return
        taken += 1
        if taken == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    building = store.begin(generation("3"), DIMENSION)
    for point in points:
        building.upsert([point])
    building.seal(len(points))
    store.publish(manifest_of(store, generation("3"), NEW), snapshot_of(NEW))
    store.gc(2)


def look(folder: Path, url: str, project: str, *, go_on: bool) -> dict[str, Any]:
    """What a reader finds, and (`go_on`) again after another writer's whole run."""
    from tests.stores.points import OLD, build, generation, texts_in

    seen = texts_in(opened(folder, url, project))
    if not go_on:
        return {"seen": sorted(seen)}
    build(opened(folder, url, project), generation("4"), OLD)
    store = opened(folder, url, project)
    store.gc(1)
    return {
        "seen": sorted(seen),
        "after": sorted(texts_in(store)),
        "generations": store.generations(),
        "files": sorted(path.name for path in (folder / "vectors").iterdir()),
    }


def forked(work: Callable[[], Any]) -> tuple[int, Any]:
    """Run `work` in a child; how it ended, and what it returned."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        try:
            os.write(sink, json.dumps(work()).encode())
        except BaseException as error:  # noqa: BLE001 - reported by the parent
            os.write(sink, json.dumps({"error": repr(error)}).encode())
        os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    return status, json.loads(data) if data else None


def preload(url: str) -> None:
    """Import once what every child needs; none of it starts a thread, so that forking is safe."""
    needed = ["numpy", "qdrant_client" if url else "qdrant_edge", "tenacity"]
    for name in [*needed, "indexer.adapters.edge", "indexer.adapters.qdrant", "tests.stores.points"]:
        importlib.import_module(name)


def main(root: Path, stride: int, url: str) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    preload(url)
    step = 0
    killed = True
    while killed:
        step += stride
        folder, project = root / str(step), f"{root.name}-{step}"
        _, trouble = forked(lambda: prepare(folder, url, project))  # noqa: B023 - called at once
        status, died = forked(lambda: write(folder, url, project, step))  # noqa: B023
        killed = os.WIFSIGNALED(status)
        _, left = forked(lambda: look(folder, url, project, go_on=step % 3 == 0))  # noqa: B023
        trial = {"step": step, "killed": killed, "errors": [trouble, died], **left}
        sys.stdout.write(json.dumps(trial) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
