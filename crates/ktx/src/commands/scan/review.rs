//! `ktx scan review`: one commit per decision.

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_project_store::{
    Change, ProjectPath, PublishBase, PublishRequest, PublishResult, Publisher,
};
use ktx_scan::{
    Decision, Decisions, Found, Link, Verdict, decision_about, decisions_path, name, read_decisions,
};
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use super::relationships::{print, select};
use crate::cli::{ScanDecisionArgs, ScanReviewCommand};
use crate::invocation::{Invocation, OpenProject};
use crate::links::load;
use crate::locking::lock;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::scanning::{note_removed_locks, publish_failure};

pub(super) fn list(id: Option<&str>, project: &OpenProject, printer: &Printer) -> Outcome {
    let found = load(id, project, printer)?;
    let open = select(&found, |link| {
        link.link.status == "review" && link.decided.is_none()
    });
    print("scan review", &open, printer)?;
    if printer.mode != Mode::Json {
        if open.iter().all(|(_, links)| links.is_empty()) {
            printer.note("nothing to decide");
        } else {
            printer.note("decide with `ktx scan review accept <key>` or `reject <key>`");
        }
    }
    Ok(Exit::Success)
}

struct JoinDecision<'a> {
    connection: &'a ConnectionId,
    link: &'a Link,
    verdict: Verdict,
    decision: Decision,
}

pub(super) fn decide(
    command: &ScanReviewCommand,
    id: Option<&str>,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let (verdict, args) = match command {
        ScanReviewCommand::Accept(args) => (Verdict::Accept, args),
        ScanReviewCommand::Reject(args) => (Verdict::Reject, args),
    };
    let held = lock(project, "ktx scan review")?;
    let found = load(id, project, printer)?;
    let (connection, link) = the_one(&found, &args.link)?;
    let publisher = project
        .store
        .publisher()
        .map_err(|error| publish_failure(&error))?;
    let case = JoinDecision {
        connection,
        link,
        verdict,
        decision: decision(link, args, &publisher, invocation)?,
    };
    let published = publish(&case, &publisher, invocation, project);
    note_removed_locks(&publisher, project, printer);
    let published = published?;
    drop(held);
    report(&case, published.as_ref(), printer)?;
    Ok(Exit::Success)
}

fn the_one<'f>(found: &'f [Found], wanted: &str) -> Outcome<(&'f ConnectionId, &'f Link)> {
    let all = || {
        found
            .iter()
            .flat_map(|found| found.links.iter().map(|one| (&found.connection, &one.link)))
    };
    let matching: Vec<_> = all()
        .filter(|(_, link)| link.id == wanted || link.key() == wanted)
        .collect();
    match matching.as_slice() {
        [only] => Ok(*only),
        [] => {
            let keys: Vec<String> = all().map(|(_, link)| link.key()).collect();
            let failure = Failure::new(
                Code::UnknownRelationship,
                format!("no join `{wanted}` in the last scan"),
            );
            let near = ktx_diagnostics::nearest(wanted, keys.iter().map(String::as_str));
            let failure = match near.first() {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure,
            };
            Err(failure.hint("run `ktx scan relationships` to see the joins and their keys"))
        }
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|(connection, link)| format!("`{connection}`: {}", link.id))
                .collect();
            Err(Failure::new(
                Code::AmbiguousRelationship,
                format!("`{wanted}` names several joins: {}", names.join(", ")),
            )
            .hint("name the connection: `ktx scan review <connection> accept <key>`")
            .hint("or give the whole id of the join"))
        }
    }
}

