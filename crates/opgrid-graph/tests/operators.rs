//! Every operator's samples: traced, replayed, as text, JSON and archive, and after each pass, they give what the operator gave.
//!
//! A program of its own: random operators draw from the default stream, which belongs to the process.

use std::collections::BTreeMap;
use std::path::PathBuf;

use opgrid::dispatch::{Forms, List, TensorType};
use opgrid::samples::{Given, OperatorSamples, Plain, Sample};
use opgrid::{DType, Dispatcher, OperatorHandle, Result, Tensor, Value};
use opgrid_graph::{Archive, Graph, Program, Trace, find_target, passes, read};

/// A pass on an archive, by its name.
type Pass = (&'static str, fn(Archive) -> Result<Archive>);

/// Every pass, and all of them together.
const PASSES: [Pass; 10] = [
    ("remove_identities", |it| on_graph(it, passes::remove_identities)),
    ("fold_batch_norms", passes::fold_batch_norms),
    ("fold_constants", passes::fold_constants),
    ("share_repeats", |it| on_graph(it, passes::share_repeats)),
    ("remove_dead_code", |it| on_graph(it, passes::remove_dead_code)),
    ("propagate_types", |it| on_graph(it, passes::propagate_types)),
    ("decompose", passes::decompose),
    ("functionalize", passes::functionalize),
    ("optimize", passes::optimize),
    ("everything", |it| passes::optimize(passes::functionalize(passes::decompose(it)?)?)),
];

fn on_graph(archive: Archive, pass: fn(Graph) -> Result<Graph>) -> Result<Archive> {
    Ok(Archive::new(pass(archive.graph)?, archive.tensors))
}

/// The same program with tensors of the same handles.
fn copied(archive: &Archive) -> Archive {
    Archive::new(archive.graph.clone(), archive.tensors.clone())
}

/// A file that is removed again, in memory where the system has a folder for that.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        Self(folder.join(format!("opgrid-operators-{}-{name}.pt2", std::process::id())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The tensors of a sample, in its order.
fn tensors(sample: &Sample) -> Result<Vec<Tensor>> {
    sample.arguments().flat_map(Given::tensors).map(Plain::to_tensor).collect()
}

/// The arguments of a call with these tensors in place of the sample's.
fn arguments(sample: &Sample, tensors: &[Tensor]) -> (Vec<Value>, Vec<(String, Value)>) {
    let mut next = tensors.iter().map(|tensor| tensor.as_any().clone());
    let mut value = |given: &Given| match given {
        Given::Tensor(_) => Value::Tensor(next.next().unwrap()),
        Given::Tensors(all) => Value::from(List::Tensors(all.iter().map(|_| next.next().unwrap()).collect())),
        Given::OptionalTensors(all) => Value::from(List::OptionalTensors(
            all.iter().map(|gap| gap.as_ref().map(|_| next.next().unwrap())).collect(),
        )),
        Given::Value(value) => value.clone(),
    };
    let positional = sample.positional.iter().map(&mut value).collect();
    let named = sample.keyword.iter().map(|(name, given)| (name.clone(), value(given))).collect();
    (positional, named)
}

/// The tensors among results.
fn flat(results: Vec<Value>) -> Result<Vec<Tensor>> {
    let mut flat = Vec::new();
    for result in results {
        match result {
            Value::Tensor(tensor) => flat.push(Tensor::try_from(tensor)?),
            Value::List(list) => {
                for item in list.values() {
                    if let Value::Tensor(tensor) = item {
                        flat.push(Tensor::try_from(tensor)?);
                    }
                }
            }
            _ => {}
        }
    }
    flat.retain(Tensor::is_defined);
    Ok(flat)
}

fn texts(tensors: &[Tensor]) -> Result<Vec<String>> {
    tensors.iter().map(|tensor| Plain::from_tensor(tensor).map(|plain| plain.to_string())).collect()
}

/// What torch.export has no form for.
const WITHOUT_FORM: [&str; 1] = ["torch.export has no form for"];

struct Count {
    file: File,
    replayed: usize,
    /// How many were written as archives and read again.
    written: usize,
    /// Why samples were not written.
    unwritten: BTreeMap<&'static str, usize>,
    /// Why samples were not replayed.
    left: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

fn check(dispatcher: &Dispatcher, operator: &OperatorSamples, dtype: DType, count: &mut Count) -> Result<()> {
    let handle = dispatcher.find(operator.name())?;
    for sample in operator.samples(dtype).iter().take(12) {
        let call = |inputs: &[Tensor]| {
            opgrid::manual_seed(7);
            let (positional, named) = arguments(sample, inputs);
            flat(handle.call_with(positional, named)?)
        };
        let Ok(inputs) = tensors(sample) else { continue };
        let Ok(expected) = call(&inputs).and_then(|results| texts(&results)) else {
            *count.left.entry("the call is refused").or_default() += 1;
            continue;
        };
        if expected.is_empty() {
            *count.left.entry("there are no tensors among the results").or_default() += 1;
            continue;
        }
        let inputs = tensors(sample)?;
        let program =
            Trace::new().guard_reads().run(&inputs.iter().collect::<Vec<_>>(), |inputs| call(inputs));
        let program = match program {
            Ok(program) => program,
            Err(error) if error.message().contains("generator") => {
                *count.left.entry("it is given a generator").or_default() += 1;
                continue;
            }
            Err(error) if error.message().contains("changed in place") => {
                *count.left.entry("it changes sizes in place").or_default() += 1;
                continue;
            }
            Err(error) => {
                count.wrong.push(format!("{} {sample}: {error}", operator.name()));
                continue;
            }
        };
        let compare = |what: &str, program: &Program| {
            opgrid::manual_seed(7);
            let inputs = tensors(sample).unwrap();
            let found = program.run(&inputs.iter().collect::<Vec<_>>()).and_then(|results| texts(&results));
            let is_wrong = found.as_ref().ok() != Some(&expected);
            is_wrong.then(|| format!("{} {sample} {what}: {found:?}, expected {expected:?}", operator.name()))
        };
        count.wrong.extend(compare("replayed", &program));
        count.replayed += 1;
        let graph = program.graph();
        let text = graph.to_string();
        let tensors: BTreeMap<String, Tensor> = program.constants().into_iter().collect();
        // Graphs with a number that is none are not equal to themselves.
        match text.parse::<Graph>() {
            Ok(again) if again == *graph || again.to_string() == text => {}
            Ok(again) => count.wrong.push(format!("{}: {text} is read as {again}", operator.name())),
            Err(error) => count.wrong.push(format!("{}: {text}: {error}", operator.name())),
        }
        let json = graph.to_json().to_string();
        match serde_json::from_str(&json).map(|json| Graph::from_json(&json)) {
            Ok(Ok(again)) if again == *graph || again.to_string() == text => {}
            other => count.wrong.push(format!("{}: {json} is read as {other:?}", operator.name())),
        }
        let archive = Archive::new(graph.clone(), tensors);
        match archive.write(&count.file.0).and_then(|()| read(&count.file.0)) {
            Ok(again) => {
                let program = Program::new(again.graph, again.tensors);
                match program {
                    Ok(program) => count.wrong.extend(compare("written", &program)),
                    Err(error) => count.wrong.push(format!("{} {sample} written: {error}", operator.name())),
                }
                count.written += 1;
            }
            Err(error) => {
                let known = WITHOUT_FORM.iter().find(|part| error.message().contains(**part));
                match known {
                    Some(part) => *count.unwritten.entry(part).or_default() += 1,
                    None => count.wrong.push(format!("{} {sample} written: {error}", operator.name())),
                }
            }
        }
        for (name, pass) in PASSES {
            let after =
                pass(copied(&archive)).and_then(|archive| Program::new(archive.graph, archive.tensors));
            match after {
                Ok(program) => count.wrong.extend(compare(name, &program)),
                // They change which memory a tensor has.
                Err(_) if ["aten::set_", "aten::resize_as_"].contains(&operator.name()) => {}
                Err(error) => count.wrong.push(format!("{} {sample} {name}: {error}", operator.name())),
            }
        }
    }
    Ok(())
}

#[test]
fn samples_of_all_operators_are_traced_and_replayed() {
    opgrid::ops::ensure_registered().unwrap();
    let dispatcher = Dispatcher::current();
    let samples = opgrid_operators::samples();
    let mut count = Count {
        file: File::new("samples"),
        replayed: 0,
        written: 0,
        unwritten: BTreeMap::new(),
        left: BTreeMap::new(),
        wrong: Vec::new(),
    };
    for operator in samples.operators() {
        for dtype in [DType::F32, DType::I64, DType::Bool, DType::Complex64] {
            if operator.dtypes().contains(&dtype) {
                check(&dispatcher, operator, dtype, &mut count).unwrap();
            }
        }
    }
    println!("{} samples replayed; left out: {:?}", count.replayed, count.left);
    println!("{} written as archives; not written: {:?}", count.written, count.unwritten);
    let shown = count.wrong.iter().take(40).map(|wrong| wrong.chars().take(400).collect::<String>());
    assert!(count.wrong.is_empty(), "{} wrong:\n{}", count.wrong.len(), shown.collect::<Vec<_>>().join("\n"));
    assert!(count.replayed > 5000, "{} samples replayed", count.replayed);
    assert!(count.written * 10 > count.replayed * 9, "{} samples written", count.written);
}

/// The dtypes of elements in fused loops.
const FUSED: [DType; 8] =
    [DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32, DType::I64, DType::U8, DType::Bool];

#[test]
fn fused_samples_have_the_bits_and_strides_of_eager_code() {
    opgrid::ops::ensure_registered().unwrap();
    let dispatcher = Dispatcher::current();
    let (mut wrong, mut fused, mut reasons) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let samples = opgrid_operators::samples();
    for operator in samples.operators() {
        if !passes::fusible_operators().any(|name| name == operator.name()) {
            continue;
        }
        let handle = dispatcher.find(operator.name()).unwrap();
        for dtype in FUSED.into_iter().filter(|dtype| operator.dtypes().contains(dtype)) {
            for sample in operator.samples(dtype) {
                let call = |inputs: &[Tensor]| {
                    let (positional, named) = arguments(&sample, inputs);
                    flat(handle.call_with(positional, named)?)
                };
                let inputs = tensors(&sample).unwrap();
                let Ok(expected) = call(&inputs) else { continue };
                let inputs: Vec<&Tensor> = inputs.iter().collect();
                let program = Trace::new().run(&inputs, call).unwrap();
                let graph = passes::propagate_types(program.graph().clone()).unwrap();
                let fusion = passes::fuse_from(graph, 1).unwrap();
                for unfused in fusion.unfused {
                    *reasons.entry(format!("{}: {}", unfused.target, unfused.reason)).or_insert(0) += 1;
                }
                let program = Program::new(fusion.graph, program.constants().into_iter().collect()).unwrap();
                let found = program.run(&inputs).unwrap();
                let describe = |tensors: &[Tensor]| -> Vec<String> {
                    let texts = texts(tensors).unwrap();
                    let each = texts.iter().zip(tensors);
                    each.map(|(text, tensor)| format!("{text} {:?} {:?}", tensor.strides(), tensor.dtype()))
                        .collect()
                };
                let runs: u64 = program.report().groups.iter().map(|group| group.fused_runs).sum();
                *fused.entry(operator.name().to_owned()).or_insert(0) += runs;
                if describe(&found) != describe(&expected) {
                    wrong.push(format!(
                        "{} {sample}: {:?}, expected {:?}",
                        operator.name(),
                        describe(&found),
                        describe(&expected)
                    ));
                }
            }
        }
    }
    println!("fused runs: {fused:?}; not fused: {reasons:?}");
    let shown = wrong.iter().take(40).map(|wrong| wrong.chars().take(400).collect::<String>());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), shown.collect::<Vec<_>>().join("\n"));
    let idle = passes::fusible_operators().filter(|name| fused.get(*name).is_none_or(|runs| *runs == 0));
    assert_eq!(idle.collect::<Vec<_>>(), Vec::<&str>::new(), "operators that no sample fuses");
}

