//! Tools that are created on first use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ktx_tool_descriptors::{ListedTool, ToolDescriptor, ToolSet, ToolSetError};

type Version = Box<dyn Fn() -> u64 + Send + Sync>;

type Make = Box<dyn Fn() -> Result<ToolSet, ToolSetError> + Send + Sync>;

/// A tool set created on demand: schemas cost milliseconds, and the handshake needs none.
pub struct LazyTools {
    made: Mutex<Option<(u64, Made)>>,
    make: Make,
    version: Version,
    list: fn(&ToolDescriptor) -> ListedTool,
}

type Made = Result<Arc<ToolSet>, ToolSetError>;

impl LazyTools {
    /// Calls `make` on first use, and after [`Self::forget`].
    pub fn new(make: impl Fn() -> Result<ToolSet, ToolSetError> + Send + Sync + 'static) -> Self {
        Self {
            made: Mutex::default(),
            make: Box::new(make),
            version: Box::new(|| 0),
            list: ListedTool::of,
        }
    }

    #[must_use]
    pub fn renewed_by(self, version: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self {
            version: Box::new(version),
            ..self
        }
    }

    #[must_use]
    pub fn listed_by(self, list: fn(&ToolDescriptor) -> ListedTool) -> Self {
        Self { list, ..self }
    }

    /// Running calls keep their tools.
    pub fn forget(&self) {
        self.made().take();
    }

    pub(crate) fn listed(&self, tool: &ToolDescriptor) -> ListedTool {
        (self.list)(tool)
    }

    pub(crate) fn get(&self) -> Made {
        let version = (self.version)();
        let mut made = self.made();
        match &*made {
            // Another call may have seen a later version.
            Some((known, tools)) if *known >= version => tools.clone(),
            _ => {
                let tools = (self.make)().map(Arc::new);
                *made = Some((version, tools.clone()));
                tools
            }
        }
    }

    fn made(&self) -> MutexGuard<'_, Option<(u64, Made)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<ToolSet> for LazyTools {
    fn from(tools: ToolSet) -> Self {
        Self::new(move || Ok(tools.clone()))
    }
}

impl std::fmt::Debug for LazyTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyTools")
            .field("made", &self.made)
            .finish_non_exhaustive()
    }
}
