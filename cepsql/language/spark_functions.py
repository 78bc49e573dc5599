"""Which functions that sqlglot knows are Spark's.

Calls of all others stay as they are written, and Spark says that there is no such function, or calls one of the user's:
what sqlglot makes of them may mean something else than in the engine that has them, as DAY_OF_WEEK, which begins with
Sunday in Spark and with Monday in Trino.
"""

from cepsql.language.tokens import DIALECT

_SHARED = """
abs acos acosh add_months aggregate and any_value approx_count_distinct approx_percentile approx_top_k
approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate array array_agg array_append array_compact
array_contains array_distinct array_except array_insert array_intersect array_join array_max array_min array_position
array_prepend array_remove array_size array_sort arrays_zip ascii asin asinh atan atan2 atanh avg base64 bit_and
bit_count bit_get bit_length bit_or bit_xor bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count
bitmap_or_agg bool_and bool_or boolean case cast cbrt ceil ceiling char char_length character_length chr coalesce
collate collation collect_list collect_set concat concat_ws contains convert_timezone corr cos cosh cot count count_if
covar_pop covar_samp csc cume_dist curdate current_catalog current_database current_date current_schema current_time
current_timestamp current_timezone current_user date date_add date_diff date_format date_from_unix_date date_sub
date_trunc dateadd datediff day dayname dayofmonth dayofweek dayofyear decode degrees dense_rank div double element_at
elt encode endswith equal_null exists exp explode explode_outer extract factorial filter first first_value flatten
float floor format_string from_base32 from_json from_unixtime from_utc_timestamp get_json_object getbit greatest
grouping grouping_id hex hour if ifnull ilike initcap inline instr int isnan json_object_keys kurtosis lag last
last_day last_value lcase lead least left len length levenshtein like listagg ln localtime localtimestamp locate log
log10 log2 lower lpad ltrim make_interval make_timestamp map map_contains_key map_from_arrays map_from_entries
map_keys max max_by md5 median min min_by minute mod mode month monthname months_between named_struct nanvl negative
next_day nth_value ntile nullif nvl nvl2 or overlay parse_json parse_url percent_rank percentile percentile_approx
percentile_cont percentile_disc pi posexplode posexplode_outer position pow power quarter radians rand randn random
randstr rank reduce regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace
regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat
replace reverse right rint rlike round row_number rpad rtrim sec second sequence session_user sha sha1 sha2 shiftleft
shiftright shuffle sign signum sin sinh size skewness slice sort_array soundex space split split_part sqrt stack
startswith stddev stddev_pop stddev_samp str_to_map string string_agg struct substr substring substring_index sum tan
tanh time time_diff time_trunc timestamp timestampadd timestampdiff to_base32 to_binary to_char to_date to_json
to_number to_timestamp to_unix_timestamp to_utc_timestamp transform translate trim trunc try_add try_cast try_divide
try_element_at try_multiply try_subtract typeof ucase unbase64 unhex uniform unix_date unix_micros unix_millis
unix_seconds unix_timestamp unnest upper uuid var_pop var_samp variance weekofyear width_bucket year
"""
SHARED_FUNCTIONS = frozenset(_SHARED.split())
"""Names of Spark's functions for which sqlglot has expressions, in lower case."""

_CLAUSES = ("APPLY",)
"""Words of clauses of other engines, which are refused by their names."""


def is_foreign_function(name: str) -> bool:
    """Tell whether sqlglot has an expression for a function that Spark does not have."""
    parser, word = DIALECT.parser_class, name.upper()
    parsed = word in parser.FUNCTIONS or word in parser.FUNCTION_PARSERS
    return parsed and word not in _CLAUSES and name.lower() not in SHARED_FUNCTIONS
