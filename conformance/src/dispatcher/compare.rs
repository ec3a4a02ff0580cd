//! Compares the answers of both sides, step by step.

use std::borrow::Cow;
use std::collections::BTreeSet;

use opgrid_core::DispatchKeySet;

use super::classes::{SECOND_LIBRARY, class_of_ours, class_of_torch, names_in};
use super::deliberate::{self, Rule};
use super::ours::{Answer, Ours};
use super::program::{Block, Program, Step};
use super::report::Report;

/// What dumps say of kernels that came with a legacy registration.
const LEGACY: &str = "registered by RegisterOperators";

/// What an answer has that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Whether the step is refused.
    Outcome,
    /// The class of an error.
    Class,
    /// The names in an error.
    Names,
    /// How often a kernel was replaced.
    Overrides,
    /// What was said about a kernel that was replaced.
    Override,
    /// Whether an operator is there.
    Existence,
    /// Whether an operator has a schema.
    Schema,
    /// Whether the stored table is the one that the rules give.
    Invariants,
    /// The dump of what is registered.
    State,
    /// The dump of the table.
    Table,
    /// The dump of which arguments count, and of the keys that are not fallen through.
    Extractor,
    /// The keys that are not fallen through, for each backend.
    Masks,
    /// The keys that a call reaches.
    Keys,
    /// What a call reaches.
    Reached,
    /// Sets and keys.
    Algebra,
    /// The key of a name.
    KeyName,
    /// A schema as it is printed, or why it is none.
    Printed,
}

/// Something that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The program.
    pub seed: u64,
    /// The step's place in it.
    pub place: usize,
    /// What differs.
    pub part: Part,
    /// Ours.
    pub ours: String,
    /// Torch's.
    pub torch: String,
}

/// What a deliberate difference is recognised by.
pub struct Seen<'a> {
    /// The step.
    pub step: &'a Step,
    /// What differs.
    pub part: Part,
    /// Our text.
    pub ours: &'a str,
    /// Torch's text.
    pub torch: &'a str,
    /// Whether torch's stored table of the operator is stale.
    pub is_stale: bool,
    /// The debug strings of the kernels in steps that both sides refused.
    pub refused: &'a BTreeSet<String>,
}

/// The comparison of one program.
struct Comparison<'a> {
    program: &'a Program,
    report: &'a mut Report,
    refused: BTreeSet<String>,
}

/// Runs a program on our side and compares it with torch's answers; `false` stops it at the first step whose
/// differences leave both sides in different states.
pub fn compare(program: &Program, ours: &mut Ours, torch: &[Answer], report: &mut Report) {
    report.begin(program);
    let mut comparison = Comparison { program, report, refused: BTreeSet::new() };
    for (place, step) in program.steps.iter().enumerate() {
        let answer = ours.run(step);
        let Some(expected) = torch.get(place) else {
            return comparison.report.broken(program, place, "torch gave no answer");
        };
        if !comparison.step(place, step, ours, &answer, expected) {
            return;
        }
    }
}

impl Comparison<'_> {
    /// Compares one step; `false` if nothing that follows can be compared.
    fn step(
        &mut self,
        place: usize,
        step: &Step,
        ours: &mut Ours,
        answer: &Answer,
        expected: &Answer,
    ) -> bool {
        let mut found: Vec<(Part, Cow<'_, str>, Cow<'_, str>)> = Vec::new();
        let (is_ok, torch_is_ok) = (answer[0] == "ok", expected[0] == "ok");
        let message = |answer: &Answer| answer.get(1).cloned().unwrap_or_default();
        match (is_ok, torch_is_ok) {
            (true, true) => {
                self.report.accepted(step, &answer[1..]);
                differing_fields(step, &answer[1..], &expected[1..], &mut found);
            }
            (false, false) => {
                self.report.refused(step, class_of_torch(&expected[1]));
                differing_messages(step, &answer[1], &expected[1], &mut found);
                self.refused.extend(texts_of(step));
            }
            (true, false) => {
                found.push((Part::Outcome, "ok".into(), message(expected).into()));
                ours.forget(step);
            }
            (false, true) => found.push((Part::Outcome, message(answer).into(), "ok".into())),
        }
        let is_stale = is_stale(self.program, step, answer, expected);
        self.report.compared(step, is_stale);
        let mut goes_on = true;
        for (part, ours, torch) in found {
            let seen = Seen { step, part, ours: &ours, torch: &torch, is_stale, refused: &self.refused };
            let rule: Option<&'static Rule> = deliberate::explains(&seen);
            let (ours, torch) = (ours.into_owned(), torch.into_owned());
            let difference = Difference { seed: self.program.seed, place, part, ours, torch };
            goes_on &= part != Part::Outcome || rule.is_some_and(|rule| rule.leaves_states_equal);
            self.report.difference(difference, rule, self.program);
        }
        goes_on
    }
}

