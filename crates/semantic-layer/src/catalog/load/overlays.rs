//! Applies overlays to scanned tables.

use ktx_diagnostics::{Diagnostic, Location, Position};
use ktx_sql::Dialect;

use super::{Loading, MOST_SEARCHED, ScannedTables};
use crate::catalog::contradictions::{self, Author};
use crate::catalog::near::nearest;
use crate::catalog::overlay_joins::{self, Settled};
use crate::catalog::places::position_in;
use crate::catalog::resolve;
use crate::model::authored::Overlay;
use crate::model::composed::{self, Composed, Element, Misfit};
use crate::model::error::ErrorKind;
use crate::model::resolved::Origin;

/// Joins are settled before any overlay changes the scan.
struct Applied {
    path: String,
    overlay: Overlay,
    joins: Result<Settled, Misfit>,
}

impl Loading {
    pub(super) fn add_overlays(&mut self, manifest: &ScannedTables, dialect: Dialect) {
        let overlays = std::mem::take(&mut self.overlays).into_iter();
        let applied: Vec<Applied> = overlays
            .map(|(path, overlay)| Applied {
                joins: overlay_joins::settle(&self.composed, &overlay, dialect),
                path,
                overlay,
            })
            .collect();
        for one in applied {
            self.add_overlay(one, manifest, dialect);
        }
    }

    fn add_overlay(&mut self, applied: Applied, manifest: &ScannedTables, dialect: Dialect) {
        let Applied {
            path,
            overlay,
            joins,
        } = applied;
        let name = overlay.name.clone();
        let is_broken = self.broken_names.contains_key(&name);
        let is_meant = !is_broken
            && !self.composed.contains_key(&name)
            && self.break_meant(&name, &path, manifest);
        match self.composed.get(&name) {
            Some(base) if base.origin == Origin::Overlay => {
                let message = format!("two files extend source `{name}`");
                self.composed.remove(&name);
                self.break_file(&name, &path, ErrorKind::DuplicateSource, &message);
            }
            Some(_) => {
                let outcome = joins.and_then(|joins| self.extend(overlay, joins, &path, dialect));
                if let Err(misfit) = outcome {
                    self.composed.remove(&name);
                    let position = self.position(&path, misfit.element);
                    let place = (name.as_str(), path.as_str(), position);
                    self.break_file_at(place, ErrorKind::InvalidOverlay, &misfit.message);
                }
            }
            None if is_broken || is_meant => {}
            None => {
                self.unmatched += 1;
                let hint = match self.unmatched {
                    ..=MOST_SEARCHED => resolve::hint(&name, &self.composed),
                    _ => String::new(),
                };
                let message = format!("no table `{name}` for this overlay to extend{hint}");
                self.warn(ErrorKind::UnmatchedOverlay, message, &path);
            }
        }
    }

    fn extend(
        &mut self,
        overlay: Overlay,
        settled: Settled,
        path: &str,
        dialect: Dialect,
    ) -> Result<(), Misfit> {
        let name = overlay.name.clone();
        let Settled {
            mut joins,
            excluded,
            mut gone,
        } = settled;
        self.reaches_far |= !excluded.is_empty() || !overlay.disable_joins.is_empty();
        overlay_joins::exclude(&mut self.composed, (&name, &excluded), dialect);
        let own = (name.as_str(), &mut joins);
        let replaced = contradictions::replace(&mut self.composed, own, Author::Person, dialect);
        let replaced = replaced.into_iter().map(|flaw| (name.clone(), flaw));
        self.replaced.extend(replaced);
        let Some(base) = self.composed.get_mut(&name) else {
            return Ok(());
        };
        gone.extend(nothing_to_leave_out(base, &overlay));
        self.by_overlays.note(base, &overlay, &joins, path);
        for join in &excluded {
            self.by_overlays.note_excluded(&name, join, path);
        }
        overlay_joins::confirm(base, &joins, dialect);
        composed::apply_overlay(base, overlay, joins, path)?;
        for misfit in gone {
            self.report_gone(&misfit.message, path, misfit.element);
        }
        Ok(())
    }

    fn report_gone(&mut self, message: &str, path: &str, element: Element) {
        let location = Location {
            file: path.to_owned(),
            position: self.position(path, element),
        };
        let code = ErrorKind::UnmatchedOverlay.code();
        self.diagnostics
            .push(Diagnostic::error(code, message).at(location));
    }

    fn position(&self, path: &str, element: Element) -> Option<Position> {
        position_in(self.texts.get(path)?, element)
    }

    pub(super) fn leave_out_disabled(&mut self) {
        for told in self.by_overlays.leave_out(&mut self.composed) {
            match told.element {
                Some(element) => self.report_gone(&told.message, &told.path, element),
                None => self.warn(ErrorKind::UnmatchedOverlay, told.message, &told.path),
            }
        }
    }

    /// Without the overlay, answers would show hidden columns.
    fn break_meant(&mut self, name: &str, path: &str, manifest: &ScannedTables) -> bool {
        let tables = self.meant(name, manifest);
        for table in &tables {
            let message =
                format!("the overlay is called `{name}`, the table `{table}`: write its `name` so");
            self.composed.remove(table);
            self.break_file(table, path, ErrorKind::UnmatchedOverlay, &message);
        }
        !tables.is_empty()
    }
}

/// A misspelled column would stay visible.
fn nothing_to_leave_out(base: &Composed, overlay: &Overlay) -> Vec<Misfit> {
    let columns = &base.source.columns;
    let is_unknown = |name: &String| {
        !columns
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(name))
    };
    let names = overlay.exclude_columns.iter().enumerate();
    let unknown = names.filter(|(_, name)| is_unknown(name));
    unknown
        .map(|(at, name)| {
            let near = nearest(name, columns.iter().map(|column| column.name.as_str()));
            let hint = near
                .first()
                .map_or(String::new(), |near| format!("; did you mean `{near}`"));
            Misfit {
                message: format!("`exclude_columns` names the unknown column `{name}`{hint}"),
                element: Element::entry("exclude_columns", at),
            }
        })
        .collect()
}
