//! `ktx __man`.

use clap::CommandFactory as _;
use ktx_diagnostics::{Code, Exit, Failure};

use crate::cli::{Cli, ManArgs};
use crate::report::Outcome;

pub(crate) fn run(args: &ManArgs) -> Outcome {
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(|error| {
        let folder = args.folder.display();
        Failure::new(
            Code::File,
            format!("the man pages cannot be written to `{folder}`: {error}"),
        )
    })?;
    Ok(Exit::Success)
}
