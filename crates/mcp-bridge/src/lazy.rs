//! Tools that are created on first use.

use std::sync::{Mutex, OnceLock};

use ktx_tool_descriptors::{ListedTool, ToolDescriptor, ToolSet, ToolSetError};

type Make = Box<dyn FnOnce() -> Result<ToolSet, ToolSetError> + Send>;

/// A tool set, or how to create it. Schemas cost milliseconds, and the handshake needs none of
/// them.
pub struct LazyTools {
    made: OnceLock<Result<ToolSet, ToolSetError>>,
    make: Mutex<Option<Make>>,
    list: fn(&ToolDescriptor) -> ListedTool,
}

impl LazyTools {
    /// Creates the tools with `make`, at most once, at the first listing or call.
    pub fn new(make: impl FnOnce() -> Result<ToolSet, ToolSetError> + Send + 'static) -> Self {
        Self {
            made: OnceLock::new(),
            make: Mutex::new(Some(Box::new(make))),
            list: ListedTool::of,
        }
    }

    /// Lists each tool as `list` says.
    #[must_use]
    pub fn listed_by(self, list: fn(&ToolDescriptor) -> ListedTool) -> Self {
        Self { list, ..self }
    }

    /// Returns a tool as the list shows it.
    pub(crate) fn listed(&self, tool: &ToolDescriptor) -> ListedTool {
        (self.list)(tool)
    }

    /// Returns the tools, or why they are unavailable.
    pub(crate) fn get(&self) -> Result<&ToolSet, &ToolSetError> {
        let made = self.made.get_or_init(|| {
            let make = self
                .make
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .take();
            // Only this initializer takes it, and it runs once.
            make.map_or_else(|| Ok(ToolSet::default()), |make| make())
        });
        made.as_ref()
    }
}

impl From<ToolSet> for LazyTools {
    fn from(tools: ToolSet) -> Self {
        Self {
            made: OnceLock::from(Ok(tools)),
            make: Mutex::new(None),
            list: ListedTool::of,
        }
    }
}

impl std::fmt::Debug for LazyTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyTools")
            .field("made", &self.made)
            .finish_non_exhaustive()
    }
}
