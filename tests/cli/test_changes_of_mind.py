"""Models, servers, sites and sources change under a project; it says so and loses nothing."""

from __future__ import annotations

import pytest

from tests.support.model_api import ModelApi
from tests.support.shop import PAGES, html, open_shop, publish_sitemap, sources
from tests.support.web import Reply, Site


def _models(api: ModelApi, mode: str, key: str = 'api_key_env = ["TEST_KEY"]') -> str:
    return f'[models]\nembedding = ["fake/m"]\n[providers.fake]\nbase_url = "{api.base_url("emb", mode)}"\n{key}\n'


@pytest.fixture
def shop():
    with open_shop() as site:
        yield site


@pytest.fixture
def api():
    with ModelApi() as server:
        yield server


def test_a_model_of_another_dimension_replaces_all_vectors_and_can_be_taken_back(
    indexer, shop, api, tmp_path
):
    for mode in ("ok", "dim2"):
        (tmp_path / f"{mode}.toml").write_text(_models(api, mode))
    key = {"TEST_KEY": "k"}
    first = (
        indexer("init-project", "--name", "p", *sources(shop), "--config", "ok.toml", "--json", **key)
        .ok()
        .json
    )
    shop.page("/new", html("Новое", "<p>Открыли вторую смену на улице Лесной, дом 3.</p>"))
    added = indexer(
        "add-urls", "--project-name", "p", "--urls", shop.url("/new"), "--config", "dim2.toml", "--json", **key
    ).ok()  # fmt: skip
    assert "another dimension" in added.err
    assert added.json["embedded"] >= first["points"] + 1
    hits = (
        indexer("search", "--project-name", "p", "--config", "dim2.toml", "--json", "вторая смена", **key)
        .ok()
        .json
    )
    assert {hit["url"] for hit in hits} == {shop.url(path) for path in [*PAGES, "/new"]}
    indexer("search", "--project-name", "p", "--config", "ok.toml", "вторая смена", **key).fails(
        2, "dimensions"
    )
    back = indexer(
        "seed", "--project-name", "p", "--config", "ok.toml", "--from-phase", "embed", "--force", "--json", **key
    ).ok().json  # fmt: skip
    assert back["points"] == added.json["points"]
    indexer("search", "--project-name", "p", "--config", "ok.toml", "вторая смена", **key).ok()


def test_a_server_without_keys_is_asked_without_one(indexer, shop, api, tmp_path):
    (tmp_path / "indexer.toml").write_text(_models(api, "ok", key=""))
    assert indexer("init-project", "--name", "p", *sources(shop), "--json").ok().json["embedded"] > 0


@pytest.mark.parametrize(
    ("toml", "word"),
    [
        ('[models]\nembedding = ["openai/text-embedding-3-small"]', "OPENAI_API_KEY"),
        ('[models]\nextract = ["nowhere/m"]', "nowhere"),
        ('[models]\nembedding = ["local/nosuch"]', "nosuch"),
        ('[index]\nanalyzer = "foo"', "analyzer"),
    ],
)
def test_a_model_that_cannot_be_had_is_said_before_anything_is_fetched(indexer, shop, tmp_path, toml, word):
    (tmp_path / "indexer.toml").write_text(toml)
    indexer("init-project", "--name", "p", *sources(shop), OPENAI_API_KEY="").fails(2, word)
    assert shop.log == []
    (tmp_path / "indexer.toml").unlink()
    assert indexer("list", "--json").ok().json == []


def test_a_great_loss_is_not_published_unasked(indexer):
    pages = {f"/{n}": (f"Услуга {n}", f"<p>Услуга номер {n} стоит {n * 100} рублей.</p>") for n in range(12)}
    with open_shop(pages) as site:
        first = indexer("init-project", "--name", "p", *sources(site), "--json").ok().json
        for n in range(8):
            site.page(f"/{n}", status=410)
        refused = indexer("seed", "--project-name", "p", "--json")
        refused.fails(4, "8 of 12 pages", "--allow-shrink")
        hits = (
            indexer("search", "--project-name", "p", "--mode", "bm25", "--limit", "50", "--json", "услуга")
            .ok()
            .json
        )
        assert len(hits) == 12
        assert indexer("status", "--project-name", "p", "--json").json["generation"] == first["generation"]
        report = indexer("seed", "--project-name", "p", "--allow-shrink", "--json").ok().json
        assert (report["indexed"], report["points"]) == (4, 4)


def test_a_first_run_that_finds_nothing_can_be_corrected_and_typed_again(indexer, shop):
    wrong = ["--sitemap-url", shop.url("/nothing.xml"), "--allow-private", shop.host]
    indexer("init-project", "--name", "p", *wrong).fails(2, "removed again")
    indexer("init-project", "--name", "p", *sources(shop), "--until-phase", "scrape").ok()


