//! Which connections are admitted, and which are closed.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::{Bounds, ConnectionSlot, Connections};

fn peer(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

fn of_four_and_two() -> Arc<Connections> {
    Connections::new(Bounds {
        connections: 4,
        of_one_address: 2,
        ..Bounds::default()
    })
}

fn are_lost(places: &[&Arc<ConnectionSlot>]) -> Vec<bool> {
    places
        .iter()
        .map(|place| place.leave.is_cancelled())
        .collect()
}

#[test]
fn the_client_that_owes_a_request_the_longest_goes_first() {
    let connections = of_four_and_two();
    let first = connections.admit(peer(1)).expect("room");
    let second = connections.admit(peer(1)).expect("room");
    let answering = first.answering();
    let other = connections.admit(peer(2)).expect("room");
    // The address has no room: its own waiting connection is closed.
    let third = connections.admit(peer(1)).expect("room is made");
    assert_eq!(
        are_lost(&[&first, &second, &third, &other]),
        [false, true, false, false]
    );
    // All connections of one address are busy.
    let also = third.answering();
    assert!(connections.admit(peer(1)).is_none());
    let last = connections.admit(peer(3)).expect("room");
    // The server has no room: the oldest owing connection is closed.
    let late = connections.admit(peer(4)).expect("room is made");
    assert_eq!(
        are_lost(&[&first, &third, &other, &last, &late]),
        [false, false, true, false, false]
    );
    drop((answering, also));
    // After an answer, the client owes a request again.
    let next = connections.admit(peer(1)).expect("room is made");
    assert_eq!(are_lost(&[&first, &third, &next]), [true, false, false]);
}

#[test]
fn who_leaves_makes_room() {
    let connections = of_four_and_two();
    for _ in 0..10 {
        let place = connections.admit(peer(1)).expect("room");
        let _answering = place.answering();
    }
    assert!(connections.table().open.is_empty());
}
