"""The seed corpus: small files of every kind that is read, made once and committed. python -m tests.campaign.corpus."""

import gzip
import json
from pathlib import Path

import numpy as np

CORPUS = Path(__file__).parent / "corpus"


def make(folder: Path = CORPUS) -> None:
    """Write all seeds."""
    import polars as pl
    import pyarrow
    import scipy.sparse as sp

    import hyperlabel as hl

    folder.mkdir(exist_ok=True)
    cells = np.random.default_rng(0).integers(-1, 3, (12, 3))
    frame = pl.DataFrame(
        {"id": range(12), "text": [f'item, "{i}"' for i in range(12)], **{f"lf{j}": cells[:, j] for j in range(3)}}
    )
    words = frame.select(
        pl.col("id"), *(pl.col(f"lf{j}").replace_strict({-1: None, 0: "spam", 1: "ham", 2: "ä"}) for j in range(3))
    )
    for name, table in (("numbers", frame), ("words", words)):
        table.write_csv(folder / f"{name}.csv")
        table.write_csv(folder / f"{name}.tsv", separator="\t")
        table.write_ndjson(folder / f"{name}.jsonl")
        table.write_parquet(folder / f"{name}.parquet")
        table.write_ipc(folder / f"{name}.arrow")
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress((folder / f"{name}.csv").read_bytes(), mtime=0))
        (folder / f"{name}.csv.zst").write_bytes(
            pyarrow.compress((folder / f"{name}.csv").read_bytes(), "zstd", asbytes=True)
        )
    np.save(folder / "votes.npy", cells)
    np.savez(folder / "votes.npz", L=cells)
    np.savez_compressed(folder / "packed.npz", votes=cells)
    for form in ("csr", "csc", "coo", "bsr", "dia"):
        sp.save_npz(folder / f"{form}.npz", getattr(sp, f"{form}_array")(cells + 1))
    entries = {
        str(i): {"label": int(i % 3), "weak_labels": row.tolist(), "data": {"text": "ä"}} for i, row in enumerate(cells)
    }
    (folder / "train.json").write_text(json.dumps(entries))
    hl.Votes.from_frame(words).save(folder / "saved.parquet")
    for name in ("mv", "ds", "hlm2", "hlm3"):
        hl.label_model(name).fit(cells, gold=[0, 1] + [-1] * 10).save(folder / f"{name}.model.safetensors")
    hl.Patterns.from_votes(hl.Votes.from_array(cells)).save(folder / "patterns.safetensors")


if __name__ == "__main__":
    make()