def test_status_tells_what_a_changed_setting_makes_stale(indexer, shop):
    indexer("init-project", "--name", "p", *sources(shop), "--until-phase", "chunk").ok()
    owed = indexer("status", "--project-name", "p", "--json").ok().json["owed"]
    assert owed == {"pages": 0, "chunks": 0, "embeds": len(PAGES)}
    indexer("seed", "--project-name", "p").ok()
    assert not any(indexer("status", "--project-name", "p", "--json").ok().json["owed"].values())
    indexer("set", "--project-name", "p", "chunk.max_chars", "300").ok()
    assert indexer("status", "--project-name", "p", "--json").ok().json["owed"]["chunks"] == len(PAGES)


def test_status_says_registered_only_of_the_bot_that_was_told(indexer, shop):
    shop.fallback(lambda _request: Reply(body="{}"))
    indexer("init-project", "--name", "p", *sources(shop), "--bot-url", shop.origin).ok()
    assert indexer("status", "--project-name", "p", "--json").ok().json["registered"] is True
    with Site() as other:
        other.fallback(lambda _request: Reply(body="no", status=401))
        indexer("set", "--project-name", "p", "bot-url", other.origin).ok()
        indexer("register", "--project-name", "p").fails(3, "401")
        assert indexer("status", "--project-name", "p", "--json").ok().json["registered"] is False
    indexer("set", "--project-name", "p", "bot-url", "notaurl").fails(2, "notaurl")


def test_a_damaged_index_is_built_anew(indexer, shop):
    indexer("init-project", "--name", "p", *sources(shop)).ok()
    vectors = indexer.projects / "p" / "vectors"
    for path in [vectors / "CURRENT", *vectors.glob("gen-*/state")]:
        path.write_bytes(b"\x8f\x00\xffgarbage")
    indexer("seed", "--project-name", "p").ok()
    assert indexer("search", "--project-name", "p", "--json", "замена масла").ok().json


def test_a_chat_model_that_is_of_no_use_is_said(indexer, shop, api, tmp_path):
    (tmp_path / "indexer.toml").write_text(
        f'[models]\nextract = ["chat/m"]\n[providers.chat]\nbase_url = "{api.base_url("llm", "reasoning")}"\n'
    )
    result = indexer("init-project", "--name", "p", *sources(shop), "--until-phase", "chunk").ok()
    assert f"no full use for {len(PAGES)} pages" in result.err
    assert "reasoning" in result.err


def test_a_project_that_is_created_again_over_old_files_gets_its_own_index(indexer, shop):
    first = indexer("init-project", "--name", "p", *sources(shop), "--json").ok().json
    for path in indexer.projects.glob("registry.db*"):
        path.unlink()
    second = indexer("init-project", "--name", "p", *sources(shop), "--json").ok().json
    assert second["id"] != first["id"]
    assert second["generation"] != first["generation"]


def test_odd_streams_end_without_a_traceback(indexer, shop):
    indexer("init-project", "--name", "Кот", *sources(shop), "--until-phase", "scrape").ok()
    assert "\\u041a" in indexer("list", PYTHONIOENCODING="ascii").ok().out
    indexer("remove-project", "--project-name", "Кот").fails(2, "--yes")


def test_links_out_of_a_folder_are_not_followed(indexer, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nOpen from nine to five.\n")
    (tmp_path / "secret.txt").write_text("the secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    indexer("init-project", "--name", "p").ok()
    report = indexer("add-files", "--project-name", "p", "docs", "--until-phase", "chunk", "--json").ok().json
    assert report["found"] == 1


def test_a_publish_sitemap_that_names_nothing_new_changes_nothing(indexer, shop):
    first = indexer("init-project", "--name", "p", *sources(shop), "--json").ok().json
    publish_sitemap(shop, list(reversed(PAGES)))
    again = indexer("seed", "--project-name", "p", "--json").ok().json
    assert again["generation"] == first["generation"]


def test_nothing_is_written_into_the_home_folder(indexer, shop, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    indexer("init-project", "--name", "p", *sources(shop), HOME=str(home)).ok()
    indexer("search", "--project-name", "p", "замена масла", HOME=str(home)).ok()
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_run_that_found_no_page_is_over_and_the_next_asks_again(indexer, shop):
    """What it was refused for (an address, a 403) may be mended since."""
    refused = indexer("init-project", "--name", "p", "--crawl", shop.url("/"), "--no-register")
    assert "allow it with --allow-private" in refused.fails(1).err
    assert ", ended " in indexer("status", "--project-name", "p").ok().out
    report = (
        indexer("seed", "--project-name", "p", "--allow-private", shop.host, "--json", "--no-register")
        .ok()
        .json
    )
    assert report["indexed"] > 0
    assert report["failed"] == 0
