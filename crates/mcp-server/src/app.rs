//! The page that displays a result; loads nothing from a network.

use serde_json::Value;

const PAGE: &str = include_str!("app/page.html");

const NO_DATA: &str = "id=\"data\">null</script>";

pub fn report_page(data: &Value) -> String {
    // A script element ends at its end tag, whatever surrounds it.
    let data = data.to_string().replace('<', "\\u003c");
    PAGE.replacen(NO_DATA, &format!("id=\"data\">{data}</script>"), 1)
}

pub(crate) const fn app_page() -> &'static str {
    PAGE
}

#[cfg(test)]
mod tests;
