//! The order of the steps and the final table.

use super::*;

#[test]
fn cheap_steps_come_first() {
    assert_eq!(
        STEPS.map(|step| step.name),
        ["fmt", "audit", "clippy", "test", "acceptance", "docs"]
    );
}

#[test]
fn the_table_shows_every_step_and_the_sum() {
    let rows = [
        ("fmt", "ok", Duration::from_millis(1_250)),
        ("audit", "FAILED", Duration::from_secs(61)),
    ];
    assert_eq!(
        table(&rows),
        "step       result   seconds\n\
         fmt        ok           1.2\n\
         audit      FAILED      61.0\n\
         total                  62.2"
    );
}
