"""
Train the judges of `indexer.extract` and write its weights.json.

    python scripts/train_extract.py --data SET [--half 0|1] --out indexer/extract/weights.json
    python scripts/train_extract.py --data SET --cross-validate --out PREDICTIONS.jsonl

SET holds `items.jsonl` (`id, url, gold`) and `html/ID.html.gz`: pages with the text that
annotators took for their content. Needs `catboost` and `rapidfuzz` beside the project.
Pages of one domain are always on the same side of a split; `--half` trains on one half of
the domains, so that the other can be scored unseen. `--cross-validate` instead writes what
the whole of `indexer.extract` gives for each page with judges that have not seen its domain:
JSON lines of `id, text` for the set's scorer. Compare them with its own weights' figures: the
difference is what the weights know by heart.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor, Pool
from rapidfuzz.distance import LCSseq
from selectolax.lexbor import LexborHTMLParser

from indexer.extract import classify, features, mend, model, structured
from indexer.extract.page import PageFacts
from indexer.extract.reader import encode
from indexer.extract.reader import read as read_page
from indexer.extract.walk import Walk

TOKEN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
FOLDS = 5
SHINGLE = 3
MIN_DOMAINS = 10  # a word of class names must stand on so many domains to be a hint
MAX_BLOCKS = 250  # of one page in the training set
REPEATED = 4  # as in markdown._without_copies
BLOCKS = {
    "iterations": 150,
    "depth": 6,
    "learning_rate": 0.12,
    "l2_leaf_reg": 20,
    "rsm": 0.25,
    "border_count": 48,
}
BAR = {"iterations": 150, "depth": 4, "learning_rate": 0.05, "l2_leaf_reg": 50, "rsm": 0.5}
COMMON = {
    "bootstrap_type": "Bernoulli",
    "subsample": 0.7,
    "verbose": 0,
    "random_seed": 1,
    "allow_writing_files": False,
}


class Example:
    """A page with its gold words, and for each block the share of its words that is gold."""

    def __init__(self, item: dict, html: str) -> None:
        tree = LexborHTMLParser(encode(html))
        self.item = item
        self.domain = ".".join(urlsplit(item["url"] or item["id"]).netloc.rsplit(".", 2)[-2:]) or item["id"]
        self.facts = PageFacts(tree, structured.types_of(structured.objects(tree)), item["url"] or "")
        self.numbers = self.facts.numbers()
        self.facts.numbers = lambda: self.numbers
        walk = Walk()
        walk.run(tree.body)
        self.blocks, self.frames = walk.blocks, walk.frames
        self.gold = TOKEN.findall(item["gold"].lower())
        self.tokens = [TOKEN.findall(b.text.lower()) for b in self.blocks]
        self.labels = np.array(label(self.tokens, self.gold))
        self.groups = mend.Groups(self.blocks)
        self.words = np.array([b.words for b in self.blocks], dtype=float)

    def fold(self, salt: str, count: int) -> int:
        return int(hashlib.sha256((salt + self.domain).encode()).hexdigest(), 16) % count

    def score(self, keep: np.ndarray) -> float:
        """F1 of the bags of words, as the benchmark counts it."""
        seen, bag = set(), Counter()
        for block, tokens, kept in zip(self.blocks, self.tokens, keep, strict=True):
            if kept and (len(tokens) < REPEATED or block.kind == "row" or block.text not in seen):
                seen.add(block.text)
                bag.update(tokens)
        both = sum((bag & Counter(self.gold)).values())
        return 2 * both / (bag.total() + len(self.gold)) if both else 0.0


def label(blocks: list[list[str]], gold: list[str]) -> list[float]:
    """Long blocks by their shingles, short ones by the alignment of page and gold."""
    page = [t for tokens in blocks for t in tokens]
    aligned = np.zeros(len(page) + 1, dtype=bool)
    if len(page) * len(gold) < 4e8:
        for op in LCSseq.opcodes(page, gold):
            if op.tag == "equal":
                aligned[op.src_start : op.src_end] = True
    shingles = {tuple(gold[k : k + SHINGLE]) for k in range(len(gold) - SHINGLE + 1)}
    out, at = [], 0
    for tokens in blocks:
        n = len(tokens)
        if n > SHINGLE:
            covered = np.zeros(n, dtype=bool)
            for k in range(n - SHINGLE + 1):
                if tuple(tokens[k : k + SHINGLE]) in shingles:
                    covered[k : k + SHINGLE] = True
            out.append(float(covered.mean()))
        else:
            out.append(float(aligned[at : at + n].mean()) if n else 0.0)
        at += n
    return out


def counts_by_name(page: Example) -> dict[str, tuple[float, float]]:
    """Word of class names → (gold words, words) under elements that bear it."""
    sizes = np.array([len(t) for t in page.tokens], dtype=float)
    words = np.concatenate([[0.0], np.cumsum(sizes)])
    gold = np.concatenate([[0.0], np.cumsum(sizes * page.labels)])
    spans = defaultdict(list)
    for frame in page.frames:
        if frame.names and frame.last > frame.first:
            for name in features.name_tokens(frame.names):
                spans[name].append((frame.first, frame.last))
    for k, block in enumerate(page.blocks):
        for name in features.name_tokens(block.inner) if block.inner else ():
            spans[name].append((k, k + 1))
    out = {}
    for name, ranges in spans.items():
        end, g, n = -1, 0.0, 0.0
        for a, b in sorted(ranges):
            start = max(a, end)
            if b > start:
                g += gold[b] - gold[start]
                n += words[b] - words[start]
                end = b
        if n:
            out[name] = (g, n)
    return out


def learn_hints(pages: list[Example]) -> dict[str, float]:
    """Log-odds of content under each word of class names, each page counting once, shrunk to the mean."""
    good, seen, domains = defaultdict(float), defaultdict(float), defaultdict(set)
    for page in pages:
        for name, (g, n) in page.counts.items():
            weight = min(1.0, n / 30)
            good[name] += weight * g / n
            seen[name] += weight
            domains[name].add(page.domain)
    prior = sum(good.values()) / sum(seen.values())
    base = math.log(prior / (1 - prior))
    out = {}
    for name in sorted(good):
        if len(domains[name]) >= MIN_DOMAINS:
            odds = (good[name] + 3 * prior) / (seen[name] - good[name] + 3 * (1 - prior))
            value = max(-4.0, min(4.0, math.log(odds) - base))
            if abs(value) >= 0.3:
                out[name] = round(value, 2)
    return out


def weights_of(page: Example) -> np.ndarray:
    """What a block counts: its words, damped, against the size of page and gold."""
    sizes = np.array([len(t) for t in page.tokens], dtype=float)
    return (sizes**0.8 + 0.3) / math.sqrt(max(len(page.gold), 20) * max(sizes.sum(), 1)) ** 0.8


def train_blocks(pages: list[Example], matrices: list[np.ndarray], threads: int) -> CatBoostClassifier:
    rng = np.random.default_rng(0)
    rows, labels, weights = [], [], []
    for page, matrix in zip(pages, matrices, strict=True):
        n = len(matrix)
        pick = np.arange(n) if n <= MAX_BLOCKS else rng.choice(n, MAX_BLOCKS, replace=False)
        rows.append(matrix[pick])
        labels.append(page.labels[pick])
        weights.append(weights_of(page)[pick] * (n / len(pick)))
    weight = np.concatenate(weights)
    model = CatBoostClassifier(loss_function="CrossEntropy", thread_count=threads, **COMMON, **BLOCKS)
    model.fit(Pool(np.vstack(rows), np.concatenate(labels), weight=weight / weight.mean()))
    return model


def probabilities(model: CatBoostClassifier, page: Example, matrix: np.ndarray) -> np.ndarray:
    return mend.level(page.groups, model.predict_proba(matrix)[:, 1], page.words)


def train_bars(spreads: list[np.ndarray], scores: np.ndarray, threads: int) -> CatBoostRegressor:
    model = CatBoostRegressor(loss_function="MultiRMSE", thread_count=threads, **COMMON, **BAR)
    model.fit(np.vstack(spreads), smooth(scores - scores.mean(axis=1, keepdims=True)))
    return model


def smooth(gains: np.ndarray) -> np.ndarray:
    """Each bar's gain with half that of its neighbours: one page's best bar is mostly chance."""
    padded = np.pad(gains, ((0, 0), (1, 1)), mode="edge")
    return (padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]) / 4


def exported(
    model: CatBoostClassifier | CatBoostRegressor, names: tuple[str, ...], depth: int, scratch: Path
) -> dict:
    """The trees as model.Ensemble writes them."""
    model.save_model(str(scratch), format="json")
    saved = json.loads(scratch.read_text())
    scratch.unlink()
    index = [f["flat_feature_index"] for f in saved["features_info"]["float_features"]]
    scale, bias = saved["scale_and_bias"]
    bias = bias if isinstance(bias, list) else [bias]
    columns, borders, leaves = [], [], []
    for tree in saved["oblivious_trees"]:
        values = np.array(tree["leaf_values"]).reshape(-1, len(bias)) * scale
        splits = tree["splits"]
        columns += [index[s["float_feature_index"]] for s in splits] + [0] * (depth - len(splits))
        borders += [float(f"{s['border']:.6g}") for s in splits] + [1e30] * (depth - len(splits))
        padded = np.zeros((1 << depth, len(bias)))
        padded[: len(values)] = values
        leaves += [round(v, 4) for v in padded.ravel().tolist()]
    return {
        "names": names,
        "depth": depth,
        "bias": bias,
        "features": columns,
        "borders": borders,
        "leaves": leaves,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--depth", type=int, default=BLOCKS["depth"])
    parser.add_argument("--iterations", type=int, default=BLOCKS["iterations"])
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    BLOCKS.update(depth=a.depth, iterations=a.iterations)
    pages = read(a.data, a.half)
    print(f"{len(pages)} pages walked", flush=True)
    scratch = a.out.with_suffix(".tmp")
    if a.cross_validate:
        folds = folds_of(pages)
        with a.out.open("w", encoding="utf-8") as out:
            for fold, weights in enumerate(held_out(pages, a.threads, scratch)):
                judges = model.Judges(msgspec.convert(weights, model.Weights))
                model.load = lambda judges=judges: judges
                for k in np.flatnonzero(folds == fold):
                    item = pages[k].item
                    text = read_page(opened(a.data, item), url=item["url"] or "").text
                    out.write(json.dumps({"id": item["id"], "text": text}, ensure_ascii=False) + "\n")
    else:
        weights = train(pages, a.threads, scratch)
        a.out.write_text(
            json.dumps(weights, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )
    print(f"{a.out}: {a.out.stat().st_size} bytes")


def opened(data: Path, item: dict) -> str:
    with gzip.open(data / "html" / f"{item['id']}.html.gz", "rt", encoding="utf-8", errors="replace") as f:
        return f.read()


def read(data: Path, half: int | None) -> list[Example]:
    """The pages of the set that have gold text, of one half of the domains or of all."""
    pages = []
    with (data / "items.jsonl").open(encoding="utf-8") as lines:
        for item in map(json.loads, lines):
            if item["gold"]:
                page = Example(item, opened(data, item))
                if page.blocks and (half is None or page.fold("half", 2) == half):
                    page.counts = counts_by_name(page)
                    pages.append(page)
    return pages


def folds_of(pages: list[Example]) -> np.ndarray:
    return np.array([p.fold("fold", FOLDS) for p in pages])


class Prepared:
    """What the last step needs: each page described and judged by models that have not seen its fold."""

    def __init__(self, pages: list[Example], threads: int) -> None:
        began = time.monotonic()
        self.pages = pages
        self.folds = folds_of(pages)
        self.hints = []
        self.models = []
        self.matrices: list[np.ndarray] = [np.zeros(0)] * len(pages)
        for fold in range(FOLDS):  # a page's hints must not come from its own labels
            hints = learn_hints([p for p, f in zip(pages, self.folds, strict=True) if f != fold])
            self.hints.append(hints)
            for k in np.flatnonzero(self.folds == fold):
                self.matrices[k] = features.describe(pages[k].blocks, pages[k].frames, pages[k].facts, hints)
        print(f"described, {time.monotonic() - began:.0f} s", flush=True)
        self.spreads: list[np.ndarray] = [np.zeros(0)] * len(pages)
        self.scores = np.zeros((len(pages), len(classify.BARS)))
        for fold in range(FOLDS):  # the bar is learnt on pages that the first judge has not seen
            others = np.flatnonzero(self.folds != fold)
            judge = train_blocks([pages[k] for k in others], [self.matrices[k] for k in others], threads)
            self.models.append(judge)
            for k in np.flatnonzero(self.folds == fold):
                self.rate(k, probabilities(judge, pages[k], self.matrices[k]))
            print(f"fold {fold}, {time.monotonic() - began:.0f} s", flush=True)
        print("F1 by bar", dict(zip(classify.BARS, self.scores.mean(axis=0).round(4).tolist(), strict=True)))

    def rate(self, k: int, found: np.ndarray) -> None:
        """The F1 of page *k* at each bar."""
        page = self.pages[k]
        self.spreads[k] = classify.describe_spread(self.matrices[k], found, page.words)
        strict = page.facts.declares_article()
        for column, bar in enumerate(classify.BARS):
            self.scores[k, column] = page.score(mend.complete(page.groups, found, bar, strict=strict))

    def bars(self, rows: np.ndarray, threads: int) -> CatBoostRegressor:
        return train_bars([self.spreads[k] for k in rows], self.scores[rows], threads)


def held_out(pages: list[Example], threads: int, scratch: Path) -> Iterator[dict]:
    """For each fold the weights learnt on the others."""
    ready = Prepared(pages, threads)
    for fold in range(FOLDS):
        bars = ready.bars(np.flatnonzero(ready.folds != fold), threads)
        yield content(ready.hints[fold], ready.models[fold], bars, scratch)


def train(pages: list[Example], threads: int, scratch: Path) -> dict:
    """The content of weights.json."""
    ready = Prepared(pages, threads)
    blocks = train_blocks(pages, ready.matrices, threads)
    return content(learn_hints(pages), blocks, ready.bars(np.arange(len(pages)), threads), scratch)


def content(hints: dict, blocks: CatBoostClassifier, bars: CatBoostRegressor, scratch: Path) -> dict:
    return {
        "hints": hints,
        "blocks": exported(blocks, features.NAMES, BLOCKS["depth"], scratch),
        "bars": exported(bars, classify.BAR_NAMES, BAR["depth"], scratch),
    }


if __name__ == "__main__":
    main()
