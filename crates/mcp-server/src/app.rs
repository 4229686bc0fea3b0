//! The page that shows a result as a table, a chart and its joins. It loads nothing from a network.

use serde_json::Value;

const PAGE: &str = include_str!("app/page.html");

/// The placeholder for the data in the page.
const NO_DATA: &str = "id=\"data\">null</script>";

/// Returns the page with this result in it.
pub fn report_page(data: &Value) -> String {
    // A script element ends at its end tag, whatever stands around it.
    let data = data.to_string().replace('<', "\\u003c");
    PAGE.replacen(NO_DATA, &format!("id=\"data\">{data}</script>"), 1)
}

/// Returns the page that waits for the result of a call.
pub(crate) const fn app_page() -> &'static str {
    PAGE
}

#[cfg(test)]
mod tests;
