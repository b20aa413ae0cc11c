"""Data in and labels out: tables and frames, `Votes`, `Patterns`, `Labels`.

The only place that reads and checks input; everything above trusts it.
"""

from hyperlabel.data._classes import (
    ABSTAIN,
    MOST_INFERRED,
    Classes,
    complete_classes,
    decode,
    encode_column,
    find_classes,
    infer_classes,
    missing_classes,
    no_label,
    smallest_type,
    state_classes,
    unify_labels,
    unify_numbers,
    warn_of_few,
)
from hyperlabel.data._columns import VoteColumns, choose_columns, find_identifiers, may_be_votes, take_votes
from hyperlabel.data._encode import (
    check_identified,
    encode_columns,
    encode_votes,
    number_by_appearance,
    set_aside,
    state_outcomes,
)
from hyperlabel.data._explain import Explanation, explain_item, suggest_items
from hyperlabel.data._files import (
    ENDINGS,
    Format,
    discard_spooled,
    interruptible,
    link_spooled,
    reading,
    reason_of,
    spool,
)
from hyperlabel.data._frames import (
    GLANCE,
    MemoryTable,
    exactly,
    holds_columns,
    is_frame,
    is_series,
    library_of,
    open_table,
    read_column,
    to_texts,
)
from hyperlabel.data._items import Identity, Origin, by_name, identify_data, to_pandas, to_polars
from hyperlabel.data._labels import (
    TIE,
    Answers,
    F1Rule,
    Labels,
    OutputColumns,
    TieBreak,
    add_labels,
    decide,
    find_f1_rule,
    free_names,
)
from hyperlabel.data._outcomes import NOT, Outcomes, any_of, soft, vote_weights
from hyperlabel.data._patterns import MOST_LFS, Patterns, check_parts, to_patterns
from hyperlabel.data._read import ARRAYS, SPLITS, WrenchData, is_wrench, read_array, read_votes, read_wrench
from hyperlabel.data._rows import DenseRows, Rows
from hyperlabel.data._scores import middle_ranks
from hyperlabel.data._shares import UNIFORM, read_accuracies, read_balance
from hyperlabel.data._table import Table, number_reader, number_texts, read_table
from hyperlabel.data._values import (
    ABSTAINS,
    Column,
    ColumnSummary,
    Key,
    abstain_keys,
    as_array,
    as_list,
    exact_array,
    is_sparse,
    key_of,
    number_values,
    plain,
    refuse_masked,
)
from hyperlabel.data._vote_frame import match_lfs, name_lfs, name_once
from hyperlabel.data._votes import Votes, describe_gold, find_other_lfs, is_empty, to_votes
from hyperlabel.data._write import check_folder_target, check_target, sink_table, write_table, write_text, write_whole

__all__ = [
    "ABSTAIN", "ABSTAINS", "ARRAYS", "Answers", "Classes", "Column", "ColumnSummary", "DenseRows", "ENDINGS",
    "Explanation", "F1Rule", "Format", "GLANCE", "Identity", "Key", "Labels", "MOST_INFERRED", "MOST_LFS",
    "MemoryTable", "NOT", "Origin", "Outcomes", "OutputColumns", "Patterns", "Rows", "SPLITS", "TIE",
    "Table", "TieBreak", "UNIFORM", "VoteColumns", "Votes", "WrenchData", "abstain_keys", "add_labels", "any_of",
    "as_array", "as_list", "by_name", "check_folder_target", "check_identified", "check_parts", "check_target",
    "choose_columns", "complete_classes", "decide", "decode", "describe_gold", "discard_spooled", "encode_column",
    "encode_columns", "encode_votes", "exact_array", "exactly", "explain_item", "find_classes", "find_f1_rule",
    "find_identifiers", "find_other_lfs", "free_names", "holds_columns", "identify_data", "infer_classes",
    "interruptible", "is_empty", "is_frame", "is_series", "is_sparse", "is_wrench", "key_of", "library_of",
    "link_spooled", "match_lfs", "may_be_votes", "middle_ranks", "missing_classes", "name_lfs", "name_once", "no_label",
    "number_by_appearance", "number_reader", "number_texts", "number_values", "open_table", "plain", "read_accuracies",
    "read_array", "read_balance", "read_column", "read_table", "read_votes", "read_wrench", "reading", "reason_of",
    "refuse_masked", "set_aside", "sink_table", "smallest_type", "soft", "spool", "state_classes", "state_outcomes",
    "suggest_items", "take_votes", "to_pandas", "to_patterns", "to_polars", "to_texts", "to_votes", "unify_labels",
    "unify_numbers", "vote_weights", "warn_of_few", "write_table", "write_text", "write_whole",
]  # fmt: skip
