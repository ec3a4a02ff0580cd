//! The text form: what is printed is parsed to the same graph, and mistakes are errors with their place.

use std::path::{Path, PathBuf};

use opgrid as _;
use opgrid_graph::{Argument, Graph, check, read_graph};

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut models: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "pt2")).collect();
    models.sort();
    assert!(models.len() >= 14, "{models:?}");
    models
}

#[test]
fn every_program_is_printed_and_parsed_to_a_fixed_point() {
    for path in models() {
        let graph = read_graph(&path).unwrap();
        let text = graph.to_string();
        let parsed: Graph =
            text.parse().unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()));
        assert_eq!(parsed, graph, "{}", path.display());
        assert_eq!(parsed.to_string(), text, "{}", path.display());
        let errors = check(&parsed).unwrap();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

/// A graph with everything that the grammar has.
const EVERYTHING: &str = r#"graph(
  %w: float32[2, 3] = parameter "a.\"w\"",
  %b: bool[] = buffer "b",
  %u: complex64[0] = buffer "u" unsaved,
  %c: int64[] = constant "c",
  %x: float32[n, 2*n + 1, Max(n, 3), (n + 1)*-2] = input,
  %"odd name": int(n) = input,
  %f: float = fixed 2.5,
  %t: any = fixed "text\n",
)
where m in .., n in 1..64, o in -2.., p in ..7
takes ((*, [*, None], {"a": *}), {})
gives named "my.Type" {"y": *, "z": ()}
{
  %y: float32[n] = ns::op.x(%x, -1, 1e-5, inf, -inf, true, none, "a\"b", [1, [2.0], []], torch.float32, torch.strided, torch.channels_last, device "cuda:1", complex(1.0, -0.0), name=%w, other=[%x, %b]) from "layer.0" "model.py:12"
  _, [%p: float32[], %q: int], %r: bool = _operator.add(3)
  "odd target"()
  %s: any = higher_order::cond(%r, block "odd block"(%a: float32[2]) {
    %k: float = math.sqrt(2)
    return %k, 3
  }, block g() {
    return
  })
  return %y, loss %p, buffer "b" = %b, parameter "w" = %w, input "x" = %x, gradient parameter "w" = %w, gradient input "x" = 3
}
"#;

#[test]
fn everything_of_the_grammar_is_printed_as_it_was_written() {
    let graph: Graph = EVERYTHING.parse().unwrap();
    assert_eq!(graph.to_string(), EVERYTHING);
    assert_eq!(graph.block.nodes[0].positional[1], Argument::from(-1));
    assert_eq!(graph.targets()["math.sqrt"], 1);
}

#[test]
fn space_comments_and_last_commas_are_free() {
    let graph: Graph = "graph(%x:float32[]=input)gives * # a comment\n{%y:float32[]=aten::neg(%x,)return %y}"
        .parse()
        .unwrap();
    assert_eq!(graph.block.nodes.len(), 1);
    assert!(check(&graph).unwrap().is_empty());
}

#[test]
fn mistakes_have_a_place() {
    let wrap = |node: &str| format!("graph(\n  %x: float32[2] = input,\n)\n{{\n  {node}\n  return %x\n}}\n");
    for (text, parts) in [
        (String::new(), ["line 1, column 1", "found the end, expected `graph`"]),
        ("graph(%x: float32[2])".into(), ["column 21", "expected `=`"]),
        ("graph(%x: float33[2] = input)".into(), ["column 18", "not float33"]),
        (
            "graph(%x: float32[2] = inputs)".into(),
            ["column 24", "parameter, buffer, constant, input or fixed"],
        ),
        ("graph(%x: int(99999999999999999999) = input)".into(), ["line 1", "64 bits"]),
        ("graph() where n in 1-2 {return}".into(), ["column 21", "expected `..`"]),
        ("graph() takes ? {return}".into(), ["column 15", "how values are nested"]),
        ("graph() {return} more".into(), ["column 18", "expected the end"]),
        (wrap("%y: float32[2] aten::neg(%x)"), ["line 5, column 18", "expected `=`"]),
        (wrap("%y: float32[2] = aten::neg(%x"), ["line 6, column 3", "expected `)`"]),
        (wrap("%y: float32[2] = aten::neg(a=1, 2)"), ["line 6", "behind one by name"]),
        (wrap("aten::neg(\"open)"), ["line 5, column 13", "in quotes"]),
        (wrap("aten::neg(torch.float33)"), ["line 5", "not torch.float33"]),
        (wrap("aten::neg(hello)"), ["line 5", "a value: %name"]),
        (wrap("aten::neg(9223372036854775808)"), ["line 5", "64 bits"]),
        (wrap("aten::neg(device \"gpu9\")"), ["gpu9", "device"]),
        (wrap("= 3"), ["line 5, column 3", "a node such as"]),
        (wrap(&format!("f({}{})", "[".repeat(100_000), "]".repeat(100_000))), ["line 5", "128 levels"]),
        (format!("graph() gives {} {{return}}", "(".repeat(100_000)), ["line 1", "128 levels"]),
        (format!("graph(%x: int({}1) = input)", "(".repeat(100_000)), ["line 1", "128 levels"]),
    ] {
        let error = text.parse::<Graph>().unwrap_err();
        let message = error.message();
        let shown: String = text.chars().take(80).collect();
        assert!(parts.iter().all(|part| message.contains(part)), "{shown}\n{message}");
        assert!(!message.contains('\n') && message.len() < 300, "{message}");
    }
}

#[test]
fn no_prefix_of_a_text_panics() {
    for (end, _) in EVERYTHING.trim_end().char_indices() {
        let _ = EVERYTHING[..end].parse::<Graph>().unwrap_err();
    }
}
