//! Tests of truncation notes.

use ktx_warehouse::Caps;

use super::cut_off;

#[test]
fn the_cap_that_ended_the_answer_is_named() {
    let caps = |rows| Caps {
        rows,
        ..Caps::default()
    };
    assert_eq!(
        [
            cut_off(1000, &caps(1000)),
            cut_off(67, &caps(1000)),
            cut_off(10_000, &caps(10_000)),
        ],
        [
            "only the first 1000 rows; there are more (raise --max-rows)",
            "only the first 67 rows; there are more, but an answer ends at 64 MiB (select fewer \
             columns, or only a part of the long ones)",
            "only the first 10000 rows; there are more (aggregate, or narrow the statement with \
             filters)",
        ]
    );
}
