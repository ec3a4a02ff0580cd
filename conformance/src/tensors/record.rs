//! What torch answered once, kept as a text so that the comparison runs without torch.
//!
//! ```text
//! call   aten::add.Tensor   17   [{"returns": …}]
//! print  3                       "tensor([1, 2])"
//! ```

use serde_json::Value as Json;

use super::printing::Printed;
use super::report::Report;
use super::run::{Setting, compared, text};
use super::torch::Torch;

/// How many calls of each operator are kept.
const CALLS: u64 = 2;

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
    let mut keep = |what: &str, answer: Option<Json>| match answer.map(|answer| answer.to_string()) {
        Some(answer) if answer.len() <= LONGEST => lines.push_str(&format!("{what}\t{answer}\n")),
        _ => {}
    };
    for name in setting.names() {
        let cases = (0..CALLS).filter_map(|seed| setting.call_named(&name, seed));
        let asked: Vec<String> = cases.map(|case| case.line()).collect();
        for (seed, answer) in torch.ask(&asked)?.into_iter().enumerate() {
            keep(&format!("call\t{name}\t{seed}"), answer);
        }
    }
    let asked: Vec<String> = (0..PRINTED).map(|seed| Printed::new(seed).line()).collect();
    for (seed, answer) in torch.ask(&asked)?.into_iter().enumerate() {
        keep(&format!("print\t{seed}"), answer);
    }
    Ok(lines)
}

/// Compares our side with a record.
///
/// # Errors
///
/// A line is none that was recorded.
pub fn replay(setting: &Setting, record: &str, report: &mut Report) -> Result<(), String> {
    for line in record.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let wrong = || format!("not a line of a record: {line}");
        let json = |text: &str| serde_json::from_str::<Json>(text).map_err(|_| wrong());
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        match parts.as_slice() {
            ["call", name, seed, answer] => {
                let case = setting.call_named(name, number(seed)?).ok_or_else(wrong)?;
                report.compared("calls");
                compared(setting, &case, Some(&json(answer)?), report)?;
            }
            ["print", seed, answer] => {
                let seed = number(seed)?;
                text(seed, &Printed::new(seed), json(answer)?.as_str().ok_or_else(wrong)?, report)?;
            }
            _ => return Err(wrong()),
        }
    }
    Ok(())
}