/// The overload that writes its first argument, if there is one.
fn in_place(dispatcher: &Dispatcher, operator: &OperatorHandle) -> Option<OperatorHandle> {
    let forms = operator.column::<Forms>().unwrap()?;
    dispatcher.find(&forms.in_place.as_ref()?.to_string()).ok()
}

#[test]
fn overloads_that_write_become_pure() {
    opgrid::ops::ensure_registered().unwrap();
    let dispatcher = Dispatcher::current();
    let (mut count, mut operators, mut wrong) = (0, 0, Vec::new());
    for operator in opgrid_operators::samples().operators() {
        let Some(written) = in_place(&dispatcher, &dispatcher.find(operator.name()).unwrap()) else {
            continue;
        };
        operators += 1;
        for dtype in [DType::F32, DType::I64, DType::Bool, DType::Complex64] {
            if !operator.dtypes().contains(&dtype) {
                continue;
            }
            for sample in operator.samples(dtype).iter().take(6) {
                let call = |inputs: &[Tensor]| {
                    opgrid::manual_seed(7);
                    let (positional, named) = arguments(sample, inputs);
                    flat(written.call_with(positional, named)?)
                };
                let Ok(inputs) = tensors(sample) else { continue };
                if inputs.is_empty() || call(&inputs).is_err() {
                    continue;
                }
                let inputs = tensors(sample).unwrap();
                let program = Trace::new().guard_reads().run(&inputs.iter().collect::<Vec<_>>(), call);
                let Ok(program) = program else { continue };
                let run = |program: &Program| -> Result<Vec<String>> {
                    opgrid::manual_seed(7);
                    let inputs = tensors(sample)?;
                    let results = program.run(&inputs.iter().collect::<Vec<_>>())?;
                    texts(&[results, inputs].concat())
                };
                let expected = run(&program).unwrap();
                let constants = program.constants().into_iter().collect();
                let pure = passes::functionalize(Archive::new(program.graph().clone(), constants));
                let found = pure.and_then(|pure| {
                    for target in pure.graph.targets().into_keys() {
                        let is_written = find_target(target)?
                            .is_some_and(|it| it.schema().is_ok_and(|it| it.is_mutable()));
                        assert!(!is_written, "{target} writes in {}", pure.graph);
                    }
                    run(&Program::new(pure.graph, pure.tensors)?)
                });
                count += 1;
                match found {
                    Ok(found) if found == expected => {}
                    other => {
                        wrong.push(format!("{} {sample}: {other:?}, expected {expected:?}", written.name()))
                    }
                }
            }
        }
    }
    println!("{count} samples of {operators} operators that have an overload in place");
    let shown = wrong.iter().take(40).map(|wrong| wrong.chars().take(500).collect::<String>());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), shown.collect::<Vec<_>>().join("\n"));
    assert!(count > 1000, "{count} samples");
}

