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
        let cases = (0..ASKED).filter_map(|seed| setting.call_named(&name, seed));
        let asked: Vec<String> = cases.map(|case| case.line()).collect();
        let mut left = KEPT;
        for (seed, answer) in torch.ask(&asked)?.into_iter().enumerate() {
            let is_refused = answer.as_ref().is_none_or(|answer| !answer[0]["error"].is_null());
            let left = &mut left[usize::from(is_refused)];
            if *left > 0 && keep(&format!("call\t{name}\t{seed}"), answer) {
                *left -= 1;
            }
        }
    }
    let asked: Vec<String> = (0..PRINTED).map(|seed| Printed::new(seed).line()).collect();
    for (seed, answer) in torch.ask(&asked)?.into_iter().enumerate() {
        keep(&format!("print\t{seed}"), answer);
    }
    Ok(lines)
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
