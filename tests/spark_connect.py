"""Labels a table on a Spark Connect server of its own and prints the result as JSON, for test_spark_connect.py."""

import json

import numpy as np
import polars as pl
from pyspark.sql import SparkSession

import hyperlabel as hl

VOTES = pl.DataFrame(np.random.default_rng(0).integers(-1, 2, (300, 4)), schema=list("abcd")).with_row_index("id")


def main():
    told = {"labels": VOTES.height, "right": [], "rdd": True, "error": ""}
    session = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        frame = session.createDataFrame(VOTES.cast(pl.Int64).to_arrow()).repartition(5)
        told["kind"] = type(frame).__module__
        want = hl.HyperLabelModel().predict_proba(VOTES.drop("id")).max(1)
        for most in (1 << 22, 3):  # counted patterns, and passes over rows
            labeled = pl.from_arrow(hl.engines.label(frame, max_patterns=most).toArrow()).sort("id")
            told["right"].append(bool(np.allclose(labeled["confidence"].to_numpy(), want, atol=1e-6)))
        try:
            frame.rdd  # noqa: B018
        except Exception:
            told["rdd"] = False
    except hl.HyperlabelError as error:
        told["error"] = str(error)
    finally:
        print(json.dumps(told), flush=True)
        session.stop()


if __name__ == "__main__":
    main()
