//! Every operator on the CPU: all samples, dtypes and checks, and none left out.
//!
//! For work on one operator: `OPERATORS=aten::mul cargo test -p opgrid-testing --test cpu`, on some `OPERATORS=aten::mul,aten::div`;
//! all whose names begin so. Derivatives alone: `… --test cpu gradients -- --nocapture`.

use std::collections::BTreeSet;

use opgrid_core::{DispatchKey, Dispatcher, Forms, Kind, OperatorHandle, Reason, Registration, SlowPath};
use opgrid_samples::Samples;
use opgrid_tensor::families::kind;
use opgrid_tensor::layers::vmap::BatchingRule;
use opgrid_tensor::layers::{autograd, fake};
use opgrid_testing::{Check, Suite};

fn operators() -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let mut registration = opgrid_tensor::register(&dispatcher).unwrap();
    registration.join(autograd::install(&dispatcher).unwrap());
    registration.join(fake::install(&dispatcher).unwrap());
    registration.join(opgrid_transforms::install(&dispatcher).unwrap());
    (dispatcher, registration)
}

/// The operators that `OPERATORS` names; without it all.
fn wanted() -> Option<String> {
    std::env::var("OPERATORS").ok().filter(|names| !names.is_empty())
}

/// The samples of those.
fn wanted_samples() -> Samples {
    let samples = opgrid_operators::samples();
    match wanted() {
        Some(wanted) => samples.only(|name| wanted.split(',').any(|start| name.starts_with(start))),
        None => samples,
    }
}

#[test]
fn every_operator_passes_every_check() {
    let (dispatcher, _operators) = operators();
    let report = Suite::new(wanted_samples()).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
    assert!(report.total() > 0, "there is a sample of what `OPERATORS` names");
    if wanted().is_some() {
        return;
    }
    let checked: BTreeSet<Check> = report.counts().map(|(_, check, _)| check).collect();
    assert_eq!(checked, Check::ALL.iter().copied().collect(), "every check had something to check");
}

