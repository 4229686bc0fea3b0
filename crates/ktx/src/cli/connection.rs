//! `ktx connection`.

use clap::{Args, Subcommand};

use super::{LockWait, OutputArgs, WaitArgs};

/// `ktx connection`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ConnectionArgs {
    #[command(subcommand)]
    pub command: Option<ConnectionCommand>,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ConnectionArgs {
    /// What the command does when another one holds the project's lock.
    pub(crate) const fn lock_wait(&self) -> LockWait {
        let wait = match &self.command {
            Some(ConnectionCommand::Add(args)) => args.wait,
            Some(ConnectionCommand::Edit(args)) => args.wait,
            Some(
                ConnectionCommand::Remove { wait, .. } | ConnectionCommand::Rename { wait, .. },
            ) => *wait,
            None
            | Some(
                ConnectionCommand::List
                | ConnectionCommand::Test { .. }
                | ConnectionCommand::Show { .. },
            ) => return LockWait::NotOffered,
        };
        wait.lock_wait()
    }
}

/// `ktx connection …`
#[derive(Debug, Subcommand)]
pub enum ConnectionCommand {
    /// List the configured connections
    List,
    /// Connect, and check what the login may do
    Test {
        /// The connection to test [default: all]
        id: Option<String>,
        /// Test all connections
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
    /// Show how a connection is configured, without connecting
    Show {
        /// The connection
        id: String,
    },
    /// Add a connection to ktx.yaml; secrets go to files that git ignores
    Add(Box<ConnectionAddArgs>),
    /// Change settings of a connection in ktx.yaml; all others stay
    Edit(Box<ConnectionEditArgs>),
    /// Remove a connection from ktx.yaml; its files stay
    Remove {
        /// The connection
        id: String,
        /// Answer yes to every question
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Give a connection another id
    Rename {
        /// The current id
        old: String,
        /// The new id
        new: String,
        #[command(flatten)]
        wait: WaitArgs,
    },
}

/// `ktx connection add`
#[derive(Debug, Clone, Default, Args)]
pub struct ConnectionAddArgs {
    /// The id of the new connection
    pub id: String,
    /// The driver, such as `postgres` or `sqlite`
    #[arg(long, value_name = "DRIVER")]
    pub driver: String,
    #[command(flatten)]
    pub settings: ConnectionSettings,
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `ktx connection edit`
#[derive(Debug, Clone, Args)]
pub struct ConnectionEditArgs {
    /// The connection
    pub id: String,
    #[command(flatten)]
    pub settings: ConnectionSettings,
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// How a connection is reached.
#[derive(Debug, Clone, Default, Args)]
pub struct ConnectionSettings {
    /// The whole URL, `env:NAME` or `file:PATH`; ktx moves a URL with a password to a file
    #[arg(long, value_name = "REF")]
    pub url: Option<String>,
    /// The database file; a relative path starts at the project
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// The server's name or address
    #[arg(long)]
    pub host: Option<String>,
    /// The server's port
    #[arg(long)]
    pub port: Option<String>,
    /// The database
    #[arg(long)]
    pub database: Option<String>,
    /// The user
    #[arg(long)]
    pub username: Option<String>,
    /// The environment variable that holds the password
    #[arg(long, value_name = "NAME", conflicts_with_all = ["password_file", "password_stdin"])]
    pub password_env: Option<String>,
    /// The file that holds the password; a relative path starts at the project
    #[arg(long, value_name = "PATH", conflicts_with = "password_stdin")]
    pub password_file: Option<String>,
    /// Read the password from stdin and store it in a file that git ignores
    #[arg(long)]
    pub password_stdin: bool,
    /// A schema to use; for some drivers a dataset or a database (can be repeated)
    #[arg(long, value_name = "SCHEMA")]
    pub schema: Vec<String>,
    /// Another field of the connection; dots separate nested keys (can be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub field: Vec<String>,
    /// Test the connection afterwards
    #[arg(long)]
    pub test: bool,
}
