//! Tests of the places for children.

use super::{available_memory, children_for, within};

#[test]
fn the_memory_bounds_the_children() {
    let gibibyte = 1024 * 1024 * 1024;
    assert_eq!(children_for(None), 8);
    assert_eq!(children_for(Some(0)), 1);
    assert_eq!(children_for(Some(2 * gibibyte)), 4);
    assert_eq!(children_for(Some(64 * gibibyte)), 8);
}

#[test]
fn the_limit_of_a_container_bounds_the_children() {
    let gibibyte = 1024 * 1024 * 1024;
    let machine = Some(64 * gibibyte);
    assert_eq!(within(machine, None), machine);
    assert_eq!(
        within(machine, Some((3 * gibibyte, gibibyte))),
        Some(2 * gibibyte)
    );
    assert_eq!(within(machine, Some((gibibyte, 2 * gibibyte))), Some(0));
    assert_eq!(within(Some(gibibyte), Some((u64::MAX, 0))), Some(gibibyte));
    assert_eq!(within(None, None), None);
    let memory = available_memory();
    assert!(memory.is_none_or(|bytes| bytes > 1024 * 1024), "{memory:?}");
}