fn decision(
    link: &Link,
    args: &ScanDecisionArgs,
    publisher: &Publisher,
    invocation: &Invocation,
) -> Outcome<Decision> {
    let by = publisher
        .user_name()
        .map_err(|error| publish_failure(&error))?;
    let relationship = link.relationship_type.as_str();
    Ok(Decision {
        from: link.from.decided(),
        to: link.to.decided(),
        relationship: matches!(relationship, "many_to_one" | "one_to_one")
            .then(|| relationship.to_owned()),
        by,
        at: Some(invocation.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        note: args.note.clone(),
    })
}

/// `None` if the decision exists.
fn publish(
    case: &JoinDecision<'_>,
    publisher: &Publisher,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Option<PublishResult>> {
    let text = decisions_path(case.connection);
    let path =
        ProjectPath::parse(&text).map_err(|error| Failure::from_error(Code::Internal, &error))?;
    let base = publisher.begin().map_err(|error| publish_failure(&error))?;
    require_committed(&base, &path, publisher, project)?;
    let mut decisions = read_decisions(case.connection, project.store.layout())?;
    if is_known(&decisions, case) {
        return Ok(None);
    }
    // The reverse direction is the same question.
    let other_way =
        |known: &Decision| !(known.from == case.decision.to && known.to == case.decision.from);
    decisions.accepted.retain(other_way);
    decisions.rejected.retain(other_way);
    decisions.decide(case.verdict, case.decision.clone());
    let standing = ktx_project_store::read_optional(&path.under(&project.dir))
        .map_err(|error| Failure::from_error(Code::File, &error))?
        .unwrap_or_default();
    let bytes = decisions
        .edited(&String::from_utf8_lossy(&standing))
        .map_err(|reason| {
            Failure::new(
                Code::DecisionsNotEdited,
                format!("`{path}` cannot be changed in place"),
            )
            .because(reason)
            .hint("write that part in block style without anchors and tags, then decide again")
        })?;
    let message = format!(
        "ktx scan review: {} {} -> {}\n",
        verb(case.verdict),
        case.link.from,
        case.link.to
    );
    let published = publisher
        .publish(
            &base,
            &PublishRequest {
                changes: &[Change::write(path, bytes)],
                message: &message,
                at: invocation.now,
            },
        )
        .map_err(|error| publish_failure(&error))?;
    Ok(Some(published))
}

const fn verb(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accept => "accept",
        Verdict::Reject => "reject",
    }
}

fn is_known(decisions: &Decisions, case: &JoinDecision<'_>) -> bool {
    decision_about(decisions, case.link).is_some_and(|(verdict, known)| {
        verdict == case.verdict
            && (case.decision.note.is_none() || known.note == case.decision.note)
    })
}

/// The user's own changes are neither committed nor lost.
fn require_committed(
    base: &PublishBase,
    path: &ProjectPath,
    publisher: &Publisher,
    project: &OpenProject,
) -> Outcome<()> {
    let committed = publisher
        .committed(base, path)
        .map_err(|error| publish_failure(&error))?;
    let standing = ktx_project_store::read_optional(&path.under(&project.dir))
        .map_err(|error| Failure::from_error(Code::File, &error))?;
    if committed == standing {
        return Ok(());
    }
    Err(Failure::new(
        Code::UncommittedDecisions,
        format!("`{path}` has changes that are not committed"),
    )
    .hint("commit or revert them, then run the command again"))
}

fn report(
    case: &JoinDecision<'_>,
    published: Option<&PublishResult>,
    printer: &Printer,
) -> Outcome<()> {
    let commit = published.and_then(|published| published.commit.as_deref());
    let verdict = name(case.verdict);
    for skipped in published.iter().flat_map(|published| &published.skipped) {
        printer.note(&super::left_alone(skipped, "ktx scan review"));
    }
    if printer.mode == Mode::Json {
        return printer.json(&json!({
            "kind": "decision",
            "data": {
                "connectionId": case.connection.as_str(),
                "key": case.link.key(),
                "id": case.link.id,
                "verdict": verdict,
                "by": case.decision.by,
                "at": case.decision.at,
                "note": case.decision.note,
                "path": decisions_path(case.connection),
                "commit": commit,
            },
            "meta": { "command": format!("scan review {}", verb(case.verdict)) },
        }));
    }
    let link = format!("{} -> {}", case.link.from, case.link.to);
    if published.is_none() {
        return printer.line(&format!("{link} is already {verdict}"));
    }
    printer.line(&format!("{verdict}: {link}"))?;
    if let Some(commit) = commit {
        printer.line(&format!("commit: {commit}"))?;
    }
    printer.note(&format!(
        "the next `ktx scan {}` applies it",
        case.connection
    ));
    Ok(())
}
