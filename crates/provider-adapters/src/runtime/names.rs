//! Names messages by the provider's id, unique within the run (COG-12).

use std::collections::BTreeSet;

use ktx_vocabulary::{Provider, RunId};

#[derive(Debug, Default)]
pub(super) struct MessageNames {
    given: BTreeSet<(RunId, String)>,
    count: u64,
}

impl MessageNames {
    /// Missing and repeated ids must not merge payments.
    pub(super) fn name(&mut self, run: &RunId, id: Option<&str>, provider: Provider) -> String {
        let id = id.map(str::trim).filter(|id| !id.is_empty());
        if let Some(id) = id
            && self.given.insert((run.clone(), id.to_owned()))
        {
            return id.to_owned();
        }
        let stem = id.unwrap_or(provider.as_str());
        loop {
            self.count += 1;
            let name = format!("{stem}-{}", self.count);
            if self.given.insert((run.clone(), name.clone())) {
                return name;
            }
        }
    }
}