/// The debug strings of the kernels that a step registers.
fn texts_of(step: &Step) -> Vec<String> {
    match step {
        Step::Block(block) => {
            let kernels = block.items.iter().filter_map(|item| item.kernel.as_ref());
            kernels.map(|kernel| kernel.debug().unwrap_or_else(|| block.debug())).collect()
        }
        Step::Legacy(_) => vec![LEGACY.to_owned()],
        _ => Vec::new(),
    }
}

/// Whether torch's stored table is not what its rules give.
///
/// It says so itself, but takes two kernels of one type for the same one. So a call also tells: where both sides
/// agree what the rules give for the column, and ours ran just that and torch another kernel.
fn is_stale(program: &Program, step: &Step, ours: &Answer, torch: &Answer) -> bool {
    match step {
        Step::Look(_) => torch.get(3).is_some_and(|flag| flag == "0"),
        // Its own operator's, or that of an operator which a kernel called.
        Step::Call(_)
            if [1, 9].into_iter().any(|place| torch.get(place).is_some_and(|flag| flag == "stale")) =>
        {
            true
        }
        Step::Call(_) => {
            let of_call = ours.get(1..8).zip(torch.get(2..9)).is_some_and(|(ours, torch)| {
                let ran = |fields: &[String]| fields[4] == "ran";
                ran(ours)
                    && ran(torch)
                    && is_other_kernel(program, (&ours[3], &ours[5]), (&torch[3], &torch[5]))
            });
            let inner = ours.iter().skip(8).zip(torch.iter().skip(10));
            of_call
                || inner.into_iter().any(|(ours, torch)| {
                    let (ours, torch) = (Inside::new(ours), Inside::new(torch));
                    let same = ours.start == torch.start;
                    ours.ran().zip(torch.ran()).is_some_and(|(number, other)| {
                        same && is_other_kernel(program, (ours.lines, number), (torch.lines, other))
                    })
                })
        }
        _ => false,
    }
}

/// Whether torch ran another kernel than the one that the rules give, on which both sides agree; each side is its lines
/// and the number of the kernel that ran.
fn is_other_kernel(program: &Program, ours: (&str, &str), torch: (&str, &str)) -> bool {
    let (line, line_of_torch) = (without_places(ours.0), without_places(torch.0));
    let text = ours.1.parse().ok().and_then(|number| text_of(program, number));
    let is_chosen = text.is_some_and(|text| line.contains(&format!(": {} [", without_places(&text))));
    ours.1 != torch.1 && is_chosen && line == line_of_torch
}

/// A call that a kernel made, in the three lines that tell of it.
struct Inside<'a> {
    /// The depth, the operator, the keys and the column.
    start: &'a str,
    /// What the rules give.
    lines: &'a str,
    /// What was reached.
    reached: &'a str,
}

impl<'a> Inside<'a> {
    fn new(text: &'a str) -> Self {
        let mut lines = text.split('\n');
        let mut next = || lines.next().unwrap_or_default();
        Self { start: next(), lines: next(), reached: next() }
    }

    /// The number of the kernel that ran.
    fn ran(&self) -> Option<&'a str> {
        self.reached.strip_prefix("ran ")?.split(' ').next()
    }
}

