//! Values by their ids, in the order in which they came. A turn has few at once, so a list finds them fast enough; each
//! type of a tree would be 2 KB of gzipped wasm.

/// The values.
pub struct ById<T>(Vec<(String, T)>);

impl<T> Default for ById<T> {
    fn default() -> Self {
        ById(Vec::new())
    }
}

impl<T> ById<T> {
    pub fn get(&self, id: &str) -> Option<&T> {
        self.0.iter().find(|(of, _)| of == id).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.0.iter_mut().find(|(of, _)| of == id).map(|(_, value)| value)
    }

    /// Adds a value, in place of the one of this id.
    pub fn insert(&mut self, id: &str, value: T) {
        match self.get_mut(id) {
            Some(known) => *known = value,
            None => self.0.push((id.to_owned(), value)),
        }
    }

    pub fn remove(&mut self, id: &str) -> Option<T> {
        let place = self.0.iter().position(|(of, _)| of == id)?;
        Some(self.0.remove(place).1)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(id, value)| (id.as_str(), value))
    }

    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_iter().map(|(_, value)| value)
    }

    pub fn retain(&mut self, keeps: impl Fn(&T) -> bool) {
        self.0.retain(|(_, value)| keeps(value));
    }
}

#[cfg(test)]
mod tests {
    use super::ById;

    #[test]
    fn values_are_found_replaced_and_removed_in_their_order() {
        let mut values = ById::default();
        for (id, value) in [("b", 1), ("a", 2), ("b", 3), ("c", 4)] {
            values.insert(id, value);
        }
        assert_eq!(values.iter().collect::<Vec<_>>(), [("b", &3), ("a", &2), ("c", &4)]);
        values.get_mut("a").into_iter().for_each(|value| *value += 5);
        assert_eq!((values.get("a"), values.get("d")), (Some(&7), None));
        assert_eq!((values.remove("b"), values.remove("b")), (Some(3), None));
        values.retain(|value| *value > 4);
        assert_eq!(values.iter().collect::<Vec<_>>(), [("a", &7)]);
    }
}
