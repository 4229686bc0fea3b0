//! Copies of remote repositories in `.ktx/cache`: the newest commit of one branch, no password.

use std::path::{Path, PathBuf};

use ktx_diagnostics::{Hint, Hints};
use ktx_secrets::{Redactor, Secret, redact_url};
use ktx_vocabulary::ConnectionId;

use crate::files::make_private_folder;
use crate::git::{Git, failed};
use crate::{FileError, GitError, Store, remove_folder};

const TOKEN: &str = "KTX_GIT_TOKEN";

const USER: &str = "KTX_GIT_USER";

/// Takes both from the environment, so that the process list shows no token.
const HELPER: &str = "credential.helper=!f() { test \"$1\" = get && echo \"username=$KTX_GIT_USER\" && echo \"password=$KTX_GIT_TOKEN\"; }; f";

#[derive(Debug, Clone)]
pub struct Remote {
    /// HTTPS, HTTP, SSH, or a folder.
    pub url: String,
    /// Default: `HEAD` of the repository.
    pub branch: Option<String>,
    /// For HTTPS. Default: the user's git.
    pub token: Option<Secret>,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("{what}")]
    Invalid { what: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{url}` cannot be fetched")]
    Fetch {
        url: String,
        #[source]
        source: GitError,
    },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Hints for CheckoutError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Invalid { .. } => Vec::new(),
            Self::File(_) => vec![Hint::new(
                "check the permissions of `.ktx/cache` and the free space on the disk",
            )],
            Self::Fetch { url, .. } => vec![
                Hint::new(format!(
                    "run `git ls-remote {url}` to see whether you can reach it"
                )),
                Hint::new("check the address, `branch` and `auth_token_ref` of the connection"),
            ],
            Self::Git(error) => error.hints(),
        }
    }
}

impl Store {
    /// Updates the copy and returns its folder; never falls back to an earlier copy.
    pub fn checkout(&self, id: &ConnectionId, remote: &Remote) -> Result<PathBuf, CheckoutError> {
        remote.check()?;
        let folder = self.layout().cache().join("repositories").join(id.as_str());
        let is_new = !folder.exists();
        match fetch(self, &folder, remote) {
            Err(_) if !is_new => {
                // Leftovers of an earlier run may cause the failure.
                remove_folder(&folder)?;
                fetch(self, &folder, remote)?;
            }
            result => result?,
        }
        Ok(folder)
    }
}

fn fetch(store: &Store, folder: &Path, remote: &Remote) -> Result<(), CheckoutError> {
    make_private_folder(folder)?;
    // Never the project's repository around it.
    let mut git = Git::find(folder, store.environment())?
        .fetching(store.environment())
        .with("GIT_DIR", folder.join(".git"))
        .with("GIT_WORK_TREE", folder);
    if let Some(token) = &remote.token {
        git = git.with(TOKEN, token.expose()).with(USER, remote.user());
    }
    git.text(&["init", "--quiet", "."])?;
    let reference = match &remote.branch {
        Some(branch) => format!("refs/heads/{branch}"),
        None => "HEAD".to_owned(),
    };
    let helpers = ["-c", "credential.helper=", "-c", HELPER];
    let mut arguments: Vec<&str> = Vec::new();
    if remote.token.is_some() {
        arguments.extend(helpers);
    }
    arguments.extend([
        // Without redirects a token reaches only the named host.
        "-c",
        "http.followRedirects=false",
        "-c",
        "http.lowSpeedLimit=1",
        "-c",
        "http.lowSpeedTime=60",
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--",
        &remote.url,
        &reference,
    ]);
    let output = git.run(&arguments, b"")?;
    if !output.status.success() {
        return Err(CheckoutError::Fetch {
            url: redact_url(&remote.url),
            source: remote.redacted(failed(&["fetch"], &output)),
        });
    }
    git.text(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"])?;
    git.text(&["clean", "--quiet", "-ffdx"])?;
    Ok(())
}

impl Remote {
    fn check(&self) -> Result<(), CheckoutError> {
        let url = redact_url(&self.url);
        let invalid = |what: String| Err(CheckoutError::Invalid { what });
        let is_plain = |text: &str| {
            !text.is_empty() && !text.starts_with('-') && !text.chars().any(char::is_control)
        };
        if !is_plain(&self.url) || self.url.contains("::") {
            return invalid(format!("`{url}` is not a git repository URL"));
        }
        if let Some(branch) = &self.branch
            && (!is_plain(branch) || branch.contains([' ', '~', '^', ':', '?', '*', '[', '\\']))
        {
            return invalid(format!("`{branch}` is not a branch name"));
        }
        if self.token.is_some() && !self.is_sealed() {
            return invalid(format!(
                "a token is sent over HTTPS only, and `{url}` uses another protocol"
            ));
        }
        Ok(())
    }

    /// True if the transport is encrypted or stays on this machine.
    fn is_sealed(&self) -> bool {
        let is_here = self.url.strip_prefix("http://").is_some_and(|rest| {
            let place = rest.split('/').next().unwrap_or_default();
            let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
            ktx_secrets::is_loopback(host)
        });
        self.url.starts_with("https://") || is_here
    }

    fn user(&self) -> &'static str {
        let host = self.url.split('/').nth(2).unwrap_or_default();
        if host.contains("gitlab") {
            "oauth2"
        } else if host.contains("bitbucket") {
            "x-token-auth"
        } else {
            "x-access-token"
        }
    }

    fn redacted(&self, error: GitError) -> GitError {
        let mut redactor = Redactor::new();
        if let Some(token) = &self.token {
            redactor.learn(token);
        }
        match error {
            GitError::Failed { command, message } => GitError::Failed {
                command,
                message: redactor.redact(&message),
            },
            other => other,
        }
    }
}
