//! The `.tar.gz`: program, completions and man pages.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::{Release, stage};
use crate::process;
use crate::repository::{file_name, read_folder};

pub(super) fn build(release: &Release<'_>) -> Result<Vec<PathBuf>> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    stage::fill(release, scratch.path())?;
    let path = release.folder.join(format!("{}.tar.gz", release.stem()));
    pack(scratch.path(), &release.stem(), &path)?;
    Ok(vec![path])
}

/// Reproducible: sorted names, no owners or times.
fn pack(folder: &Path, name: &str, into: &Path) -> Result<()> {
    let file =
        File::create(into).with_context(|| format!("`{}` cannot be made", into.display()))?;
    let gzip = GzBuilder::new().mtime(0).write(file, Compression::best());
    let mut archive = Builder::new(gzip);
    append(&mut archive, folder, Path::new(name))?;
    archive.into_inner()?.finish()?.sync_all()?;
    Ok(())
}

fn append(archive: &mut Builder<impl Write>, path: &Path, name: &Path) -> Result<()> {
    let mut header = Header::new_ustar();
    header.set_mtime(0);
    if path.is_dir() {
        header.set_entry_type(EntryType::Directory);
        header.set_mode(0o755);
        header.set_size(0);
        archive.append_data(&mut header, name, std::io::empty())?;
        for child in read_folder(path)? {
            append(archive, &child, &name.join(file_name(&child)))?;
        }
        return Ok(());
    }
    let bytes =
        std::fs::read(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    header.set_mode(if file_name(path) == "ktx" {
        0o755
    } else {
        0o644
    });
    header.set_size(u64::try_from(bytes.len())?);
    archive.append_data(&mut header, name, bytes.as_slice())?;
    Ok(())
}

pub(super) fn install(release: &Release<'_>, files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    for file in files {
        let mut tar = process::command(release.repository, "tar");
        process::output(tar.arg("-xzf").arg(file).arg("-C").arg(folder))?;
    }
    Ok(folder.join(release.stem()).join("ktx"))
}
