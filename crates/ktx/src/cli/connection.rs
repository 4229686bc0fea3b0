//! `ktx connection`.

use clap::{Args, Subcommand};

use super::{LockWait, OutputArgs, WaitArgs};

/// `ktx connection`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ConnectionArgs {
    /// What to do with connections
    #[command(subcommand)]
    pub command: Option<ConnectionCommand>,
    /// How to print
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
    /// Reach connections and check what their logins may do
    Test {
        /// The connection to test [default: all]
        id: Option<String>,
        /// Test all connections
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
    /// Show how a connection is configured; reaches nothing
    Show {
        /// The connection
        id: String,
    },
    /// Add a connection to ktx.yaml; secrets go to files that git ignores
    Add(Box<ConnectionAddArgs>),
    /// Change settings of a connection in ktx.yaml; what is not named stays
    Edit(Box<ConnectionEditArgs>),
    /// Remove a connection from ktx.yaml; its files stay
    Remove {
        /// The connection
        id: String,
        /// Agree to what would be asked
        #[arg(long)]
        yes: bool,
        /// Whether to wait for another command
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Give a connection another id
    Rename {
        /// The id that it has
        old: String,
        /// The id that it gets
        new: String,
        /// Whether to wait for another command
        #[command(flatten)]
        wait: WaitArgs,
    },
}

/// `ktx connection add`
#[derive(Debug, Clone, Default, Args)]
pub struct ConnectionAddArgs {
    /// The id of the new connection
    pub id: String,
    /// What it connects to, such as `postgres` or `sqlite`
    #[arg(long, value_name = "DRIVER")]
    pub driver: String,
    /// How it is reached
    #[command(flatten)]
    pub settings: ConnectionSettings,
    /// Whether to wait for another command
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `ktx connection edit`
#[derive(Debug, Clone, Args)]
pub struct ConnectionEditArgs {
    /// The connection
    pub id: String,
    /// How it is reached
    #[command(flatten)]
    pub settings: ConnectionSettings,
    /// Whether to wait for another command
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// How a connection is reached.
#[derive(Debug, Clone, Default, Args)]
pub struct ConnectionSettings {
    /// The whole address, `env:NAME` or `file:PATH`; one with a password is moved to a file
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
    /// Read the password from stdin and keep it in a file that git ignores
    #[arg(long)]
    pub password_stdin: bool,
    /// A schema to use, a dataset or a database where the driver calls it so (can be repeated)
    #[arg(long, value_name = "SCHEMA")]
    pub schema: Vec<String>,
    /// Another field of the connection; dots lead into objects (can be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub field: Vec<String>,
    /// Test the connection afterwards
    #[arg(long)]
    pub test: bool,
}