/// Overloads that write to an argument are found by the suite, so that they need no samples of their own.
#[test]
fn every_overload_has_samples_or_is_checked_with_another_one() {
    let (dispatcher, _operators) = operators();
    let samples = opgrid_operators::samples();
    let reached = Suite::new(samples).overloads(&dispatcher);
    // What steps of optimizers give is what they write: `tests/optimizers.rs` of the tensors compares them with their formulas.
    let is_step = |operator: &OperatorHandle| {
        operator.column::<Kind>().is_ok_and(|own| own.is_some_and(|own| *own == kind::OPTIMIZER))
    };
    let operators = dispatcher.operators();
    let all = operators.iter().filter(|operator| !is_step(operator));
    let all: BTreeSet<String> = all.map(|operator| operator.name().to_string()).collect();
    let left_out: Vec<&String> = all.difference(&reached).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

#[test]
fn gradients_of_every_operator_are_those_of_differences() {
    let (dispatcher, _operators) = operators();
    let dtypes = [opgrid_core::DType::F64, opgrid_core::DType::Complex128];
    let suite =
        Suite::new(wanted_samples()).dtypes(&dtypes).checks(&[Check::Gradients, Check::SecondGradients]);
    let report = suite.run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
}

/// Why a batch is one example after another.
const DEPENDS_ON_DATA: &str = "the sizes of the result depend on the data";
const HAS_OWN_BATCHES: &str =
    "a dimension of its own counts examples, which a further one would be mixed with";
const DEPENDS_ON_MASKS: &str = "the sizes of the result depend on the data where masks choose";

/// The operators that run once for each example of a batch, and why.
const LOOPS: [(&str, &str); 23] = [
    ("aten::_ctc_loss", HAS_OWN_BATCHES),
    ("aten::_ctc_loss_backward", HAS_OWN_BATCHES),
    ("aten::_unique", DEPENDS_ON_DATA),
    ("aten::_unique2", DEPENDS_ON_DATA),
    ("aten::argwhere", DEPENDS_ON_DATA),
    ("aten::bincount", DEPENDS_ON_DATA),
    ("aten::fractional_max_pool2d", HAS_OWN_BATCHES),
    ("aten::fractional_max_pool3d", HAS_OWN_BATCHES),
    ("aten::index.Tensor", DEPENDS_ON_MASKS),
    ("aten::masked_select", DEPENDS_ON_DATA),
    ("aten::multi_margin_loss", HAS_OWN_BATCHES),
    ("aten::multi_margin_loss_backward", HAS_OWN_BATCHES),
    ("aten::multilabel_margin_loss_backward", HAS_OWN_BATCHES),
    ("aten::multilabel_margin_loss_forward", HAS_OWN_BATCHES),
    ("aten::nonzero", DEPENDS_ON_DATA),
    ("aten::nonzero_numpy", DEPENDS_ON_DATA),
    ("aten::nonzero_static", DEPENDS_ON_DATA),
    ("aten::renorm", HAS_OWN_BATCHES),
    ("aten::repeat_interleave.Tensor", DEPENDS_ON_DATA),
    ("aten::unique_consecutive", DEPENDS_ON_DATA),
    ("aten::unique_dim", DEPENDS_ON_DATA),
    ("aten::unique_dim_consecutive", DEPENDS_ON_DATA),
    ("aten::where", DEPENDS_ON_DATA),
];

/// The operators whose samples are refused in a batch, by what the error says.
const REFUSED: [(&str, &[&str]); 3] = [
    (
        "the result depends on the data",
        &[
            "aten::_ctc_loss.Tensor",
            "aten::_ctc_loss_backward.Tensor",
            "aten::_foreach_addcdiv.Tensor",
            "aten::_foreach_addcmul.Tensor",
            "aten::cov",
            "aten::ctc_loss.Tensor",
            "aten::narrow.Tensor",
            "aten::one_hot",
            "aten::tensor_split.tensor_indices_or_sections",
        ],
    ),
    (
        "what stands for the examples of a batch keeps its sizes",
        &[
            "aten::as_strided_",
            "aten::resize_",
            "aten::resize_as_",
            "aten::set_",
            "aten::set_.source_Tensor",
            "aten::set_.source_Tensor_storage_offset",
            "aten::squeeze_",
            "aten::squeeze_.dim",
            "aten::squeeze_.dims",
            "aten::swapaxes_",
            "aten::swapdims_",
            "aten::t_",
            "aten::transpose_",
            "aten::unsqueeze_",
        ],
    ),
    (
        "it may draw random numbers",
        &[
            "aten::native_dropout",
            "aten::rrelu",
            "aten::rrelu_",
            "aten::rrelu_with_noise",
            "aten::rrelu_with_noise_functional",
        ],
    ),
];

#[test]
fn batches_of_every_operator_are_those_of_a_loop() {
    let (dispatcher, _operators) = operators();
    let report = Suite::new(wanted_samples()).checks(&[Check::Batches]).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
    let counted = opgrid_core::stats().slow_paths;
    let counted = counted.iter().filter(|it| it.path == SlowPath::BATCH_LOOP);
    let loops: BTreeSet<String> = counted.map(|it| it.operator.to_string()).collect();
    let refused: BTreeSet<(&str, &str)> =
        report.skips().map(|(skip, _)| (skip.reason.as_str(), skip.operator.as_str())).collect();
    if wanted().is_some() {
        return println!("one by one: {loops:#?}, refused: {refused:#?}");
    }
    assert_eq!(loops, LOOPS.iter().map(|(name, _)| (*name).to_owned()).collect());
    let recorded = REFUSED.iter().flat_map(|(reason, names)| names.iter().map(|name| (*reason, *name)));
    assert_eq!(refused, recorded.collect());
}

/// The operators that have no form without writes, by what the error says.
const ONLY_WRITING: [(&str, &[&str]); 2] = [
    (
        "the sizes of the tensor would change",
        &[
            "aten::as_strided_",
            "aten::detach_",
            "aten::resize_",
            "aten::resize_as_",
            "aten::set_",
            "aten::set_.source_Tensor",
            "aten::set_.source_Tensor_storage_offset",
            "aten::squeeze_",
            "aten::squeeze_.dim",
            "aten::squeeze_.dims",
            "aten::swapaxes_",
            "aten::swapdims_",
            "aten::t_",
            "aten::transpose_",
            "aten::unsqueeze_",
        ],
    ),
    ("it reads the elements of a tensor", &["aten::tensor_split.tensor_indices_or_sections"]),
];

#[test]
fn operators_without_writes_give_what_they_give_in_place() {
    let (dispatcher, _operators) = operators();
    let report = Suite::new(wanted_samples()).checks(&[Check::Functional]).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
    if wanted().is_some() {
        return;
    }
    let refused: BTreeSet<(&str, &str)> =
        report.skips().map(|(skip, _)| (skip.reason.as_str(), skip.operator.as_str())).collect();
    let recorded = ONLY_WRITING.iter().flat_map(|(reason, names)| names.iter().map(|name| (*reason, *name)));
    assert_eq!(refused, recorded.collect());
}

/// Operators that write have another form, or a rule of their own.
#[test]
fn every_operator_has_a_rule_for_batches_or_is_made_of_others() {
    let (dispatcher, _operators) = operators();
    let is_covered = |operator: &OperatorHandle| -> opgrid_core::Result<bool> {
        let takes_tensors =
            operator.schema()?.arguments.iter().any(|it| it.real_type.to_string().contains("Tensor"));
        let made_of_others = Reason::Alias(DispatchKey::CompositeImplicitAutograd);
        let forms = operator.column::<Forms>()?;
        Ok(!takes_tensors
            || operator.column::<BatchingRule>()?.is_some()
            || operator.slot(DispatchKey::Cpu)?.reason == made_of_others
            || forms.is_some_and(|forms| forms.functional != *operator.name()))
    };
    let operators = dispatcher.operators();
    let uncovered: Vec<String> = operators
        .iter()
        .filter(|operator| !is_covered(operator).unwrap())
        .map(|operator| operator.name().to_string())
        .collect();
    assert!(uncovered.is_empty(), "{uncovered:?}");
}

#[test]
fn tangents_of_every_operator_are_those_of_differences() {
    let (dispatcher, _operators) = operators();
    let dtypes = [opgrid_core::DType::F64, opgrid_core::DType::Complex128];
    let report = Suite::new(wanted_samples()).dtypes(&dtypes).checks(&[Check::Tangents]).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
}
