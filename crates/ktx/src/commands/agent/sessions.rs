//! `ktx agent sessions`.

mod case;
mod events;
mod export;
mod list;
mod manage;
mod overview;
mod show;
mod summary;

pub(super) use export::write_markdown;
pub(super) use list::{listed, print_all};
pub(super) use overview::{Listed, overviews, promised};
pub(super) use show::Shown;

use crate::cli::{SessionsArgs, SessionsCommand};
use crate::invocation::Invocation;
use crate::report::Outcome;

pub(super) fn run(args: &SessionsArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        SessionsCommand::List(args) => list::list(args, invocation),
        SessionsCommand::Search(args) => list::search(args, invocation),
        SessionsCommand::Show(args) => show::run(args, invocation),
        SessionsCommand::Events(args) => events::run(args, invocation),
        SessionsCommand::Resume(args) => super::run::resume(args, invocation),
        SessionsCommand::Fork(args) => manage::fork(args, invocation),
        SessionsCommand::Snapshot(args) => manage::snapshot(args, invocation),
        SessionsCommand::Rename(args) => manage::rename(args, invocation),
        SessionsCommand::Export(args) => export::run(args, invocation),
        SessionsCommand::Send(args) => manage::send(args, invocation),
        SessionsCommand::Interrupt(args) => manage::interrupt(args, invocation),
        SessionsCommand::Repair(args) => manage::repair(args, invocation),
        SessionsCommand::Delete(args) => manage::delete(args, invocation),
        SessionsCommand::Prune(args) => manage::prune(args, invocation),
    }
}
