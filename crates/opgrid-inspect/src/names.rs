//! Names that somebody may have written in place of each other.

/// Whether one name is probably the other one misspelled: the same letters in upper and lower case or with underscores in
/// other places, or two neighbours exchanged.
///
/// Underscores at the ends say something (private, in place), and a letter more or less makes another word (`sin`,
/// `sinh`), so that these are no mistakes.
pub(crate) fn confusable(a: &str, b: &str) -> bool {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let ends = |name: &str| (name.starts_with('_'), name.ends_with('_'));
    a != b && ends(a) == ends(b) && (plain(a) == plain(b) || exchanged(a, b))
}

/// Whether two neighbouring letters are exchanged, in a name that is long enough to be a word.
fn exchanged(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() != b.len() || a.len() < 4 {
        return false;
    }
    let differ: Vec<usize> = (0..a.len()).filter(|&place| a[place] != b[place]).collect();
    matches!(differ[..], [first, second] if second == first + 1 && a[first] == b[second] && a[second] == b[first])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_names_are_told_from_other_words() {
        for (a, b) in [("addmm", "addMM"), ("index_add", "indexadd"), ("matmul", "matmlu"), ("aten", "atne")]
        {
            assert!(confusable(a, b) && confusable(b, a), "{a} {b}");
        }
        for (a, b) in
            [("sin", "sinh"), ("add", "add_"), ("_conj", "conj"), ("add", "adn"), ("mm", "mm"), ("lt", "le")]
        {
            assert!(!confusable(a, b), "{a} {b}");
        }
    }
}
