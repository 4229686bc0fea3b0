//! The target machine, by the name in each kind of package.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use regex::bytes::Regex;

use crate::process;
use crate::repository::Repository;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// Such as `x86_64-unknown-linux-gnu`.
    pub(super) triple: String,
    system: System,
    processor: Processor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    /// Oldest supported glibc 2 minor version.
    Linux {
        glibc_minor: u32,
    },
    MacOs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processor {
    X86,
    Arm,
}

impl Platform {
    /// The host, with the C library that `binary` needs.
    pub(super) fn of_host(repository: &Repository, binary: &Path) -> Result<Self> {
        let facts = process::output(process::command(repository, "rustc").arg("-vV"))?;
        let triple = facts
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .context("`rustc -vV` names no host")?;
        let program = std::fs::read(binary)
            .with_context(|| format!("`{}` cannot be read", binary.display()))?;
        Self::new(triple, &program)
    }

    pub(super) fn new(triple: &str, program: &[u8]) -> Result<Self> {
        let processor = match triple.split('-').next() {
            Some("x86_64") => Processor::X86,
            Some("aarch64") => Processor::Arm,
            _ => bail!("no package is made for the processor of `{triple}`"),
        };
        let system = if triple.ends_with("-linux-gnu") {
            System::Linux {
                glibc_minor: glibc_minor(program)?,
            }
        } else if triple.ends_with("-apple-darwin") {
            System::MacOs
        } else {
            bail!("no package is made for the system of `{triple}`");
        };
        Ok(Self {
            triple: triple.to_owned(),
            system,
            processor,
        })
    }

    pub(super) fn is_linux(&self) -> bool {
        matches!(self.system, System::Linux { .. })
    }

    pub(super) fn npm(&self) -> [&'static str; 2] {
        let system = match self.system {
            System::Linux { .. } => "linux",
            System::MacOs => "darwin",
        };
        let processor = match self.processor {
            Processor::X86 => "x64",
            Processor::Arm => "arm64",
        };
        [system, processor]
    }

    /// PEP 600 on Linux.
    pub(super) fn wheel_tag(&self) -> String {
        match (self.system, self.processor) {
            (System::Linux { glibc_minor }, Processor::X86) => {
                format!("manylinux_2_{glibc_minor}_x86_64")
            }
            (System::Linux { glibc_minor }, Processor::Arm) => {
                format!("manylinux_2_{glibc_minor}_aarch64")
            }
            (System::MacOs, Processor::X86) => "macosx_10_12_x86_64".to_owned(),
            (System::MacOs, Processor::Arm) => "macosx_11_0_arm64".to_owned(),
        }
    }

    /// `Architecture` and `Depends`.
    pub(super) fn debian(&self) -> Result<DebianFields> {
        let System::Linux { glibc_minor } = self.system else {
            bail!("`{}` has no Debian packages", self.triple);
        };
        Ok(DebianFields {
            architecture: match self.processor {
                Processor::X86 => "amd64",
                Processor::Arm => "arm64",
            },
            depends: format!("libc6 (>= 2.{glibc_minor}), git"),
        })
    }
}

pub(super) struct DebianFields {
    pub(super) architecture: &'static str,
    pub(super) depends: String,
}

/// Newest required glibc symbol version.
fn glibc_minor(program: &[u8]) -> Result<u32> {
    Regex::new(r"GLIBC_2\.(\d{1,3})")?
        .captures_iter(program)
        .filter_map(|found| std::str::from_utf8(&found[1]).ok()?.parse().ok())
        .max()
        .context("the program names no version of glibc")
}
