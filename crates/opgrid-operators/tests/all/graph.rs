//! The graph of gradients as a value, as text and as a picture.

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::layers::autograd::{self, CheckpointOptions, Graph, GraphOptions, checkpoint};
use opgrid_tensor::{Tensor, ops};

fn leaf(sizes: &[i64]) -> Tensor {
    let x = Tensor::ones(sizes, DType::F64, Device::CPU).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

fn graph_of(result: &Tensor, names: &[(&str, &Tensor)]) -> Graph {
    autograd::graph(&[result], &GraphOptions { names, ..GraphOptions::default() }).unwrap()
}

#[test]
fn a_small_graph_in_dot() -> Result<()> {
    let (w, x) = (leaf(&[2, 3]), Tensor::ones(&[3, 4], DType::F64, Device::CPU)?);
    let hidden = w.mm(&x)?.relu()?;
    let loss = hidden.mul(&hidden)?.sum()?;
    let graph = graph_of(&loss, &[("w", &w), ("x", &x), ("hidden", &hidden), ("loss", &loss)]);
    let expected = r##"digraph gradients {
  node [shape=box, style="rounded,filled", fillcolor="#f6f8fa", fontname="monospace", fontsize=10];
  edge [fontname="monospace", fontsize=9];
  label="4 calls, 1 leaf, 160 bytes saved";
  n0 [label="aten::sum\lloss float64 []\l"];
  n1 [label="aten::mul.Tensor\lfloat64 [2, 4]\lsaves self float64 [2, 4], 64 bytes\l"];
  n2 [label="aten::relu\lhidden float64 [2, 4]\lsaves result float64 [2, 4], 64 bytes\l"];
  n3 [label="aten::mm\lfloat64 [2, 4]\lsaves mat2 float64 [3, 4], 96 bytes\l"];
  n4 [label="w\lfloat64 [2, 3]\l", fillcolor="#ddf4ff"];
  n0 -> n1;
  n1 -> n2;
  n1 -> n2;
  n2 -> n3;
  n3 -> n4;
}
"##;
    assert_eq!(graph.to_dot(), expected);
    let expected = "4 calls, 1 leaf, 160 bytes saved
[0] aten::sum `loss` float64 []
  [1] aten::mul.Tensor float64 [2, 4]; saves self float64 [2, 4], 64 bytes
    [2] aten::relu `hidden` float64 [2, 4]; saves result float64 [2, 4], 64 bytes
      [3] aten::mm float64 [2, 4]; saves mat2 float64 [3, 4], 96 bytes
        [4] leaf `w` float64 [2, 3]
    [2] aten::relu `hidden` float64 [2, 4], above
";
    assert_eq!(graph.to_string(), expected);
    // The picture outlives what it shows, and a graph that was used says so.
    loss.backward()?;
    assert_eq!(graph.saved_bytes(), 160);
    let used = graph_of(&loss, &[]);
    assert_eq!((used.calls(), used.saved_bytes()), (4, 0));
    assert!(used.nodes().iter().filter(|node| !node.is_leaf).all(|node| node.is_freed));
    assert!(used.to_string().contains("[1] aten::mul.Tensor float64 [2, 4]; freed"), "{used}");
    Ok(())
}

#[test]
fn shared_nodes_and_memory_are_counted_once() -> Result<()> {
    let x = leaf(&[100]);
    let mut y = x.exp()?;
    for _ in 0..10 {
        // Twice as many ways to the leaf each time.
        y = y.mul(&y)?;
    }
    let graph = graph_of(&y, &[]);
    assert_eq!((graph.calls(), graph.leaves(), graph.nodes().len()), (11, 1, 12));
    assert_eq!(graph.saved_bytes(), 10 * 800, "the result of `exp` is that of the first `mul`'s argument");
    assert_eq!(graph.to_dot().matches("label=\"aten::exp").count(), 1);
    // Views of one memory.
    let parts: Vec<Tensor> = x.mul(&x)?.chunk(4, 0)?;
    let parts: Vec<&Tensor> = parts.iter().collect();
    let graph = autograd::graph(&parts, &GraphOptions::default())?;
    assert_eq!((graph.saved_bytes(), graph.results().len()), (800, 1), "{graph}");
    assert!(graph.to_string().contains("result 0 float64 [25]"), "{graph}");
    Ok(())
}

#[test]
fn results_of_several_and_leaves_as_results() -> Result<()> {
    let (x, y) = (leaf(&[4]), leaf(&[2]));
    let (top, _) = ops::Topk.call(&x, 2, -1, true, true)?;
    let z = top.mul(&y)?;
    let graph = autograd::graph(&[&z, &x], &GraphOptions { names: &[("x", &x)], ..Default::default() })?;
    assert_eq!((graph.calls(), graph.leaves(), graph.results().len()), (2, 2, 2));
    assert!(graph.to_dot().contains("[label=\"result 0\"]"), "{}", graph.to_dot());
    let node = graph.nodes().iter().find(|node| node.name == "aten::topk").unwrap();
    assert_eq!(node.results.len(), 2);
    assert_eq!(node.results[0].shape, Some((vec![2], DType::F64)));
    assert!(node.saved.iter().any(|saved| saved.name == "result 1" && saved.dtype == DType::I64));
    let error = autograd::graph(&[&x, &x.detach()?], &GraphOptions::default()).unwrap_err();
    assert!(error.message().contains("result 1 requires no gradient"), "{error}");
    assert_eq!(
        autograd::graph(&[], &GraphOptions::default())?.to_string(),
        "0 calls, 0 leaves, 0 bytes saved\n"
    );
    Ok(())
}

