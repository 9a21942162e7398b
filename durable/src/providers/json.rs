//! How codecs read JSON: borrowed from the read that brought it, leniently, and with what they do not know kept raw.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// Members that the codec does not know, in the order in which they came.
pub type Unknown<'a> = Vec<(Text<'a>, &'a RawValue)>;

/// A string, borrowed where it has no escapes. (A bare `Option<Cow<str>>` never borrows in serde.)
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
                        while let Some(name) = map.next_key::<$crate::providers::json::Text<'de>>()? {
                            match name.as_str() {
                                $($name => value.$field = map.next_value()?,)*
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

/// An object of which nothing is known.
#[derive(Debug, Default)]
pub struct Object<'a> {
    pub unknown: Unknown<'a>,
}

object!(Object, known: {}, dropped: []);
