//! What torch answered once, kept as a text so that the comparison runs without torch.
//!
//! ```text
//! call   aten::add.Tensor   17   [{"returns": …}]
//! print  3                       "tensor([1, 2])"
//! ```

use serde_json::Value as Json;

use super::case::Case;
use super::mistakes::Noticed;
use super::printing::Printed;
use super::report::Report;
use super::run::{Setting, compared, mistakes_in, text};
use super::torch::Torch;

/// How many calls of each operator torch is asked for.
const ASKED: u64 = 12;

/// How many that torch takes are kept, and how many that it refuses.
const KEPT: [usize; 2] = [4, 1];

/// How many more are looked through for results in memory of their own that are not row-major, and how many of those are
/// kept: what torch says about strides shows in these alone.
const LAYOUTS: (u64, usize) = (200, 2);

/// How many printed tensors are kept.
const PRINTED: u64 = 150;

/// Longer answers are left out.
const LONGEST: usize = 700;

/// Asks torch for the answers that are kept.
///
/// # Errors
///
/// The other side cannot be asked.
pub fn record(setting: &Setting, torch: &mut Torch) -> Result<String, String> {
    let mut lines = String::new();
    let mut keep = |what: &str, answer: Option<Json>| {
        let answer = answer.map(|answer| answer.to_string()).filter(|answer| answer.len() <= LONGEST);
        answer.inspect(|answer| lines.push_str(&format!("{what}\t{answer}\n"))).is_some()
    };
    for name in setting.names() {
        let mut asked = |seeds: std::ops::Range<u64>| {
            let cases = seeds.filter_map(|seed| Some((seed, setting.call_named(&name, seed)?)));
            let (seeds, lines): (Vec<u64>, Vec<String>) =
                cases.map(|(seed, case)| (seed, case.line())).unzip();
            torch.ask(&lines).map(|answers| seeds.into_iter().zip(answers))
        };
        let mut left = KEPT;
        for (seed, answer) in asked(0..ASKED)? {
            let is_refused = answer.as_ref().is_none_or(|answer| !answer[0]["error"].is_null());
            let left = &mut left[usize::from(is_refused)];
            if *left > 0 && keep(&format!("call\t{name}\t{seed}"), answer) {
                *left -= 1;
            }
        }
        let mut left = LAYOUTS.1;
        for (seed, answer) in asked(ASKED..ASKED + LAYOUTS.0)? {
            let is_one = answer.as_ref().is_some_and(lies_apart_from_rows);
            if left > 0 && is_one && keep(&format!("call\t{name}\t{seed}"), answer) {
                left -= 1;
            }
        }
    }
    let asked: Vec<String> = (0..PRINTED).map(|seed| Printed::new(seed).line()).collect();
    for (seed, answer) in torch.ask(&asked)?.into_iter().enumerate() {
        keep(&format!("print\t{seed}"), answer);
    }
    Ok(lines)
}

/// Whether a result has memory of its own, in another order than rows.
fn lies_apart_from_rows(answer: &Json) -> bool {
    let results = answer[0]["returns"].as_array();
    results.into_iter().flatten().filter(|result| result[0] == "tensor" && result[6].is_null()).any(
        |result| {
            let sizes = result[2].as_array().into_iter().flatten().filter_map(Json::as_i64);
            let strides = result[3].as_array().into_iter().flatten().filter_map(Json::as_i64);
            let dims: Vec<(i64, i64)> = sizes.zip(strides).filter(|(size, _)| *size != 1).collect();
            dims.iter().all(|(size, _)| *size != 0)
                && !dims.is_sorted_by(|(_, outer), (_, inner)| outer > inner)
        },
    )
}

/// A line of a record.
enum Line {
    Call(Case),
    Print(u64),
}

/// The lines of a record.
fn read(setting: &Setting, record: &str) -> impl Iterator<Item = Result<(Line, Json), String>> {
    record.lines().map(move |line| {
        let wrong = || format!("not a line of a record: {line}");
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let (read, answer) = match line.split('\t').collect::<Vec<_>>().as_slice() {
            ["call", name, seed, answer] => {
                (Line::Call(setting.call_named(name, number(seed)?).ok_or_else(wrong)?), *answer)
            }
            ["print", seed, answer] => (Line::Print(number(seed)?), *answer),
            _ => return Err(wrong()),
        };
        Ok((read, serde_json::from_str(answer).map_err(|_| wrong())?))
    })
}

/// Compares our side with a record.
///
/// # Errors
///
/// A line is none that was recorded.
pub fn replay(setting: &Setting, record: &str, report: &mut Report) -> Result<(), String> {
    for line in read(setting, record) {
        match line? {
            (Line::Call(case), answer) => {
                report.compared("calls");
                compared(setting, &case, Some(&answer), report)?;
            }
            (Line::Print(seed), answer) => {
                let answer = answer.as_str().ok_or("what was printed is no text")?;
                text(seed, &Printed::new(seed), answer, report)?;
            }
        }
    }
    Ok(())
}

/// Makes each mistake in our answers to the recorded calls, and counts which are noticed.
///
/// # Errors
///
/// A line is none that was recorded.
pub fn mistakes(setting: &Setting, record: &str, noticed: &mut Noticed) -> Result<(), String> {
    for line in read(setting, record) {
        if let (Line::Call(case), answer) = line? {
            mistakes_in(setting, &case, Some(&answer), noticed)?;
        }
    }
    Ok(())
}
