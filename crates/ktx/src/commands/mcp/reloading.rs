//! Reloads a client's project when settings change.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ktx_context_tools::{Offered, ProjectContext, ReloadedContext, ToolProfile};
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_server::RenewedTools;
use ktx_secrets::Secret;
use ktx_tool_descriptors::ToolDescriptor;

use crate::invocation::{Invocation, OpenProject, load};
use crate::report::{Outcome, Report as _};
use crate::{clients, context, custom_tools};

#[derive(Clone)]
pub(super) enum Who {
    /// Clients without their own token.
    Default,
    Named {
        name: String,
        token: Secret,
    },
}

pub(super) fn context(
    invocation: &Invocation,
    project: &OpenProject,
    who: Who,
) -> Outcome<ReloadedContext> {
    let (invocation, dir) = (invocation.clone(), project.dir.clone());
    let had_list = OnceLock::new();
    let now = || jiff::Timestamp::now().into();
    ReloadedContext::new(&project.dir, now, move || {
        let tools = if had_list.get().is_some() {
            BrokenTools::Left
        } else {
            BrokenTools::Refused
        };
        // The policy check needs its own runtime and therefore another thread.
        let opened = std::thread::scope(|scope| {
            let opened = scope.spawn(|| open(&invocation, &dir, (&who, tools)));
            opened.join()
        });
        let opened =
            opened.unwrap_or_else(|_| Err(Failure::internal("the settings could not be read")))?;
        // A tool list removes resources and prompts from the start.
        let has_list = opened.only.is_some();
        if *had_list.get_or_init(|| has_list) != has_list {
            return Err(Failure::new(
                Code::SettingsUnusable,
                "`allowed_tools` of a client was added or removed",
            )
            .hint("restart the server"));
        }
        Ok(opened)
    })
}

#[derive(Clone, Copy)]
enum BrokenTools {
    Refused,
    Left,
}

fn open(
    invocation: &Invocation,
    dir: &Path,
    (who, broken): (&Who, BrokenTools),
) -> Outcome<Offered> {
    let project = load(dir, &invocation.environment)?;
    clients::check_policies(invocation, &project)?;
    let own = match (custom_tools::checked(invocation, &project), broken) {
        (Err(failure), BrokenTools::Left) => {
            let text = failure.to_text();
            tracing::error!(text, "the tools of the project cannot be used");
            Vec::new()
        }
        (own, _) => own?,
    };
    let client = match who {
        Who::Default => clients::default_client(&project),
        Who::Named { name, token } => {
            let named = clients::named_clients(invocation, &project)?;
            let mut named = named.into_iter();
            let own = named
                .find(|(client, shown)| client.name == *name && shown.expose() == token.expose());
            let (client, _) = own.ok_or_else(|| {
                Failure::new(
                    Code::SettingsUnusable,
                    format!("the client `{name}` is gone, or has another token"),
                )
                .hint("restart the server")
            })?;
            Some(client)
        }
    };
    Ok(Offered {
        context: match client {
            Some(client) => context::open_for_client(invocation, &project, client)?,
            None => context::open_for_agent(invocation, &project)?,
        },
        only: client.and_then(|client| client.allowed_tools.clone()),
        profile: client
            .and_then(|client| client.tools.as_deref())
            .map(|name| match name {
                "core" => ToolProfile::Core,
                _ => ToolProfile::Full,
            }),
        is_limited: client.is_some(),
        own,
    })
}

pub(super) fn tools(
    context: &ReloadedContext,
    desk: &[ToolDescriptor],
    usual: ToolProfile,
    is_for_everyone: &dyn Fn(&str) -> bool,
) -> RenewedTools {
    let (_, Some(offered)) = context.offered() else {
        // Each tool answers that the settings are unusable.
        return RenewedTools {
            more: Vec::new(),
            profile: usual,
            only: context.last_only(),
        };
    };
    let only = offered.only.clone();
    let mut more = desk.to_vec();
    // Notes and proposals use the whole project, so a client with a policy needs them in
    // `allowed_tools`.
    if offered.is_limited {
        more.retain(|tool| only.as_ref().is_some_and(|only| only.contains(&tool.name)));
    } else {
        more.retain(|tool| is_for_everyone(&tool.name));
    }
    let shared: Arc<dyn ProjectContext> = Arc::new(context.clone());
    more.extend(ktx_context_tools::custom_tools(&shared, &offered.own));
    RenewedTools {
        more,
        profile: offered.profile.unwrap_or(usual),
        only,
    }
}