/// The debug text of the kernel of that number.
fn text_of(program: &Program, number: usize) -> Option<String> {
    // Boxed kernels of legacy registrations have no number of their own.
    if number == 0 {
        return Some(LEGACY.to_owned());
    }
    let of_block = |block: &Block| {
        let mut kernels = block.items.iter().filter_map(|item| item.kernel.as_ref());
        let kernel = kernels.find(|kernel| kernel.number == number)?;
        Some(kernel.debug().unwrap_or_else(|| block.debug()))
    };
    program.steps.iter().find_map(|step| match step {
        Step::Block(block) => of_block(block),
        Step::Legacy(legacy) if legacy.kernels.iter().any(|kernel| kernel.number == number) => {
            Some(LEGACY.to_owned())
        }
        _ => None,
    })
}

type Found<'a> = Vec<(Part, Cow<'a, str>, Cow<'a, str>)>;

fn differing_fields<'a>(step: &Step, ours: &'a [String], torch: &'a [String], found: &mut Found<'a>) {
    match step {
        Step::Block(_) | Step::Legacy(_) => differing_overrides(ours, torch, found),
        Step::Look(_) => differing_looks(ours, torch, found),
        // Whether torch's table is stale comes first.
        Step::Call(_) => differing_calls(ours, &torch[1..], found),
        Step::KeyName(_) => pairs(Part::KeyName, ours, torch, found),
        Step::Parse(_) => pairs(Part::Printed, ours, torch, found),
        Step::Set(..) | Step::Key(_) => pairs(Part::Algebra, ours, torch, found),
        Step::Drop(_) | Step::Clear => {}
    }
}

/// Fields that are equal or not.
fn pairs<'a>(part: Part, ours: &'a [String], torch: &'a [String], found: &mut Found<'a>) {
    if ours.len() != torch.len() {
        found.push((part, ours.join(" ").into(), torch.join(" ").into()));
        return;
    }
    for (ours, torch) in ours.iter().zip(torch).filter(|(ours, torch)| ours != torch) {
        found.push((part, ours.into(), torch.into()));
    }
}

fn differing_looks<'a>(ours: &'a [String], torch: &'a [String], found: &mut Found<'a>) {
    if ours[0] != torch[0] {
        found.push((Part::Existence, ours.join("\n").into(), torch.join("\n").into()));
        return;
    }
    // Torch's own invariants hold or not; ours have to.
    let parts = [Part::Schema, Part::Invariants, Part::State, Part::Table, Part::Extractor, Part::Masks];
    for ((part, ours), torch) in parts.into_iter().zip(&ours[1..]).zip(&torch[1..]) {
        match part {
            Part::Invariants if ours != "1" => found.push((part, ours.into(), torch.into())),
            Part::Invariants => {}
            _ if ours == torch => {}
            _ => {
                let (ours, torch) = (without_places(ours), without_places(torch));
                if ours != torch {
                    found.push((part, ours, torch));
                }
            }
        }
    }
}

fn differing_calls<'a>(ours: &'a [String], torch: &'a [String], found: &mut Found<'a>) {
    if ours.len() < 5 || torch.len() < 5 {
        return pairs(Part::Reached, ours, torch, found);
    }
    pairs(Part::Keys, &ours[..3], &torch[..3], found);
    let (line, line_of_torch) = (without_places(&ours[3]), without_places(&torch[3]));
    let count = lines_of_the_same_columns(&ours[0], &torch[0]);
    if !line.split("; ").take(count).eq(line_of_torch.split("; ").take(count)) {
        found.push((Part::Table, line, line_of_torch));
    }
    match (ours[4].as_str(), torch[4].as_str()) {
        ("error", "error") => differing_errors(&ours[5], &torch[5], found),
        ("ran", "ran") if ours.len() >= 7 && torch.len() >= 8 => {
            pairs(Part::Reached, &ours[4..7], &torch[4..7], found);
            // Whether a table of torch's is stale comes before its calls.
            differing_inner_calls(&ours[7..], &torch[8..], found);
        }
        _ => pairs(Part::Reached, &ours[4..], &torch[4..], found),
    }
}

