//! The reference page of exit and error codes.

mod model;

use ktx_diagnostics::{Exit, codes_markdown};

pub fn reference_markdown() -> String {
    let mut page = String::from(
        "# Exit codes\n\n<!-- Generated from `crates/diagnostics/src/code.rs` and `crates/ktx/src/exit.rs`; see CONTRIBUTING. -->\n\n\
         | code | meaning |\n|---:|---|\n",
    );
    for exit in Exit::ALL {
        page.push_str("| ");
        page.push_str(&exit.code().to_string());
        page.push_str(" | ");
        page.push_str(exit.meaning());
        page.push_str(" |\n");
    }
    page.push_str(&model::reference_markdown());
    page.push_str("\n## All other error codes\n\nWith `--json` a command that fails prints its code as `error.code`. The exit code is the usual one.\n\
         A few commands end differently: a name that the project does not have, or a wrong file of the project, ends\n\
         with 3 where a query ends with 6.\n\n");
    page.push_str(&codes_markdown(|code| !model::has_row(code)));
    page
}
