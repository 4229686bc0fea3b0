//! A scan as a client sees it.

use super::TableRules;
use crate::scans::ScanSnapshot;

impl TableRules {
    /// Also removes numbers about all rows of a filtered table.
    pub(crate) fn snapshot(&self, scan: &ScanSnapshot) -> ScanSnapshot {
        let mut shown = scan.clone();
        shown.tables.retain(|table| !self.hides_table(&table.table));
        for table in &mut shown.tables {
            let own = table.table.clone();
            table
                .columns
                .retain(|column| !self.hides_column(&own, &column.name));
            table.foreign_keys.retain(|key| {
                !self.hides_column(&own, &key.from_column)
                    && !self.hides_table(&key.to_table)
                    && !self.hides_column(&key.to_table, &key.to_column)
            });
            if self.filter(&own).is_some() {
                table.estimated_rows = None;
            }
        }
        if let Some(profile) = &mut shown.profile {
            profile
                .columns
                .retain(|one| self.shows_values(&one.table, &one.column));
            // The most rows of any table can be those of a hidden one.
            let counts = profile.columns.iter().filter_map(|one| one.counts.as_ref());
            profile.sampled_rows = counts.map(|counts| counts.rows).max().unwrap_or_default();
        }
        // Problems name files, whose names are like their tables'.
        shown.problems.clear();
        shown.left_out.clear();
        shown
    }
}
