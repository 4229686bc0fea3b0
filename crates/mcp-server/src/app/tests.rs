//! The page is small, loads nothing, and holds its data safely.

use serde_json::{Value, json};

use super::{PAGE, report_page};

#[test]
fn the_page_is_small_and_loads_nothing() {
    let script = PAGE.split("<script>").nth(1).expect("a script");
    assert!(script.len() <= 30_000, "{}", script.len());
    assert!(PAGE.contains("default-src 'none'"));
    // The only address names the language of drawings.
    let addresses: Vec<&str> = PAGE
        .match_indices("://")
        .map(|(at, _)| &PAGE[at..])
        .collect();
    assert_eq!(addresses.len(), 1);
    for word in [
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
        "src=",
        "href=",
        "innerHTML",
        "eval(",
    ] {
        assert!(!PAGE.contains(word), "{word}");
    }
}

#[test]
fn no_text_of_a_result_ends_the_data() {
    let data = json!({ "headers": ["</script><script>alert(1)</script>"], "rows": [["<!--"]] });
    let page = report_page(&data);
    assert_eq!(
        page.matches("</script>").count(),
        PAGE.matches("</script>").count()
    );
    let (_, rest) = page.split_once("id=\"data\">").expect("data");
    let (text, _) = rest.split_once("</script>").expect("an end");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), data);
}