/// Operators that look at elements and give results whose sizes do not depend on them; `one_hot` where it is told the number of
/// classes.
const SIZES_ARE_KNOWN: [&str; 11] = [
    "aten::_ctc_loss.Tensor",
    "aten::_ctc_loss_backward.Tensor",
    "aten::_foreach_addcdiv.Tensor",
    "aten::_foreach_addcmul.Tensor",
    "aten::ctc_loss.Tensor",
    "aten::masked_scatter_backward",
    "aten::narrow.Tensor",
    "aten::one_hot",
    "aten::pin_memory",
    "aten::randint_like.Tensor",
    "aten::where.self",
];

#[test]
fn sizes_that_depend_on_elements_are_symbols() {
    opgrid::ops::ensure_registered().unwrap();
    let dispatcher = Dispatcher::current();
    let (mut fixed, mut wrong, mut count) = (Vec::new(), Vec::new(), 0);
    for operator in opgrid_operators::samples().operators().iter().filter(|it| !it.is_on_meta()) {
        let handle = dispatcher.find(operator.name()).unwrap();
        for dtype in operator.dtypes() {
            for sample in operator.samples(*dtype) {
                let call = |inputs: &[Tensor]| {
                    let (positional, named) = arguments(&sample, inputs);
                    flat(handle.call_with(positional, named)?)
                };
                let Ok(expected) = call(&tensors(&sample).unwrap()) else { continue };
                let inputs = tensors(&sample).unwrap();
                // What gives other values than tensors, or numbers of results that depend on elements, is refused.
                let Ok(program) = Trace::new().run(&inputs.iter().collect::<Vec<_>>(), call) else {
                    continue;
                };
                if program.graph().symbols.is_empty() {
                    fixed.push(operator.name().to_owned());
                    continue;
                }
                let found = program.run(&tensors(&sample).unwrap().iter().collect::<Vec<_>>());
                if found.and_then(|found| texts(&found)).ok() != texts(&expected).ok() {
                    wrong.push(format!("{} {sample}: {}", operator.name(), program.graph()));
                }
                count += 1;
            }
        }
    }
    fixed.sort();
    fixed.dedup();
    let fixed: Vec<_> = fixed.iter().filter(|name| !SIZES_ARE_KNOWN.contains(&name.as_str())).collect();
    assert!(fixed.is_empty(), "traced with sizes that depend on elements: {fixed:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "{count} samples");
}

#[test]
fn random_numbers_are_drawn_as_often_as_before() {
    opgrid::ops::ensure_registered().unwrap();
    let dispatcher = Dispatcher::current();
    let (mut shared, mut count) = (Vec::new(), 0);
    for operator in opgrid_operators::samples().operators() {
        let handle = dispatcher.find(operator.name()).unwrap();
        for sample in operator.samples(DType::F32).iter().take(4) {
            let call = |inputs: &[Tensor]| {
                let (positional, named) = arguments(sample, inputs);
                flat(handle.call_with(positional, named)?)
            };
            let seeded = |seed| {
                opgrid::manual_seed(seed);
                call(&tensors(sample)?).and_then(|results| texts(&results))
            };
            // An operator whose results depend on the seed draws numbers.
            let [Ok(one), Ok(another)] = [1, 2].map(seeded) else { continue };
            if one == another {
                continue;
            }
            let inputs = tensors(sample).unwrap();
            // Copies are results of their own, which the pass would leave alone.
            let twice = |inputs: &[Tensor]| {
                let results = [call(inputs)?, call(inputs)?].concat();
                results.iter().map(|result| result.mul(1)).collect::<Result<Vec<_>>>()
            };
            let program = Trace::new().guard_reads().run(&inputs.iter().collect::<Vec<_>>(), twice);
            let Ok(program) = program else { continue };
            count += 1;
            let graph = passes::share_repeats(program.graph().clone()).unwrap();
            if graph.targets().get(operator.name()) != Some(&2) {
                shared.push(operator.name().to_owned());
            }
        }
    }
    assert!(shared.is_empty(), "called once instead of twice: {shared:?}");
    assert!(count > 20, "{count} samples");
}
