//! Lenient JSON types for the codecs. They borrow from the bytes of the read, and keep unknown members raw.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Unknown members, in their original order.
pub type Unknown<'a> = Vec<(Text<'a>, &'a RawValue)>;

/// A string, borrowed if it has no escapes. (A bare `Option<Cow<str>>` never borrows in serde.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.into())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// The text of a JSON string, borrowed if it has no escapes; for any other value, its JSON. None for null and for an
/// invalid string (half of a surrogate pair).
pub fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    // Valid JSON has both quotes or none.
    let inner = if json.starts_with('"') { json.get(1..json.len().saturating_sub(1)) } else { None };
    match inner {
        Some(text) if memchr::memchr(b'\\', text.as_bytes()).is_none() => Some(Cow::Borrowed(text)),
        Some(_) => wire::json::from_str::<Text<'_>>(json).ok().map(|text| text.0),
        None => (json != "null").then_some(Cow::Borrowed(json)),
    }
}

/// The JSON of an object, also of one that stands in a string. None for any other value.
pub fn object_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    text_of(raw).filter(|json| json.trim_start().starts_with('{'))
}

/// A string, or nothing for a value of another type: some servers send an object in place of a string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loose<'a>(pub Option<Cow<'a, str>>);

impl Loose<'_> {
    /// The string; empty if there is none.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LooseVisitor;
        impl<'de> Visitor<'de> for LooseVisitor {
            type Value = Loose<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Loose(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Loose(Some(Cow::Owned(text.into()))))
            }
            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Loose(None))
            }
            fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Loose(None))
            }
            fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Loose(None))
            }
            fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Loose(None))
            }
            fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Loose(None))
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Loose(None))
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Loose(None))
            }
        }
        deserializer.deserialize_any(LooseVisitor)
    }
}

/// A list. It leaves out elements of another type. One element without the list around it counts as a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Few<T>(pub Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !is_lenient() {
            return Ok(Few(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default()));
        }
        let raw = <&RawValue>::deserialize(deserializer)?;
        let list = match raw.get() {
            "null" => Vec::new(),
            list if list.starts_with('[') => wire::json::from_str(list).unwrap_or_default(),
            _ => vec![raw],
        };
        Ok(Few(list.into_iter().filter_map(|raw: &RawValue| wire::json::from_str(raw.get()).ok()).collect()))
    }
}

thread_local! {
    /// Whether a member of another type counts as absent.
    static IS_LENIENT: Cell<bool> = const { Cell::new(false) };
}

/// Reads a part of a provider's reply. Nearly all have the types of their documents, and one pass reads them. Where that
/// fails, a second pass takes each optional member of another type as absent, because none of them may end a reply.
pub fn read<'a, T: Deserialize<'a>>(json: &'a str) -> serde_json::Result<T> {
    wire::json::from_str(json).or_else(|_| {
        IS_LENIENT.set(true);
        let read = wire::json::from_str(json);
        IS_LENIENT.set(false);
        read
    })
}

/// Whether [`read`] makes its second pass.
pub fn is_lenient() -> bool {
    IS_LENIENT.get()
}

/// A member of a foreign object, as [`read`] takes it.
pub fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    if !is_lenient() {
        return T::deserialize(deserializer);
    }
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(wire::json::from_str(raw.get()).unwrap_or_default())
}

/// The next value of a map, in the same way.
pub fn next_lenient<'de, M, T>(map: &mut M) -> Result<T, M::Error>
where
    M: MapAccess<'de>,
    T: Deserialize<'de> + Default,
{
    if !is_lenient() {
        return map.next_value();
    }
    let raw = map.next_value::<&'de RawValue>()?;
    Ok(wire::json::from_str(raw.get()).unwrap_or_default())
}

/// A number of a foreign object: some servers write it as a string, or with a fraction of zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !is_lenient() {
            return Option::deserialize(deserializer).map(Count);
        }
        let raw = <&RawValue>::deserialize(deserializer)?;
        let number = raw.get().trim_matches('"').trim();
        Ok(Count(number.strip_suffix(".0").unwrap_or(number).parse().ok()))
    }
}

/// [`Count`], as a plain option.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Count::deserialize(deserializer).map(|count| count.0)
}

/// Deserializes an object member by member: `known` takes the member of that name, or leaves it to `unknown`.
macro_rules! object {
    ($type:ident, known: { $($name:literal => $field:ident),* }, dropped: [$($dropped:literal),*]) => {
        impl<'de: 'a, 'a> serde::Deserialize<'de> for $type<'a> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ObjectVisitor;
                impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $type<'de>;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                        let mut value = $type::default();
                        while let Some(name) = map.next_key::<$crate::json::Text<'de>>()? {
                            match name.as_str() {
                                $($name => value.$field = $crate::json::next_lenient(&mut map)?,)*
                                $($dropped => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                })*
                                _ => {
                                    let raw = map.next_value::<&'de serde_json::value::RawValue>()?;
                                    value.unknown.push((name, raw));
                                }
                            }
                        }
                        Ok(value)
                    }
                }
                deserializer.deserialize_map(ObjectVisitor)
            }
        }
    };
}
pub(super) use object;

/// An object with only unknown members.
#[derive(Debug, Default)]
pub struct Object<'a> {
    pub unknown: Unknown<'a>,
}

object!(Object, known: {}, dropped: []);
