//! Schemas for the programs: of typed kernels, and edits of schemas that torch has.

use super::kernels::SignatureOfKernels;
use crate::random::Random;

/// Names that arguments can have; some are words of the language that may be used so.
const NAMES: [&str; 8] = ["self", "other", "x", "dim_0", "from", "lambda", "out", "_y"];

/// A schema of these types under that name, with whatever does not change the types.
pub fn schema_of(name: &str, signature: &SignatureOfKernels, random: &mut Random) -> String {
    let is_decorated = random.chance(40);
    let keywords_from =
        if random.chance(20) { random.below(signature.arguments.len() + 1) } else { usize::MAX };
    let mut arguments = Vec::new();
    let mut has_default = is_decorated;
    // Only the last arguments may have defaults.
    for (place, kind) in signature.arguments.iter().enumerate().rev() {
        let written = match *kind {
            "Tensor" if is_decorated && random.chance(50) => "Tensor(a!)".to_owned(),
            "int[]" | "SymInt[]" if is_decorated => kind.replace("[]", "[2]"),
            kind => kind.to_owned(),
        };
        let default = match *kind {
            _ if !has_default => None,
            "int" | "SymInt" => Some("-3"),
            "float" => Some("0.1"),
            "bool" => Some("True"),
            "str" => Some("'a b'"),
            "Scalar" => Some("1"),
            "int[]" | "SymInt[]" if written.contains('2') => Some("1"),
            kind if kind.ends_with('?') => Some("None"),
            _ => None,
        };
        has_default &= default.is_some();
        let name =
            if random.chance(10) { NAMES[place % NAMES.len()].to_owned() } else { format!("a{place}") };
        let default = default.map_or_else(String::new, |default| format!("={default}"));
        arguments.push(format!("{written} {name}{default}"));
        if place == keywords_from {
            arguments.push("*".to_owned());
        }
    }
    arguments.reverse();
    let returns = signature.returns.iter().map(|kind| match *kind {
        "Tensor" if is_decorated => "Tensor(a!)".to_owned(),
        kind => kind.to_owned(),
    });
    format!("{name}({}) -> ({})", arguments.join(", "), returns.collect::<Vec<_>>().join(", "))
}

/// Pieces that edits put into schemas.
const PIECES: [&str; 46] = [
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    ".",
    "*",
    "=",
    "?",
    "!",
    "|",
    "->",
    " ",
    "\n",
    "...",
    "#",
    "Tensor",
    "int",
    "SymInt",
    "float",
    "str",
    "bool",
    "Scalar",
    "ScalarType",
    "Device",
    "Dict(str, int)",
    "Union(int, str)",
    "(int, str)",
    "None",
    "[]",
    "[2]",
    "(a)",
    "(a!)",
    "(a -> b)",
    "(a|b)",
    "(*)",
    "=1",
    "=None",
    "=[1, 2]",
    "='x'",
    "=1.5",
    "=cpu",
    "T",
    "if",
    "::",
];

/// A schema with some random edits; most are no schemas any more.
pub fn mutated(corpus: &[String], random: &mut Random) -> String {
    let mut text = random.pick(corpus).clone();
    for _ in 0..1 + random.below(3) {
        edit(&mut text, corpus, random);
    }
    text
}

/// The places where words and signs begin.
fn boundaries(text: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut previous = ' ';
    let mut places = Vec::new();
    for (place, c) in text.char_indices() {
        if !(is_word(previous) && is_word(c)) {
            places.push(place);
        }
        previous = c;
    }
    places.push(text.len());
    places
}

fn edit(text: &mut String, corpus: &[String], random: &mut Random) {
    let places = boundaries(text);
    let first = random.below(places.len());
    let last = (first + random.below(3)).min(places.len() - 1);
    let (start, end) = (places[first], places[last]);
    match random.below(6) {
        0 | 1 => text.insert_str(start, random.pick::<&str>(&PIECES)),
        2 => text.replace_range(start..end, random.pick::<&str>(&PIECES)),
        3 => text.replace_range(start..end, ""),
        4 => {
            let piece = text[start..end].to_owned();
            text.insert_str(places[random.below(places.len())], &piece);
        }
        _ => {
            // The tail of another schema.
            let other = random.pick(corpus);
            let other_places = boundaries(other);
            text.truncate(start);
            text.push_str(&other[other_places[random.below(other_places.len())]..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatcher::kernels::SIGNATURES;
    use opgrid_schema::FunctionSchema;

    #[test]
    fn schemas_of_signatures_parse() {
        let mut random = Random::new(1);
        for round in 0..200 {
            let signature = &SIGNATURES[round % SIGNATURES.len()];
            let text = schema_of("a::b", signature, &mut random);
            let schema = FunctionSchema::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(schema.arguments.len(), signature.arguments.len());
        }
    }

    #[test]
    fn edits_stay_at_boundaries() {
        assert_eq!(boundaries("ab (c)"), [0, 2, 3, 4, 5, 6]);
        let corpus = ["f(Tensor a) -> Tensor".to_owned(), "g(int b=1) -> ()".to_owned()];
        let mut random = Random::new(2);
        let texts: Vec<String> = (0..100).map(|_| mutated(&corpus, &mut random)).collect();
        assert!(texts.iter().any(|text| FunctionSchema::parse(text).is_ok()));
        assert!(texts.iter().any(|text| FunctionSchema::parse(text).is_err()));
    }
}
