//! The text form and JSON: what is printed is parsed to the same graph, and mistakes are errors with their place.

use std::path::PathBuf;

use opgrid_graph::{Argument, Graph, check, read_graph};
use serde_json::{Value as Json, json};

use crate::exported;

fn programs() -> impl Iterator<Item = PathBuf> {
    exported::names().into_iter().map(|name| exported::path(&name))
}

#[test]
fn every_program_is_printed_and_parsed_to_a_fixed_point() {
    for path in programs() {
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
        (wrap("aten::neg(18446744073709551616)"), ["line 5", "64 bits"]),
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

#[test]
fn every_program_is_the_same_after_json() {
    let programs = programs().map(|path| read_graph(&path).unwrap());
    for graph in programs.chain([EVERYTHING.parse().unwrap(), Graph::default()]) {
        let text = graph.to_json().to_string();
        let again = Graph::from_json(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(again, graph, "{text}");
        assert_eq!(again.to_string(), graph.to_string());
    }
}

/// Changes the JSON of a small graph, and asserts that it is refused with all the parts.
fn json_refused(change: impl FnOnce(&mut Json), parts: &[&str]) {
    let text = "graph(%x: float32[2] = buffer \"b\") where n in 1..2 { %y: float32[2] = aten::mul.Tensor(%x, 2.0) return loss %y }";
    let mut json = text.parse::<Graph>().unwrap().to_json();
    change(&mut json);
    let error = Graph::from_json(&json).unwrap_err();
    let message = error.message();
    println!("{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "expected {parts:?} in {message}");
}

#[test]
fn mistakes_in_json_have_a_place() {
    json_refused(|it| *it = json!([]), &["found `[]`", "an object with `format`"]);
    json_refused(|it| it["format"] = json!("onnx"), &["field `format`", "`onnx`", "`opgrid.graph`"]);
    json_refused(|it| it["version"] = json!(2), &["field `version`", "found 2, expected 1"]);
    json_refused(|it| drop(it.as_object_mut().unwrap().remove("nodes")), &["no field `nodes`"]);
    json_refused(|it| it["inputs"] = json!(3), &["field `inputs`", "found `3`", "a list"]);
    json_refused(
        |it| it["inputs"][0]["type"] = json!("float33[]"),
        &["inputs 0", "type of `x`", "not float33"],
    );
    json_refused(
        |it| it["inputs"][0]["kind"] = json!("weight"),
        &["inputs 0", "field `kind`", "`\"weight\"`"],
    );
    json_refused(|it| it["inputs"][0]["persistent"] = json!(1), &["inputs 0", "true or false"]);
    json_refused(|it| it["symbols"]["n"]["min"] = json!(0.5), &["field `min` of symbol `n`", "0.5"]);
    json_refused(|it| it["symbols"]["a b"] = json!({}), &["symbol `a b`", "letters"]);
    json_refused(|it| it["output_tree"] = json!("("), &["field `output_tree`", "how values are nested"]);
    json_refused(
        |it| it["nodes"][0]["positional"][1] = json!({"number": 2}),
        &["nodes 0", "positional 1", "says its kind"],
    );
    json_refused(
        |it| it["nodes"][0]["positional"][1] = json!({}),
        &["nodes 0", "positional 1", "says its kind"],
    );
    json_refused(|it| it["symbols"]["n"]["max"] = json!(u64::MAX), &["field `max` of symbol `n`", "64 bits"]);
    json_refused(|it| it["nodes"][0]["positional"][1] = json!({"complex": [1]}), &["two floats"]);
    json_refused(|it| it["nodes"][0]["positional"][1] = json!({"dtype": "float33"}), &["float33"]);
    json_refused(
        |it| it["nodes"][0]["positional"][1] = json!({"block": "b"}),
        &["block `b`", "no field `parameters`"],
    );
    json_refused(|it| it["nodes"][0]["named"] = json!([["a"]]), &["named 0", "a name and a value"]);
    json_refused(|it| it["nodes"][0]["results"] = json!([1]), &["results 0", "an object with `name`"]);
    json_refused(|it| it["outputs"][0]["kind"] = json!("input"), &["outputs 0", "no field `of`"]);
}

#[test]
fn floats_are_exact_in_json_and_archives() {
    let mut bits = 1u64;
    for _ in 0..2000 {
        // The multiplier and the increment of Knuth's MMIX.
        bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = f64::from_bits(bits);
        if !value.is_finite() {
            continue;
        }
        let text = json!(value).to_string();
        assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), value.to_bits(), "{text}");
        assert_eq!(
            serde_json::from_str::<Json>(&text).unwrap().as_f64().unwrap().to_bits(),
            value.to_bits(),
            "{text}"
        );
    }
}

#[test]
fn a_value_that_is_defined_twice_and_used_is_an_error() {
    let text = "graph(%x: float32[2] = input) {
        %y: float32[2] = aten::neg(%x)
        %y: float32[2] = aten::neg(%y)
        %z: float32[2] = aten::neg(%y)
        return %z }";
    let errors = check(&text.parse::<Graph>().unwrap()).unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].message().contains("node 1 `%y`: value `%y` is defined twice"), "{}", errors[0]);
}
