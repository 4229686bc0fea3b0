//! The policies and tokens of the clients in `ktx.yaml`.

use ktx_config::{Client, DEFAULT_CLIENT, FILE_NAME};
use ktx_context_tools::{PolicyProblem, policy_problems};
use ktx_diagnostics::{Code, Diagnostic, Diagnostics, Failure};
use ktx_secrets::Secret;
use ktx_sql::Dialect;

use crate::invocation::{Invocation, OpenProject};
use crate::local_server::token::checked;
use crate::report::{Outcome, Report as _};
use crate::{compose, context};

/// Returns the client without a token, if there is one.
pub(crate) fn default_client(project: &OpenProject) -> Option<&Client> {
    let mut clients = project.config.clients.iter();
    clients.find(|client| client.name == DEFAULT_CLIENT)
}

pub(crate) fn named_clients<'a>(
    invocation: &Invocation,
    project: &'a OpenProject,
) -> Outcome<Vec<(&'a Client, Secret)>> {
    let secrets = invocation.secrets(&project.dir);
    let clients = project.config.clients.iter();
    let named = clients.filter(|client| client.name != DEFAULT_CLIENT);
    let mut found: Vec<(&Client, Secret)> = Vec::new();
    for client in named {
        let Some(reference) = &client.token else {
            continue;
        };
        let place = format!("the token of the client `{}` cannot be used", client.name);
        let token = reference
            .resolve(&secrets)
            .map_err(|error| Failure::from_error(Code::McpToken, &error).context(place.clone()))?;
        let token = checked(token).map_err(|failure| failure.context(place))?;
        let same = |(_, other): &&(&Client, Secret)| other.expose() == token.expose();
        if let Some((other, _)) = found.iter().find(same) {
            let message = format!(
                "the clients `{}` and `{}` have the same token",
                other.name, client.name
            );
            return Err(
                Failure::new(Code::McpToken, message).hint("give each client its own token")
            );
        }
        found.push((client, token));
    }
    Ok(found)
}

pub(crate) fn check_policies(invocation: &Invocation, project: &OpenProject) -> Outcome<()> {
    if project
        .config
        .clients
        .iter()
        .all(|client| client.warehouses.is_empty())
    {
        return Ok(());
    }
    let context = context::open(invocation, project)?;
    let problems = compose::block_on(|_| async {
        let mut problems = Vec::new();
        for client in &project.config.clients {
            for id in client.warehouses.keys() {
                let Some(connection) = project.config.connection(id) else {
                    continue;
                };
                let scan = context.snapshot(&connection.id).await?;
                let dialect = compose::dialect(connection.driver).unwrap_or(Dialect::Postgres);
                problems.extend(policy_problems(client, id, scan.as_deref(), dialect));
            }
        }
        Ok(problems)
    })?;
    if problems.is_empty() {
        return Ok(());
    }
    Err(located(project, problems)?.into())
}

fn located(project: &OpenProject, problems: Vec<PolicyProblem>) -> Outcome<Diagnostics> {
    let path = project.store.layout().config();
    let text = std::fs::read(&path).map_err(|error| {
        Failure::from_error(Code::UnreadableConfig, &error)
            .context(format!("`{FILE_NAME}` cannot be read"))
    })?;
    let places = ktx_config::yaml::load(&text, FILE_NAME)?.places;
    let found = problems.into_iter().map(|problem| {
        let path: Vec<&str> = problem.path.iter().map(String::as_str).collect();
        Diagnostic::error(Code::InvalidPolicy, problem.message)
            .hint(problem.hint)
            .at(places.value(&path))
    });
    let mut found: Vec<Diagnostic> = found.collect();
    found.sort_by_key(|one| one.location.as_ref().and_then(|place| place.position));
    Ok(Diagnostics(found))
}