/// How many lines of two calls can be compared, by the keys of these calls.
///
/// Where a table of torch's is stale, a stale fallthrough takes keys away, so that a fallback of autograd may pass on to
/// another column there than here, though both calls begin in the same one. That the keys differ is found on its own.
fn lines_of_the_same_columns(ours: &str, torch: &str) -> usize {
    if ours == torch {
        return usize::MAX;
    }
    let keys = |hex: &str| DispatchKeySet::from_torch_bits(u64::from_str_radix(hex, 16).ok()?).ok();
    let (Some(mut ours), Some(mut torch)) = (keys(ours), keys(torch)) else { return 0 };
    // The second line is the last one: the keys below autograd stay when they are passed on once more.
    for count in 0..2 {
        if ours.torch_column() != torch.torch_column() {
            return count;
        }
        ours &= DispatchKeySet::AFTER_AUTOGRAD;
        torch &= DispatchKeySet::AFTER_AUTOGRAD;
    }
    usize::MAX
}

/// The calls that kernels made. Where one went another way, those that follow are others too.
fn differing_inner_calls<'a>(ours: &'a [String], torch: &'a [String], found: &mut Found<'a>) {
    for (text, text_of_torch) in ours.iter().zip(torch) {
        let (inside, inside_of_torch) = (Inside::new(text), Inside::new(text_of_torch));
        if inside.start != inside_of_torch.start {
            return found.push((Part::Keys, text.into(), text_of_torch.into()));
        }
        let (lines, lines_of_torch) = (without_places(inside.lines), without_places(inside_of_torch.lines));
        if lines != lines_of_torch {
            found.push((Part::Table, lines, lines_of_torch));
        }
        if inside.reached != inside_of_torch.reached {
            return found.push((Part::Reached, text.into(), text_of_torch.into()));
        }
    }
    if ours.len() != torch.len() {
        found.push((Part::Reached, ours.join("\n").into(), torch.join("\n").into()));
    }
}

fn differing_messages<'a>(step: &Step, ours: &'a str, torch: &'a str, found: &mut Found<'a>) {
    // Of edited schemas often several things are wrong; which one is told is nobody's promise.
    if !matches!(step, Step::Parse(_)) {
        differing_errors(ours, torch, found);
    }
}

/// The words of a parser's message in front of what it found and where. Torch's own assertions say nothing.
fn start_of(message: &str) -> &str {
    if message.contains("INTERNAL ASSERT") {
        return "";
    }
    let ends = [" here", ":\n", " but found", ";"];
    let end = ends.iter().filter_map(|end| message.find(end)).min().unwrap_or(message.len());
    message[..end].trim()
}

fn differing_errors<'a>(ours: &'a str, torch: &'a str, found: &mut Found<'a>) {
    let (class, class_of_theirs) = (class_of_ours(ours), class_of_torch(torch));
    if class != class_of_theirs {
        found.push((Part::Class, ours.into(), torch.into()));
        return;
    }
    if class.is_none() {
        // Mistakes in schemas: both have the same words.
        if !start_of(ours).starts_with(start_of(torch)) {
            found.push((Part::Class, ours.into(), torch.into()));
        }
        return;
    }
    // Ours may name more. The places of two libraries are places in sources here.
    let (named, mut expected) = (names_in(ours), names_in(torch));
    expected.retain(|name| class != Some(SECOND_LIBRARY) || !name.starts_with("block"));
    if !expected.is_subset(&named) {
        found.push((Part::Names, ours.into(), torch.into()));
    }
}

/// The reports of kernels that were replaced. Torch's other warnings are none.
fn differing_overrides<'a>(ours: &'a [String], torch: &'a [String], found: &mut Found<'a>) {
    let torch: Vec<&String> =
        torch.iter().filter(|text| text.contains("previously registered kernel")).collect();
    if ours.len() != torch.len() {
        let torch: Vec<&str> = torch.iter().map(|text| text.as_str()).collect();
        found.push((Part::Overrides, ours.join("\n").into(), torch.join("\n").into()));
        return;
    }
    for (ours, torch) in ours.iter().zip(torch) {
        // Both begin with sentences of their own.
        let lines = |text: &'a str| -> Vec<&'a str> {
            let lines = text.lines().skip_while(|line| !line.contains("previously registered kernel"));
            lines.skip(1).map(str::trim).collect()
        };
        let (ours, torch) = (lines(ours), lines(torch));
        for (ours, torch) in ours.iter().zip(&torch).filter(|(ours, torch)| ours != torch) {
            let (ours, torch) = (without_places(ours), without_places(torch));
            if ours != torch {
                found.push((Part::Override, ours, torch));
            }
        }
        if ours.len() != torch.len() {
            found.push((Part::Override, ours.join("\n").into(), torch.join("\n").into()));
        }
    }
}

