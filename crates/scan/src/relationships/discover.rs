//! Runs relationship discovery from start to finish.

use std::collections::BTreeMap;

use ktx_relationships::links::decisions::Decisions;
use ktx_relationships::links::declared::formal_links;
use ktx_relationships::links::joins::Joins;
use ktx_relationships::links::link::{Link, Origin, Status};
use ktx_relationships::profile::TableProfile;
use ktx_relationships::settings::Switch;
use ktx_relationships::{
    Facts, apply_decisions, mark_implied, measure_declared, resolve, score_pairs, tell_disproof,
};
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, Table};

use crate::event::{ScanEvent, ScanStage};
use crate::pause::Pause;
use crate::relationships::adjudicate;
use crate::relationships::probe::Prober;
use crate::relationships::verify::{add_composites, compare_spellings, probe};
use crate::request::{ScanError, ScanRequest};
use crate::spending::Spending;
use crate::stage_rows::StageRows;

#[derive(Debug, Default)]
pub(crate) struct Discovery {
    /// Sorted.
    pub links: Vec<Link>,
    pub candidates: usize,
    pub statements: usize,
    /// Links beyond the budget.
    pub left: usize,
    pub model_calls: usize,
    pub warnings: Vec<ScanWarning>,
}

#[derive(Clone, Copy)]
pub(crate) struct DiscoveryInput<'a> {
    pub(crate) tables: &'a [Table],
    pub(crate) profiles: &'a BTreeMap<TableRef, TableProfile>,
    pub(crate) decisions: &'a Decisions,
    pub(crate) joins: &'a Joins,
    pub(crate) spending: &'a Spending<'a>,
}

pub(crate) async fn discover(
    request: &ScanRequest,
    input: DiscoveryInput<'_>,
    rows: &StageRows,
    pause: &Pause,
) -> Result<Discovery, ScanError> {
    let DiscoveryInput {
        tables,
        profiles,
        decisions,
        joins,
        spending,
    } = input;
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Relationships,
        total: None,
    });
    let mut discovery = Discovery {
        links: formal_links(tables),
        ..Discovery::default()
    };
    if request.settings.relationships.discovery == Switch::On {
        let facts = Facts::gather(tables, profiles, joins);
        if !request.connector.dialect().enforces_foreign_keys() {
            measure_declared(&facts, &mut discovery.links);
        }
        let mut prober = Prober::new(request, rows, spending, tables.len());
        let scored = score_pairs(
            &facts,
            &request.settings.relationships,
            decisions,
            &discovery.links,
        );
        discovery.candidates = scored.len();
        let mut scored = probe(&facts, request, scored, &mut prober).await?;
        compare_spellings(&facts, request, &mut scored, &mut prober).await?;
        let mut inferred = resolve(
            &facts,
            scored,
            &discovery.links,
            &request.settings.relationships,
        );
        add_composites(&facts, &mut inferred, &discovery.links, &mut prober).await?;
        discovery.statements = prober.sent;
        discovery.left = prober.left;
        if discovery.left > 0 {
            // Missing checks could change the result, so decide nothing before the next scan.
            return Ok(discovery);
        }
        discovery.warnings.append(&mut prober.warnings);
        discovery.links.append(&mut inferred);
        mark_implied(&facts, &mut discovery.links);
        tell_disproof(&mut discovery.links);
        adjudicate::adjudicate(request, &facts, rows, pause, &mut discovery).await?;
    }
    discovery
        .warnings
        .extend(apply_decisions(tables, decisions, &mut discovery.links));
    discovery
        .links
        .sort_by(|left, right| (&left.from, &left.to).cmp(&(&right.from, &right.to)));
    discovery
        .links
        .dedup_by(|later, earlier| later.id() == earlier.id() && later.origin != Origin::Formal);
    let count = |status: Status| {
        discovery
            .links
            .iter()
            .filter(|link| link.status == status)
            .count()
    };
    request.events.event(ScanEvent::RelationshipsFound {
        accepted: count(Status::Accepted),
        review: count(Status::Review),
        rejected: count(Status::Rejected),
    });
    Ok(discovery)
}