#[test]
fn views_and_writes() -> Result<()> {
    let (x, y) = (leaf(&[3, 4]), leaf(&[4]));
    let base = x.mul(&Tensor::number(2.0))?;
    let row = base.select(0, 1)?;
    row.mul_(&y)?;
    let graph = graph_of(&base.sum()?, &[("x", &x), ("y", &y)]);
    let text = graph.to_string();
    assert!(text.contains("aten::mul_.Tensor"), "{text}");
    assert!(text.contains("leaf `x`") && text.contains("leaf `y`"), "{text}");
    let graph = graph_of(&row, &[]);
    assert!(graph.to_string().contains("[0] view float64 [4]"), "{graph}");
    // In place, a second time: each call is a node.
    let z = x.exp()?;
    z.add_(&y)?.mul_(&y)?;
    let graph = graph_of(&z, &[]);
    let names: Vec<&str> = graph.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(&names[..3], ["aten::mul_.Tensor", "aten::add_.Tensor", "aten::exp"], "{graph}");
    Ok(())
}

#[test]
fn names_are_text_and_nothing_else() -> Result<()> {
    let x = leaf(&[1]);
    let name = "a\"b\\c\n<i>&'\u{1}語";
    let y = autograd::custom(
        "<script>\"",
        &[&x],
        || Ok((vec![x.detach()?.exp()?], vec![])),
        |grads, _| Ok(vec![grads.for_result(0).cloned()]),
    )?;
    let graph = graph_of(&y[0], &[(name, &x)]);
    let dot = graph.to_dot();
    assert!(dot.contains(r#"label="a\"b\\c\l<i>&'"#) && dot.contains(r#"label="<script>\"\l"#), "{dot}");
    for text in [graph.to_svg(), graph.to_html()] {
        assert!(!text.contains("<i>") && !text.contains("<script") && !text.contains('\u{1}'), "{text}");
        assert!(text.contains("&lt;script&gt;&quot;") && text.contains("&lt;i&gt;&amp;&#39;"), "{text}");
        assert!(text.contains('語'));
    }
    assert!(!graph.to_string().contains("\n<i>"), "{graph}");
    Ok(())
}

#[test]
fn a_chain_of_a_million_calls_is_cut() -> Result<()> {
    let x = leaf(&[1]);
    let mut y = x.neg()?;
    for _ in 1..1_000_000 {
        y = y.neg()?;
    }
    let graph = graph_of(&y, &[]);
    assert_eq!((graph.calls(), graph.leaves(), graph.saved_bytes()), (1_000_000, 1, 0));
    assert_eq!((graph.nodes().len(), graph.hidden()), (200, 999_801));
    assert!(graph.to_string().ends_with("cut: 999801 more nodes are not shown\n"), "{graph}");
    assert!(graph.to_dot().contains("999801 more nodes not shown") && graph.to_dot().contains("n199 -> cut"));
    assert!(graph.to_svg().contains("the 200 nearest to the results are shown, 999801 more are not"));
    let all = autograd::graph(&[&y], &GraphOptions { limit: usize::MAX, ..Default::default() })?;
    assert_eq!((all.nodes().len(), all.hidden()), (1_000_001, 0));
    assert_eq!(all.to_string().lines().count(), 1_000_002);
    Ok(())
}

#[test]
fn what_is_computed_again_takes_no_memory() -> Result<()> {
    let x = leaf(&[100]);
    let given = x.detach()?;
    let function = |x: &[Tensor]| Ok(vec![x[0].exp()?.sin()?.mul(&x[0])?]);
    let plain = graph_of(&function(std::slice::from_ref(&x))?[0], &[]);
    let y = checkpoint(function, std::slice::from_ref(&x), CheckpointOptions::default())?;
    let graph = graph_of(&y[0], &[]);
    assert_eq!((plain.saved_bytes(), graph.saved_bytes()), (3 * 800, 800));
    assert_eq!(plain.calls(), graph.calls());
    assert!(graph.to_string().contains("saves result float64 [100], computed again"), "{graph}");
    // The input is that of the outer one, which computes it again.
    let nested = checkpoint(
        move |x| checkpoint(function, &[x[0].mul(&given)?], CheckpointOptions::default()),
        &[x],
        CheckpointOptions::default(),
    )?;
    let graph = graph_of(&nested[0], &[]);
    assert_eq!(graph.saved_bytes(), 800, "{graph}");
    Ok(())
}
