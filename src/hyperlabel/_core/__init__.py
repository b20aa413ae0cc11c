"""Foundations of every part: kernels on arrays, files, saved tensors, metrics, checks and text."""

from hyperlabel._core.checks import (
    ABOVE_ZERO,
    Metric,
    check_choice,
    check_count,
    check_flag,
    check_kind,
    check_memory,
    check_metric,
    check_number,
    check_path,
    check_seed,
    check_share,
    check_text,
)
from hyperlabel._core.files import (
    discard_parts,
    is_file,
    is_folder,
    is_url,
    may_be_path,
    replacing,
    timestamp,
    write_all,
)
from hyperlabel._core.kernels import (
    Adam,
    Float32,
    Float64,
    Floats,
    Ints,
    KeyGroups,
    Keys,
    Real,
    VoteLayout,
    find_first,
    gather_blocks,
    gather_sums,
    group_keys,
    hash_rows,
    key_space,
    mix_bits,
    most_digits,
    multiply,
    over_classes,
    pack_digits,
    pack_rows,
    quiet_product,
    raise_to,
    row_blocks,
    scale_rows,
    sigmoid,
    softmax,
    softmax_of_two,
    stable_order,
)
from hyperlabel._core.metrics import brier, f1, log_loss, score, wilson_interval
from hyperlabel._core.plots import new_axes, plot_bars, plot_grid
from hyperlabel._core.tensors import Arrays, kind_of, order_metadata, plain_classes, read_tensors, write_tensors
from hyperlabel._core.text import (
    html_table,
    printable,
    printable_lines,
    show,
    show_counts,
    show_names,
    show_some,
    text_table,
)

__all__ = [
    "ABOVE_ZERO", "Adam", "Arrays", "Float32", "Float64", "Floats", "Ints", "KeyGroups", "Keys", "Metric", "Real",
    "VoteLayout", "brier", "check_choice", "check_count", "check_flag", "check_kind", "check_memory", "check_metric",
    "check_number", "check_path", "check_seed", "check_share", "check_text", "discard_parts", "f1", "find_first",
    "gather_blocks", "gather_sums", "group_keys", "hash_rows", "html_table", "is_file", "is_folder", "is_url",
    "key_space", "kind_of", "log_loss", "may_be_path", "mix_bits", "most_digits", "multiply", "new_axes",
    "order_metadata", "over_classes", "pack_digits", "pack_rows", "plain_classes", "plot_bars", "plot_grid",
    "printable", "printable_lines", "quiet_product", "raise_to", "read_tensors", "replacing", "row_blocks",
    "scale_rows", "score", "show", "show_counts", "show_names", "show_some", "sigmoid", "softmax", "softmax_of_two",
    "stable_order", "text_table", "timestamp", "wilson_interval", "write_all", "write_tensors",
]  # fmt: skip
