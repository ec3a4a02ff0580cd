//! The candidate that someone probably meant, for the remedies in error messages.

/// The candidate that differs least from `text` in spelling, unless all of them differ in more than a third. Of several, one that
/// has all letters of `text` in order comes first: letters are left out more often than replaced.
pub(crate) fn nearest(text: &str, candidates: impl Iterator<Item = String>) -> Option<String> {
    const LONGEST: usize = 64;
    if text.len() > LONGEST {
        return None;
    }
    let folded = text.to_lowercase();
    let near = |candidate: String| {
        let distance = edits(&folded, &candidate.to_lowercase());
        // That namespaces are the same does not make names near.
        let name = candidate.rsplit("::").next().unwrap_or(&candidate);
        let is_shortened = has_letters_in_order(&candidate.to_lowercase(), &folded);
        (distance * 3 <= name.len()).then_some(((distance, !is_shortened), candidate))
    };
    let best = candidates.filter_map(near).min_by_key(|(order, _)| *order);
    best.map(|(_, candidate)| candidate)
}

/// Whether a text becomes the other one by leaving letters out.
fn has_letters_in_order(text: &str, letters: &str) -> bool {
    let mut text = text.chars();
    letters.chars().all(|letter| text.any(|other| other == letter))
}

/// How many letters have to be inserted, removed or replaced to make one text from the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = || ["CPU", "AutogradCPU", "AutogradCUDA", "Tracer"].into_iter().map(String::from);
        assert_eq!(nearest("Cpu", names()).as_deref(), Some("CPU"));
        assert_eq!(nearest("AutogradCUD", names()).as_deref(), Some("AutogradCUDA"));
        assert_eq!(nearest("Tracr", names()).as_deref(), Some("Tracer"));
        assert_eq!(nearest("Banana", names()), None);
        assert_eq!(nearest("", names()), None);
        let operators = || ["aten::add", "aten::softshrink"].into_iter().map(String::from);
        assert_eq!(nearest("aten::nothing", operators()), None);
        assert_eq!(nearest("atn::add", operators()).as_deref(), Some("aten::add"));
        assert_eq!(nearest(&"CPU".repeat(100), names()), None);
        let ties = || ["aten::elu", "aten::relu", "aten::glu"].into_iter().map(String::from);
        assert_eq!(nearest("aten::rlu", ties()).as_deref(), Some("aten::relu"));
    }

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abd", 1), ("ab", "ba", 2)]
        {
            assert_eq!(edits(from, to), count, "{from} {to}");
        }
    }
}
