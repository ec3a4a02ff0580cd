//! The pages in a real browser: the grid is searched, clicked through and walked by keys in headless Chromium, where there
//! is one; elsewhere the test says that it was left out.

use std::path::Path;
use std::process::Command;

use crate::common::{Folder, prints};
use serde_json::Value as Json;

/// What a visitor does, and what there is to see then.
const VISIT: &str = r##"
<script>
const seen = {};
const by = (id) => document.getElementById(id);
const cell = (name, key) => {
  const y = grid.rows.findIndex((row) => row.name === name);
  const x = grid.columns.findIndex((column) => column.key === key || column.also.includes(key));
  return document.querySelector(`button[data-y="${y}"][data-x="${x}"]`);
};
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const shown = () => rows.filter(({ row }) => row.offsetHeight > 0).length;

seen.rows = shown();
seen.columns = document.querySelectorAll("#head th").length - 1;
seen.wider = document.documentElement.scrollWidth > window.innerWidth;

cell("aten::add.Tensor", "CPU").click();
seen.operator = by("detail-operator").textContent;
seen.key = by("detail-key").textContent;
seen.reason = by("detail-reason").textContent;
seen.detail = by("detail").textContent;
seen.address = location.hash;

cell("aten::add.Tensor", "AutogradCPU").click();
seen.fallback = by("detail-reason").textContent;
cell("aten::mm", "CUDA").click();
seen.missing = by("detail-reason").textContent;
cell("aten::reshape", "CPU").click();
seen.alias = by("detail-reason").textContent;

press("/");
seen.searching = document.activeElement.id;
by("search").value = "softmax dim";
by("search").dispatchEvent(new Event("input", { bubbles: true }));
seen.found = rows.filter(({ row }) => !row.hidden).map(({ row }) => row.querySelector("th").textContent);
by("search").value = "zzzz";
by("search").dispatchEvent(new Event("input", { bubbles: true }));
seen.nothing = by("nothing").offsetHeight > 0;
press("Escape");
seen.again = shown();

document.querySelector('#legend button[data-rule="alias"]').click();
seen.aliases = shown();
document.querySelector('#legend button[data-rule="alias"]').click();

const start = cell("aten::add.Tensor", "CPU");
start.focus();
start.click();
press("ArrowRight");
seen.right = document.activeElement.getAttribute("aria-label");
press("ArrowLeft");
press("ArrowDown");
seen.below = document.activeElement.getAttribute("aria-label");
document.activeElement.click();
seen.explained = by("detail-operator").textContent;
seen.reachable = document.querySelectorAll('#body button[tabindex="0"]').length;

document.body.replaceChildren(Object.assign(document.createElement("pre"), { textContent: JSON.stringify(seen) }));
</script>
"##;

/// The browser, if there is one.
fn chromium() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs);
    if found.is_none() {
        eprintln!("left out: there is no Chromium to look at the page with");
    }
    found
}

/// The document that a page becomes when its scripts have run.
fn document(browser: &str, page: &Path, profile: &Path) -> String {
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,800"])
        .args(["--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a document is text")
}

/// The page as a visitor sees it after clicking through it.
fn visit(browser: &str, folder: &Folder) -> Json {
    let path = folder.path().join("grid.html");
    let page = std::fs::read_to_string(&path).expect("the page was written");
    let visited = folder.path().join("visited.html");
    std::fs::write(&visited, page.replace("</body>", &format!("{VISIT}</body>")))
        .expect("the folder can be written");
    let document = document(browser, &visited, &folder.path().join("profile"));
    let seen = document.split_once("<pre>").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (seen, _) =
        seen.unwrap_or_else(|| panic!("the visit did not end: {}", &document[..document.len().min(2000)]));
    let seen = seen.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&seen).expect("the visit is told in JSON")
}

#[test]
fn the_grid_is_clicked_through() {
    let Some(browser) = chromium() else { return };
    let folder = Folder::new();
    let said = prints(&["grid", "--out", &folder.file("grid.html")]);
    let seen = visit(browser, &folder);
    let text = |name: &str| seen[name].as_str().unwrap_or_else(|| panic!("no {name} in {seen}")).to_owned();
    let count = |name: &str| seen[name].as_u64().unwrap_or_else(|| panic!("no {name} in {seen}"));
    assert!(
        said.contains(&format!("{} operators, {} columns", count("rows"), count("columns"))),
        "{said} {seen}"
    );
    assert!(count("rows") > 400 && count("columns") < 20, "{seen}");
    assert_eq!(seen["wider"], false, "the page does not scroll sideways");

    assert_eq!(text("operator"), "aten::add.Tensor");
    assert!(text("key").starts_with("CPU ") && text("key").ends_with("own kernel"), "{seen}");
    assert_eq!(text("reason"), "A kernel was registered for CPU itself.");
    assert!(text("detail").contains("/pointwise/add.rs:"), "{seen}");
    assert_eq!(text("address"), "#aten%3A%3Aadd.Tensor/CPU");
    assert!(text("fallback").contains("The fallback of Autograd"), "{seen}");
    assert_eq!(text("missing"), "Nothing is registered for CUDA: a call that comes here is an error.");
    assert!(text("alias").contains("CompositeImplicitAutograd"), "{seen}");

    assert_eq!(text("searching"), "search");
    let found = seen["found"].as_array().expect("a list of names");
    assert!(!found.is_empty() && found.len() < 30, "{seen}");
    assert!(found.iter().all(|name| name.as_str().is_some_and(|name| name.contains("softmax"))), "{seen}");
    assert_eq!(seen["nothing"], true);
    assert_eq!(count("again"), count("rows"));
    assert!(count("aliases") > 100 && count("aliases") < count("rows"), "{seen}");

    assert!(text("right").starts_with("aten::add.Tensor at ") && !text("right").contains(" CPU:"), "{seen}");
    assert!(
        text("below").ends_with(" at CPU: own kernel") && !text("below").contains("add.Tensor"),
        "{seen}"
    );
    assert_eq!(text("below").split(" at ").next(), Some(text("explained").as_str()));
    assert_eq!(count("reachable"), 1, "one cell is reached by the Tab key");
}

#[test]
fn an_explained_call_is_a_page() {
    let folder = Folder::new();
    let path = folder.file("explained.html");
    prints(&["explain", "aten::add.Tensor", "cpu+grad", "cpu", "--html", &path]);
    let page = std::fs::read_to_string(&path).expect("the page was written");
    for part in ["aten::add.Tensor, explained", "<li>AutogradCPU</li>", "/pointwise/add.rs:", "Stepped over"]
    {
        assert!(page.contains(part), "`{part}` is not in {page}");
    }
    let Some(browser) = chromium() else { return };
    let document = document(browser, Path::new(&path), &folder.path().join("profile"));
    assert_eq!(document.matches("<h3>").count(), 2, "{document}");
}
