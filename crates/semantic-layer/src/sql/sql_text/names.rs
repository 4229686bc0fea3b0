//! Identifiers: when to quote them, and how to split table names.

use ktx_sql::Dialect;

/// The union of all warehouses: an unneeded quote is harmless.
const RESERVED: &str = " access account add after aggregate all alter analyse analyze and anti any array as asc asof \
asymmetric at authorization backup before begin between bigint binary blob both break browse bulk by call cascade \
case cast change char character check checkpoint close cluster clustered coalesce collate collation column commit \
compute concurrently condition connect connection constraint contains continue convert create cross cube cume_dist \
current current_catalog current_date current_role current_schema current_time current_timestamp current_user cursor \
database databases date datetime day dbcc deallocate dec decimal declare default deferrable define delayed delete \
dense_rank deny desc describe deterministic disk distinct distinctrow distributed div do double drop dual dump each \
else elseif empty enclosed end enum errlvl escape escaped except exclude exec execute exists exit explain external \
extract false fetch file fillfactor final first_value float float4 float8 following for force foreign format freeze \
freetext from full fulltext function general generated get glob global goto grant group grouping groups gscluster \
hash having high_priority holdlock hour identity if ignore ilike immediate in index infile initially inner inout \
insensitive insert int integer intersect interval into is isnull issue iterate join json key keys kill lag last_value \
lateral lead leading leave left level like limit linear lines lineno load local localtime localtimestamp lock long \
loop low_priority match matched maxvalue merge minus minute mod modifies month natural new no nocheck nonclustered not \
notnull nth_value ntile null nullif nulls numeric of off offline offset offsets old on online only open optimize \
option optionally or order organization out outer outfile over overlaps overlay partition percent percent_rank period pivot \
placing plan position preceding precision prepare prewhere primary print procedure proc proto public purge qualify \
raiserror range rank read reads readtext real recluster recursive references regexp release rename repeat replace \
replication require resignal restore restrict return returning revoke right rlike rollback rollup row row_number \
rowcount rows rule sample save schema schemas second security select semi sensitive separator session_user set \
setuser share show shutdown signal similar smallint some spatial sql ssl start starting statistics straight_join \
symmetric system system_user table tablesample tag terminated textsize then time timestamp tinyint to top trailing tran transaction \
treat trigger trim true truncate try_cast unbounded undo union unique unlock unnest unpivot unsigned update usage use user using \
values varbinary varchar variadic varying verbose view virtual waitfor when where while window with within without \
write xor year year_month zerofill timezone interpolate settings ttl materialized array_agg \
day_hour day_minute day_second day_microsecond hour_minute hour_second hour_microsecond minute_second minute_microsecond \
second_microsecond utc_date utc_time utc_timestamp portion specific accessible asensitive int1 int2 int3 int4 int8 mediumint \
middleint tinyblob tinytext mediumblob mediumtext longblob longtext varcharacter sqlstate sqlexception sqlwarning \
sql_big_result sql_small_result sql_calc_found_rows no_write_to_binlog read_write page_checksum parse_vcol_expr ref_system_id \
stats_auto_recalc stats_persistent stats_sample_pages do_domain_ids ignore_domain_ids delete_domain_id \
master_ssl_verify_server_cert master_demote_to_replica master_demote_to_slave master_bind master_heartbeat_period \
summarize pivot_longer pivot_wider lambda unpack positional nothing raise autoincrement ";

/// Lower-case snake case, not reserved.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !RESERVED.contains(&format!(" {name} "))
}

pub fn identifier(dialect: Dialect, name: &str) -> String {
    if is_plain(name) {
        name.to_owned()
    } else {
        dialect.quote(name)
    }
}

/// Snowflake folds unquoted names to upper case, so a single-case name is folded there.
pub fn column_name(dialect: Dialect, name: &str) -> String {
    if dialect == Dialect::Snowflake {
        let lower = name.to_lowercase();
        let one_case = name == lower || name == name.to_uppercase();
        return match (one_case, is_plain(&lower)) {
            (true, true) => name.to_owned(),
            (true, false) if is_word(name) => dialect.quote(&name.to_uppercase()),
            _ => dialect.quote(name),
        };
    }
    identifier(dialect, name)
}

fn is_word(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name
            .bytes()
            .next()
            .is_some_and(|first| !first.is_ascii_digit())
}

pub(crate) fn table_parts(text: &str) -> Vec<String> {
    let mut parts = all_parts(text);
    parts.retain(|part| !part.is_empty());
    parts
}

/// `mydb..orders` is a table of the default schema in SQL Server and Snowflake.
pub(crate) fn has_gap(dialect: Dialect, text: &str) -> bool {
    let parts = all_parts(text);
    let is_empty = |part: Option<&String>| part.is_none_or(String::is_empty);
    let gaps = parts.iter().filter(|part| part.is_empty()).count();
    let most = match dialect {
        Dialect::SqlServer => 2,
        Dialect::Snowflake => 1,
        _ => 0,
    };
    gaps > most || (gaps > 0 && (is_empty(parts.first()) || is_empty(parts.last())))
}

pub(crate) fn has_empty_part(text: &str) -> bool {
    all_parts(text).iter().any(String::is_empty)
}

fn all_parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut closing: Option<char> = None;
    let mut letters = text.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match (closing, letter) {
            (Some(close), letter) if letter == close => {
                if letters.next_if_eq(&close).is_some() {
                    push(&mut parts, close);
                } else {
                    closing = None;
                }
            }
            (None, '"' | '`') if parts.last().is_some_and(String::is_empty) => {
                closing = Some(letter);
            }
            (None, '[') if parts.last().is_some_and(String::is_empty) => closing = Some(']'),
            (None, '.') => parts.push(String::new()),
            (_, letter) => push(&mut parts, letter),
        }
    }
    parts
}

fn push(parts: &mut [String], letter: char) {
    if let Some(last) = parts.last_mut() {
        last.push(letter);
    }
}

pub fn table_name(dialect: Dialect, text: &str) -> String {
    let parts = all_parts(text);
    let whole: Vec<String> = parts
        .iter()
        // BigQuery reads `a`.`b` as one path; a part can be a quoted path.
        .flat_map(|part| match dialect {
            Dialect::BigQuery => part.split('.').map(str::to_owned).collect(),
            _ => vec![part.clone()],
        })
        .map(|part| match part.as_str() {
            "" => part,
            name => column_name(dialect, name),
        })
        .collect();
    whole.join(".")
}
