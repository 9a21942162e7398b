//! A wall before raw messages. A codec returns the bytes of a reply to its provider. Rows of earlier releases may have
//! others: a restored agent brought what its user wrote. Such a message could have the provider fetch an address from its
//! own network, or open an object of the operator's account. Each codec says which types its replies have; this file finds
//! what stands deeper in them. A message that is refused costs no error: the plain message stands in its place.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Text;

/// Members with an address that a provider fetches, or the data itself.
const ADDRESSES: [&str; 5] = ["image_url", "video_url", "audio_url", "file_url", "file_data"];
/// The types of a `source` that has its data in it.
const INLINE: [&str; 3] = ["base64", "text", "content"];
/// Types that no reply has at any depth: references to objects of the operator's account.
const REFERENCES: [&str; 2] = ["item_reference", "container_upload"];

const REFUSED: &str = "no reply has this";

/// Whether a part of a raw message has all its data in it. `arguments`: members that the model wrote for a tool, in which
/// all is data. `objects`: members that name an object of the operator's account.
pub fn is_inline(raw: &RawValue, arguments: &[&str], objects: &[&str]) -> bool {
    let place = Place { is: Is::Data, arguments, objects };
    place.deserialize(raw).is_ok()
}

/// A value, by the name of its member. To read it is to check it.
#[derive(Clone, Copy)]
struct Place<'r> {
    is: Is,
    arguments: &'r [&'r str],
    objects: &'r [&'r str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Data,
    Type,
    /// An address, or an object with one as `url`.
    Address,
    Source,
    TypeOfSource,
    /// The name of an object. Null names none.
    Name,
}

impl Place<'_> {
    /// The place of a member; none where all of it is data.
    fn place_of_member(self, name: &str) -> Option<Self> {
        if self.arguments.contains(&name) {
            return None;
        }
        let is = match (name, self.is) {
            (name, _) if self.objects.contains(&name) => Is::Name,
            (name, _) if ADDRESSES.contains(&name) => Is::Address,
            ("url", Is::Address) => Is::Address,
            ("source", _) => Is::Source,
            ("type", Is::Source) => Is::TypeOfSource,
            ("url" | "file_id", Is::Source) => Is::Name,
            ("type", _) => Is::Type,
            _ => Is::Data,
        };
        Some(Place { is, ..self })
    }

    fn check_text<E: Error>(self, text: &str) -> Result<(), E> {
        let is_safe = match self.is {
            Is::Data | Is::Source => true,
            Is::Type => !text.starts_with("input_") && !REFERENCES.contains(&text),
            Is::Address => text.starts_with("data:"),
            Is::TypeOfSource => INLINE.contains(&text),
            Is::Name => false,
        };
        if is_safe { Ok(()) } else { Err(E::custom(REFUSED)) }
    }

    /// A value that is no text.
    fn check_other<E: Error>(self) -> Result<(), E> {
        if self.is == Is::Name { Err(E::custom(REFUSED)) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of a reply")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.check_text(text)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.check_other()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.check_other()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.check_other()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.check_other()
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        while list.next_element_seed(self)?.is_some() {}
        self.check_other()
    }

    // It sees each of two members with one name: servers differ in which of them counts.
    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(name) = members.next_key::<Text<'de>>()? {
            match self.place_of_member(name.as_str()) {
                Some(place) => members.next_value_seed(place)?,
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        self.check_other()
    }
}

#[cfg(test)]
mod tests;
