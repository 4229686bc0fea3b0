//! Notices changes below a folder, only on local file systems without links.

use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchState {
    Unchanged,
    /// The watch is used up.
    Changed,
}

#[derive(Debug)]
pub struct FolderWatch(system::SystemWatch);

impl FolderWatch {
    /// `None` if it could miss a change.
    pub fn new(folder: &Path) -> Option<Self> {
        system::SystemWatch::new(folder).map(Self)
    }

    pub fn look(&self) -> WatchState {
        self.0.look()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::mem::MaybeUninit;
    use std::path::Path;

    use rustix::fd::OwnedFd;
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

    use super::WatchState;

    /// Each costs memory in the kernel.
    const MOST_FOLDERS: usize = 256;

    /// Changed by this machine only: ext, XFS, Btrfs, tmpfs, ZFS, F2FS, overlay.
    const LOCAL: [u64; 7] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0x0102_1994,
        0x2FC1_2FC1,
        0xF2F5_2010,
        0x794C_7630,
    ];

    #[derive(Debug)]
    pub(super) struct SystemWatch {
        events: OwnedFd,
    }

    impl SystemWatch {
        pub(super) fn new(folder: &Path) -> Option<Self> {
            let system = rustix::fs::statfs(folder).ok()?;
            if !LOCAL.contains(&u64::try_from(system.f_type).ok()?) {
                return None;
            }
            let events = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let watch = Self { events };
            watch.add(folder, &mut 0)?;
            Some(watch)
        }

        fn add(&self, folder: &Path, count: &mut usize) -> Option<()> {
            *count += 1;
            if *count > MOST_FOLDERS {
                return None;
            }
            // Before the folder is read, so that no new folder is missed.
            let flags = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::MOVE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            add_watch(&self.events, folder, flags).ok()?;
            for entry in fs::read_dir(folder).ok()? {
                let entry = entry.ok()?;
                let kind = entry.file_type().ok()?;
                // The target of a link can be anywhere.
                if kind.is_symlink() {
                    return None;
                }
                if kind.is_dir() {
                    self.add(&entry.path(), count)?;
                }
            }
            Some(())
        }

        pub(super) fn look(&self) -> WatchState {
            let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
            match rustix::io::read(&self.events, &mut buffer) {
                Err(rustix::io::Errno::AGAIN) => WatchState::Unchanged,
                Ok(_) | Err(_) => WatchState::Changed,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;

    use super::WatchState;

    #[derive(Debug)]
    pub(super) struct SystemWatch;

    impl SystemWatch {
        pub(super) fn new(_: &Path) -> Option<Self> {
            None
        }

        pub(super) fn look(&self) -> WatchState {
            WatchState::Changed
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
