//! Copies of remote repositories below `.ktx/cache`: only the newest commit of one branch. The copy
//! does not configure the remote, so it stores no password.

use std::path::{Path, PathBuf};

use ktx_diagnostics::{Hint, Hints};
use ktx_secrets::{Redactor, Secret, redact_url};
use ktx_vocabulary::ConnectionId;

use crate::files::make_private_folder;
use crate::git::{Git, failed};
use crate::{FileError, GitError, Store, remove_folder};

const TOKEN: &str = "KTX_GIT_TOKEN";

/// The variable from which git's helper reads the user name for the token.
const USER: &str = "KTX_GIT_USER";

/// Answers with those two. The same for every token, so that no token appears in the process list.
const HELPER: &str = "credential.helper=!f() { test \"$1\" = get && echo \"username=$KTX_GIT_USER\" && echo \"password=$KTX_GIT_TOKEN\"; }; f";

#[derive(Debug, Clone)]
pub struct Remote {
    /// HTTPS, HTTP, SSH, or a folder.
    pub url: String,
    /// `None`: the branch of the repository's `HEAD`.
    pub branch: Option<String>,
    /// The login for HTTPS; `None` leaves it to the user's own git.
    pub token: Option<Secret>,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    /// The address or the branch is not valid.
    #[error("{what}")]
    Invalid { what: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{url}` cannot be fetched")]
    Fetch {
        /// The address, without a password.
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
    /// Updates the copy of a connection to the newest commit of a branch and returns its folder.
    /// Never falls back to an earlier copy.
    ///
    /// # Errors
    /// [`CheckoutError`] if the address is not valid, the fetch fails or the copy cannot be made.
    pub fn checkout(&self, id: &ConnectionId, remote: &Remote) -> Result<PathBuf, CheckoutError> {
        remote.check()?;
        let folder = self.layout().cache().join("repositories").join(id.as_str());
        let is_new = !folder.exists();
        match fetch(self, &folder, remote) {
            Err(_) if !is_new => {
                // The remains of an earlier run may cause the failure.
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
    // Explicit, so that git never looks for a surrounding repository, which would be the project's.
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
    // Only our own helper is asked.
    let helpers = ["-c", "credential.helper=", "-c", HELPER];
    let mut arguments: Vec<&str> = Vec::new();
    if remote.token.is_some() {
        arguments.extend(helpers);
    }
    arguments.extend([
        // Without redirects a token reaches only the named host. Gives up on a silent host.
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

    /// Whether the transport is encrypted or stays on this machine.
    fn is_sealed(&self) -> bool {
        let is_here = self.url.strip_prefix("http://").is_some_and(|rest| {
            let place = rest.split('/').next().unwrap_or_default();
            let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
            ktx_secrets::is_loopback(host)
        });
        self.url.starts_with("https://") || is_here
    }

    /// The user name that the large hosts expect with a token.
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
