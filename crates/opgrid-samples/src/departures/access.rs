//! Memory that arguments share.

use opgrid_core::DType;

use crate::{Argument, Difference, Directed, Operand, Part};

/// The differences from torch that come of it.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "outputs-that-repeat-elements",
        what: "torch writes to tensors with repeated elements in some operators; here they are rejected",
        why: "which value is kept would depend on the order of execution",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "outputs_that_repeat_or_share_elements_are_refused",
        ),
        when: |seen| {
            let words = "more than one element of the written-to tensor refers to a single";
            let running = ["running_mean", "running_var"].into_iter().filter_map(|name| seen.tensor(name));
            let repeats = seen.outs().chain(seen.written_operand()).chain(running).any(Operand::repeats);
            seen.we_refuse(words) && repeats
        },
        directed: None,
    },
    Difference {
        id: "outputs-that-are-one",
        what: "torch writes several results to one output, which keeps the last; here outputs that \
             share memory are rejected",
        why: "the caller asked for every result",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "outputs_that_repeat_or_share_elements_are_refused",
        ),
        when: |seen| {
            let memories = || seen.outs().map(|out| out.memory);
            let is_shared =
                memories().enumerate().any(|(at, one)| memories().take(at).any(|other| one == other));
            is_shared && seen.we_refuse("two outputs refer to the same memory")
        },
        directed: None,
    },
    Difference {
        id: "outputs-over-inputs",
        what: "torch writes outputs that share elements with an input in some operators that read the \
             input again; here they are rejected",
        why: "results would depend on the order of execution",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "outputs_that_repeat_or_share_elements_are_refused",
        ),
        when: |seen| {
            let words = "some elements of the input tensor and the written-to tensor refer";
            let shares = |out: &Operand| {
                let on_it = |(_, input): &&(&str, &Operand)| input.memory == out.memory && !input.is_empty();
                seen.tensors().iter().filter(on_it).count() > 1
            };
            seen.we_refuse(words) && seen.written_operand().is_some_and(shares)
        },
        directed: Some(Directed {
            operator: "aten::relu.out",
            arguments: || {
                vec![
                    ("self", Operand::strided(0, DType::F32, (&[3], &[1], 0), &[1.0, 2.0, 3.0]).into()),
                    ("out", Operand::strided(0, DType::F32, (&[3], &[1], 1), &[2.0, 3.0, 4.0]).into()),
                ]
            },
            needs: None,
        }),
    },
    Difference {
        id: "outputs-without-elements-share-none",
        what: "torch rejects empty outputs whose memory overlaps an input, or counts them when it \
             broadcasts; here empty outputs overlap with nothing",
        why: "no element is read or written",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "what_has_no_elements_shares_none"),
        when: |seen| {
            let words = ["single memory location", "doesn't match the broadcast shape"];
            let is_empty = seen.we_give_nothing() || seen.written_operand().is_some_and(Operand::is_empty);
            is_empty && words.iter().any(|words| seen.torch_refuses(words))
        },
        directed: Some(Directed {
            operator: "aten::cat.out",
            arguments: || {
                vec![
                    (
                        "tensors",
                        Argument::Tensors(vec![
                            Some(Operand::rows(0, DType::F32, &[0], &[])),
                            Some(Operand::rows(1, DType::F32, &[2], &[1.0, 2.0])),
                        ]),
                    ),
                    ("out", Operand::rows(0, DType::F32, &[0], &[]).into()),
                ]
            },
            needs: None,
        }),
    },
    Difference {
        id: "outputs-between-inputs",
        what: "neither torch nor opgrid searches views with gaps for elements that they share with an \
             output, and they write and read such elements in different orders",
        why: "the search would cost more than most operators",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "outputs_between_the_elements_of_an_input",
        ),
        when: |seen| {
            let meets = |out: &Operand| {
                let other =
                    |(_, input): &(&str, &Operand)| input.geometry != out.geometry && out.meets(input);
                seen.tensors().iter().any(other)
            };
            let divides = seen.we_refuse("has a zero") || seen.torch_refuses("ZeroDivisionError");
            (!seen.elements.is_empty() || divides) && seen.written_operand().is_some_and(meets)
        },
        directed: None,
    },
];

/// Differences for operators that compute a result before they write it.
pub const READ_FIRST: Difference = Difference {
    id: "outputs-over-what-is-read-first",
    what: "torch rejects an output that shares elements with probabilities, or with the inputs of a \
         loss; here the inputs are read before the output is written",
    why: "no element is read after it is written",
    test: (
        "opgrid-operators/tests/all/differences/outputs.rs",
        "results_are_computed_before_they_are_written",
    ),
    when: |seen| {
        let shares = |out: &Operand| seen.inputs().iter().any(|input| input.memory == out.memory);
        seen.torch_refuses("refer to a single memory location") && seen.outs().any(shares)
    },
    directed: Some(Directed {
        operator: "aten::bernoulli.out",
        arguments: || {
            vec![
                ("self", Operand::strided(0, DType::F32, (&[3], &[1], 0), &[1.0, 0.0, 1.0]).into()),
                ("out", Operand::strided(0, DType::F32, (&[3], &[1], 1), &[0.0, 1.0, 0.0]).into()),
            ]
        },
        needs: None,
    }),
};

/// Differences for operators that read inputs several times.
pub const READ_AFTER_WRITTEN: Difference = Difference {
    id: "outputs-read-after-written",
    what: "torch lets products and reductions overwrite their own inputs and reads the new values; here \
         that is rejected, or the input is read first",
    why: "results would depend on the order of execution",
    test: ("opgrid-operators/tests/all/differences/outputs.rs", "products_into_their_own_factors"),
    when: |seen| {
        let shares = |out: &Operand| seen.inputs().iter().any(|input| input.memory == out.memory);
        let differs = matches!(seen.part, Part::Outcome | Part::Values | Part::Written);
        differs && seen.out().is_some_and(shares)
    },
    directed: None,
};
