//! Composites taken apart, types found by operators, and groups of nodes: programs stay what they are.

use std::collections::{BTreeMap, BTreeSet};

use opgrid::samples::Plain;
use opgrid::{DispatchKey, Tensor, Value};
use opgrid_graph::{Argument, Block, Graph, Outcome, Program, ValueType, check, find_target, passes};

use crate::exported;

/// What a program gives, to the last bit.
fn results(program: &Program, name: &str) -> Vec<String> {
    let results = program
        .run_values(exported::inputs(program.graph(), name))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let text = |value: &Value| match value {
        Value::Tensor(tensor) => {
            Plain::from_tensor(&Tensor::try_from(tensor.clone()).unwrap()).unwrap().to_string()
        }
        other => other.to_string(),
    };
    results.iter().map(text).collect()
}

#[test]
fn types_of_sound_programs_contradict_nothing() {
    for name in exported::names() {
        let errors = check(&exported::archive(&name).graph).unwrap();
        assert!(errors.is_empty(), "{name}: {}", errors[0]);
    }
}

/// Forgets what nodes give.
fn forget(block: &mut Block) {
    for node in &mut block.nodes {
        for outcome in &mut node.results {
            let variables = match outcome {
                Outcome::One(variable) => std::slice::from_mut(variable),
                Outcome::List(variables) => variables.as_mut_slice(),
                Outcome::Unused => continue,
            };
            variables.iter_mut().for_each(|variable| variable.kind = ValueType::Unknown);
        }
    }
}

#[test]
fn forgotten_types_are_found_again() {
    let (mut found, mut all) = (0, 0);
    for name in exported::names() {
        let graph = exported::archive(&name).graph;
        let mut forgotten = graph.clone();
        forget(&mut forgotten.block);
        let again = passes::propagate_types(forgotten).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (before, after) in graph.block.nodes.iter().zip(&again.block.nodes) {
            let operator = !before.target.starts_with("higher_order::");
            for (before_variable, variable) in before.variables().zip(after.variables()).filter(|_| operator)
            {
                // Sizes that depend on elements follow from no type.
                all += usize::from(name != "elements");
                if variable.kind == ValueType::Unknown {
                    continue;
                }
                found += usize::from(name != "elements");
                // Expressions may be written in another way.
                let is_same = |a: &ValueType, b: &ValueType| match (a, b) {
                    (ValueType::Tensor(a), ValueType::Tensor(b)) => {
                        a.dtype == b.dtype && a.sizes.len() == b.sizes.len()
                    }
                    (ValueType::Int(_), ValueType::Int(_)) => true,
                    (a, b) => a == b,
                };
                assert!(
                    is_same(&before_variable.kind, &variable.kind),
                    "{name}: {before_variable} {variable}"
                );
            }
        }
        // What was declared is what is found.
        assert_eq!(passes::propagate_types(graph.clone()).unwrap(), graph, "{name}");
    }
    println!("{found} of {all} types found");
    assert!(found * 10 > all * 9, "{found} of {all} types found");
}

#[test]
fn composites_are_taken_apart() {
    let mut opened = BTreeSet::new();
    for name in exported::names() {
        let before = exported::archive(&name);
        let targets: BTreeSet<String> = before.graph.targets().into_keys().map(str::to_owned).collect();
        let program = Program::new(before.graph.clone(), before.tensors.clone()).unwrap();
        let expected = results(&program, &name);
        let before = exported::archive(&name);
        let mut after = passes::decompose(before).unwrap_or_else(|error| panic!("{name}: {error}"));
        after.graph = passes::propagate_types(after.graph).unwrap();
        let errors = check(&after.graph).unwrap();
        assert!(errors.is_empty(), "{name}: {}\n{}", errors[0], after.graph);
        let left = after.graph.targets();
        // Autocast goes by the names of operators, so that they stay.
        let is_cast = left.contains_key("higher_order::wrap_with_autocast");
        for target in left.keys().filter(|_| !is_cast) {
            let Some(operator) = find_target(target).unwrap() else { continue };
            let gives_numbers = !operator
                .schema()
                .unwrap()
                .returns
                .iter()
                .any(|given| given.real_type.to_string().contains("Tensor"));
            let is_composite =
                operator.has_kernel_for(DispatchKey::CompositeImplicitAutograd) && !gives_numbers;
            // torch's core has the overloads for numbers.
            assert!(!is_composite || target.ends_with(".Scalar"), "{name}: {target} is left");
        }
        opened.extend(targets.into_iter().filter(|target| !left.contains_key(target.as_str())));
        let program =
            Program::new(after.graph, after.tensors).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(results(&program, &name), expected, "{name}");
    }
    println!("taken apart: {opened:?}");
    assert!(opened.len() > 12, "{opened:?}");
}

