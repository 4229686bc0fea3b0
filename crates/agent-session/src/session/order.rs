//! Publishes the ends of calls in call order.

use std::collections::VecDeque;

use crate::event::Call;

#[derive(Debug, Default)]
pub(super) struct EndOrder(VecDeque<CallEnd>);

#[derive(Debug)]
struct CallEnd {
    id: String,
    ended: Option<Call>,
}

impl EndOrder {
    pub(super) fn begin(&mut self, id: &str) {
        self.0.push_back(CallEnd {
            id: id.to_owned(),
            ended: None,
        });
    }

    /// Returns the calls to publish now.
    pub(super) fn end(&mut self, call: Call) -> Vec<Call> {
        match self.0.iter_mut().find(|place| place.id == call.id) {
            Some(place) => place.ended = Some(call),
            // It began in an earlier process.
            None => return vec![call],
        }
        let mut ready = Vec::new();
        while let Some(place) = self.0.pop_front_if(|place| place.ended.is_some()) {
            ready.extend(place.ended);
        }
        ready
    }

    /// Returns the ended calls and forgets the others.
    pub(super) fn drain(&mut self) -> Vec<Call> {
        self.0.drain(..).filter_map(|place| place.ended).collect()
    }
}