/// The text with places in source files of either side forgotten; places of blocks stay.
pub fn without_places(text: &str) -> Cow<'_, str> {
    const START: &str = "registered at ";
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(START) {
        let (before, place) = rest.split_at(start + START.len());
        let end = place.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(place.len());
        result.push_str(before);
        let is_source = place[..end]
            .rsplit_once(':')
            .is_some_and(|(file, _)| file.ends_with(".rs") || file.ends_with(".cpp"));
        result.push_str(if is_source { "PLACE" } else { &place[..end] });
        rest = &place[end..];
    }
    if result.is_empty() {
        return text.into();
    }
    result.push_str(rest);
    result.into()
}

#[cfg(test)]
mod tests {
    use opgrid_core::DispatchKey;

    use super::*;

    #[test]
    fn places_in_sources_are_forgotten_and_those_of_blocks_are_not() {
        let text =
            "CPU: registered at /a/b.cpp:12 [kernel]\nCUDA: registered at block3:31 [kernel]\nX: kernel4\n";
        let expected =
            "CPU: registered at PLACE [kernel]\nCUDA: registered at block3:31 [kernel]\nX: kernel4\n";
        assert_eq!(without_places(text), expected);
        assert_eq!(without_places("nothing"), "nothing");
    }

    #[test]
    fn lines_are_compared_as_far_as_they_are_of_the_same_columns() {
        let keys = |keys: &[DispatchKey]| {
            let keys = keys.iter().fold(DispatchKeySet::EMPTY, |all, key| all | DispatchKeySet::from(*key));
            format!("{:x}", keys.to_torch_bits())
        };
        let other = DispatchKey::AutogradOther;
        let (nested, autograd) = (keys(&[DispatchKey::NestedTensorCpu, other]), keys(&[other]));
        let (cpu, sparse) = (keys(&[DispatchKey::Cpu]), keys(&[DispatchKey::SparseCpu]));
        let with_sparse = keys(&[DispatchKey::Cpu, DispatchKey::SparseCpu, other]);
        let without_sparse = keys(&[DispatchKey::Cpu, other]);
        let with_conjugate = keys(&[DispatchKey::Cpu, DispatchKey::Conjugate, other]);
        for (ours, torch, count) in [
            (&nested, &nested, usize::MAX),
            (&nested, &autograd, 1),
            (&with_sparse, &without_sparse, 1),
            (&with_conjugate, &without_sparse, 1),
            (&cpu, &sparse, 0),
            (
                &keys(&[DispatchKey::Quantized, DispatchKey::SparseCpu, other]),
                &keys(&[DispatchKey::SparseCpu, other]),
                usize::MAX,
            ),
        ] {
            assert_eq!(lines_of_the_same_columns(ours, torch), count, "{ours} {torch}");
        }

        let call = |keys: &str, lines: &str| -> Vec<String> {
            [keys, "95", "AutogradOther", lines, "fallback"].map(String::from).to_vec()
        };
        let parts = |ours: &[String], torch: &[String]| -> Vec<Part> {
            let mut found = Vec::new();
            differing_calls(ours, torch, &mut found);
            found.into_iter().map(|(part, ..)| part).collect()
        };
        let (fallback, kernel) =
            ("AutogradOther: a [backend fallback]", "Undefined: b [default backend kernel]");
        let both = format!("{fallback}; {kernel}");
        let none = format!("{fallback}; ");
        // The keys differ, and so do only the lines of other columns.
        assert_eq!(parts(&call(&nested, &none), &call(&autograd, &both)), [Part::Keys]);
        assert_eq!(parts(&call(&nested, &none), &call(&nested, &both)), [Part::Table]);
        let of_another = "AutogradOther: c [kernel]";
        assert_eq!(parts(&call(&nested, of_another), &call(&autograd, &both)), [Part::Keys, Part::Table]);
    }
}