#[test]
fn programs_for_other_sizes_are_taken_apart() {
    let before = Program::load(exported::path("mlp")).unwrap();
    let after = passes::decompose(exported::archive("mlp")).unwrap();
    let after = Program::new(after.graph, after.tensors).unwrap();
    for rows in [2i64, 5, 64] {
        let values: Vec<f32> = (0..rows * 8).map(|index| (index as f32 * 0.3).cos()).collect();
        let x = Tensor::from_slice(&values, &[rows, 8]).unwrap();
        let (expected, found) = (before.run(&[&x]).unwrap(), after.run(&[&x]).unwrap());
        assert_eq!(expected[0].to_vec::<f32>().unwrap(), found[0].to_vec::<f32>().unwrap());
    }
}

#[test]
fn groups_can_run_as_one() {
    let mut all = 0;
    for name in exported::names() {
        let graph = passes::propagate_types(exported::archive(&name).graph).unwrap();
        let groups = passes::fusible_groups(&graph).unwrap();
        all += groups.len();
        let mut unit: BTreeMap<usize, usize> =
            (0..graph.block.nodes.len()).map(|node| (node, node)).collect();
        for group in &groups {
            assert!(group.nodes.len() > 1 && !group.outputs.is_empty(), "{name}: {group:?}");
            for node in &group.nodes {
                unit.insert(*node, group.nodes[0]);
                let kind = &graph.block.nodes[*node].variables().next().unwrap().kind;
                assert!(
                    matches!(kind, ValueType::Tensor(tensor) if tensor.sizes == group.sizes),
                    "{name}: {kind}"
                );
            }
        }
        // With groups as nodes the graph has no circle: something can always run.
        let mut makers = BTreeMap::new();
        let mut needs: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (place, node) in graph.block.nodes.iter().enumerate() {
            let given = node.arguments().flat_map(Argument::references).filter_map(|name| makers.get(name));
            let given: BTreeSet<usize> = given.copied().filter(|maker| *maker != unit[&place]).collect();
            needs.entry(unit[&place]).or_default().extend(given);
            makers.extend(node.variables().map(|variable| (variable.name.as_str(), unit[&place])));
        }
        while !needs.is_empty() {
            let ready: Vec<usize> =
                needs.iter().filter(|(_, needs)| needs.is_empty()).map(|(unit, _)| *unit).collect();
            assert!(!ready.is_empty(), "{name}: a circle among {needs:?}");
            for unit in ready {
                needs.remove(&unit);
                needs.values_mut().for_each(|needs| {
                    needs.remove(&unit);
                });
            }
        }
    }
    assert!(all >= 4, "{all} groups");
}

#[test]
fn a_node_between_two_others_keeps_them_apart() {
    let graph: Graph = "graph(%x: float32[4, 4] = input) takes ((*,), {}) gives * {
        %a: float32[4, 4] = aten::exp(%x)
        %b: float32[4, 4] = aten::mm(%a, %a)
        %c: float32[4, 4] = aten::add.Tensor(%a, %b)
        %d: float32[4, 4] = aten::neg(%c)
        %e: float32[4] = aten::sum.dim_IntList(%d, [0])
        %f: float32[4] = aten::sin(%e)
        return %f
    }"
    .parse()
    .unwrap();
    let groups = passes::fusible_groups(&graph).unwrap();
    assert_eq!(groups.iter().map(|group| group.nodes.clone()).collect::<Vec<_>>(), [[2, 3]]);
}
