//! Dicts as kernels' parameters and results have them.

/// A dict of a kernel's parameter or result: pairs in the order in which they were put in.
///
/// # Examples
///
/// ```
/// use opgrid_core::Dict;
///
/// let dict = Dict::from_iter([("one".to_owned(), 1), ("two".to_owned(), 2)]);
/// assert_eq!(dict.find(&"two".to_owned()), Some(&2));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dict<K, V>(Vec<(K, V)>);

impl<K: PartialEq, V> Dict<K, V> {
    /// The value under `key`. Looks at every pair: dicts in calls are short.
    pub fn find(&self, key: &K) -> Option<&V> {
        self.0.iter().find(|entry| entry.0 == *key).map(|entry| &entry.1)
    }

    /// The pairs.
    pub fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.0.iter()
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: PartialEq, V> FromIterator<(K, V)> for Dict<K, V> {
    /// A later pair replaces the value of an earlier one with the same key.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut dict = Self(Vec::new());
        for (key, value) in pairs {
            match dict.0.iter_mut().find(|entry| entry.0 == key) {
                Some(entry) => entry.1 = value,
                None => dict.0.push((key, value)),
            }
        }
        dict
    }
}

impl<K, V> IntoIterator for Dict<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
