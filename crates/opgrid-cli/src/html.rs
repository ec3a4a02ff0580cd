//! Pages that are one file each: styles, data and scripts stand in them, and nothing is loaded.

use opgrid::dispatch::{Explanation, Hop};
use serde_json::Value as Json;

const PAGE: &str = include_str!("pages/page.css");
const GRID: &str = include_str!("pages/grid.html");
const GRID_STYLE: &str = include_str!("pages/grid.css");
const GRID_SCRIPT: &str = include_str!("pages/grid.js");
const EXPLAIN_STYLE: &str = include_str!("pages/explain.css");
const GRAPH: &str = include_str!("pages/graph.html");
const GRAPH_STYLE: &str = include_str!("pages/graph.css");
const GRAPH_SCRIPT: &str = include_str!("pages/graph.js");

/// The page of a grid.
pub(crate) fn grid(data: &Json) -> String {
    // Nothing in the data can end the element that it stands in.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = [
        ("{{style}}", format!("{PAGE}{GRID_STYLE}")),
        ("{{script}}", GRID_SCRIPT.to_owned()),
        ("{{data}}", data),
    ];
    parts.iter().fold(GRID.to_owned(), |page, (mark, part)| page.replacen(mark, part, 1))
}

/// The page of a program's graph. `body` is markup.
pub(crate) fn graph(title: &str, body: &str) -> String {
    let parts = [
        ("{{style}}", format!("{PAGE}{GRAPH_STYLE}")),
        ("{{script}}", GRAPH_SCRIPT.to_owned()),
        ("{{title}}", escaped(title)),
        ("{{heading}}", escaped(title)),
    ];
    // What the graph holds is not looked through for marks, so that strings in it stay as they are.
    let (before, after) = GRAPH.split_once("{{body}}").unwrap_or((GRAPH, ""));
    let fill =
        |page: &str| parts.iter().fold(page.to_owned(), |page, (mark, part)| page.replacen(mark, part, 1));
    format!("{}{body}{}", fill(before), fill(after))
}

/// The page of an explained call.
pub(crate) fn explanation(explanation: &Explanation) -> String {
    let title = explanation.operator.split('(').next().unwrap_or_default();
    let set = |keys: opgrid::DispatchKeySet| {
        let keys: String = keys.iter().map(|key| format!("<li>{}</li>", escaped(&key.to_string()))).collect();
        if keys.is_empty() {
            "<span class=\"quiet\">none</span>".to_owned()
        } else {
            format!("<ul class=\"keys\">{keys}</ul>")
        }
    };
    let brings = explanation
        .arguments
        .iter()
        .map(|(name, keys)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), set(*keys)));
    let hops: String = explanation.hops.iter().map(hop).collect();
    let skipped = explanation.hops.first().map_or(String::new(), |hop| {
        let names = hop.fallen_through;
        if names.is_empty() { String::new() } else { format!("<h2>Stepped over</h2>\n{}\n", set(names)) }
    });
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}, explained</title>\n\
         <style>\n{PAGE}{EXPLAIN_STYLE}</style>\n</head>\n<body>\n<h1 class=\"code\">{title}</h1>\n\
         <p class=\"code\">{schema}</p>\n<h2>What the call brings</h2>\n<dl>\n{brings}<dt>the thread includes</dt><dd>{included}</dd>\n\
         <dt>the thread excludes</dt><dd>{excluded}</dd>\n</dl>\n<h2>What runs</h2>\n<ol class=\"hops\">\n{hops}</ol>\n{skipped}\
         </body>\n</html>\n",
        title = escaped(title),
        schema = escaped(&explanation.operator),
        brings = brings.collect::<String>(),
        included = set(explanation.local.included),
        excluded = set(explanation.local.excluded),
    )
}

fn hop(hop: &Hop) -> String {
    let reason = hop.reason.to_string();
    let known = |class: &&str| ["direct", "alias", "fallback"].contains(class);
    let class = reason.split(' ').next().filter(known).unwrap_or("ambiguous");
    let kernel = match &hop.kernel {
        Some(kernel) => format!(
            "<div class=\"code\">{}</div><div class=\"quiet code\">{}</div>",
            escaped(kernel.title()),
            escaped(&kernel.place)
        ),
        None => "<div>no kernel: the call is an error</div>".to_owned(),
    };
    let refused: String = hop
        .refused
        .iter()
        .map(|refusal| format!("<div class=\"quiet\">refused by {}</div>", escaped(&refusal.to_string())))
        .collect();
    format!(
        "<li style=\"margin-left: {}rem\"><h3><span class=\"code\">{}</span><span class=\"mark {class}\">{}</span>\
         <span class=\"quiet code\">{}</span></h3>{kernel}{refused}</li>\n",
        2 * hop.depth,
        escaped(&hop.key.to_string()),
        escaped(&reason),
        escaped(&hop.operator),
    )
}

/// A text in which nothing is taken for markup.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_in_the_data_is_taken_for_markup() {
        let page = grid(&json!({"rows": [{"name": "</script><b>{{script}}"}]}));
        assert!(!page.contains("</script><b>") && page.contains("\\u003c/script>\\u003cb>{{script}}"));
        assert_eq!(escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
    }

    #[test]
    fn pages_load_nothing() {
        let operator = opgrid::dispatcher().unwrap().find("aten::neg").unwrap();
        let explained = explanation(&operator.explain_keys(Vec::new()).unwrap());
        for page in [grid(&json!({})), explained, graph("model.pt2", "<p>body</p>")] {
            for loading in ["http://", "https://", "src=", "<link", "@import", "url(", "fetch("] {
                assert!(!page.contains(loading), "{loading}");
            }
        }
    }
}
