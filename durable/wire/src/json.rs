//! Reads JSON into our types. A struct is an object: serde's derived code also reads an array as a struct, member by
//! member. No JSON of ours has that form, and it is a large part of the code that reads a struct, so this reader refuses
//! it.
//!
//! Every text goes through the functions here. So each type has its code once, for one kind of source: serde compiles it
//! anew for bytes and for a `Value`. Both together are 72 kB of gzipped wasm.

use std::fmt;
use std::str::from_utf8;

use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Result, Value};

/// Reads a text that is one value.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T> {
    serde_json::from_str(text).map(|Read(value)| value)
}

/// Reads the values of a text, one after the other. After an error it ends.
pub fn values<'de, T: Deserialize<'de>>(text: &'de str) -> impl Iterator<Item = Result<T>> {
    serde_json::Deserializer::from_str(text).into_iter().map(|read| read.map(|Read(value)| value))
}

/// Reads bytes that are one value.
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    from_str(from_utf8(bytes).map_err(Error::custom)?)
}

/// Reads a value through its text. An error has no position.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T> {
    from_str(&value.to_string()).map_err(|error| {
        let told = error.to_string();
        Error::custom(told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told))
    })
}

/// Reads a member that may be null: null is its default.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> std::result::Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Reads a column of a table whose text is JSON.
pub fn column<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> std::result::Result<T, D::Error> {
    from_str(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

/// A value as this reader reads it.
struct Read<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        T::deserialize(Objects(from)).map(Read)
    }
}

/// Reads structs as objects alone, at every depth.
pub struct Objects<D>(pub D);

/// Methods that read no value inside another one: they go on as they are.
macro_rules! plain {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, D::Error> {
            self.0.$method(visitor)
        })*
    };
}

/// Methods that read values inside a value.
macro_rules! nested {
    ($($method:ident($($name:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> std::result::Result<V::Value, D::Error> {
            self.0.$method($($name,)* Objects(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    nested! {
        deserialize_any()
        deserialize_option()
        deserialize_seq()
        deserialize_map()
        deserialize_newtype_struct(name: &'static str)
        deserialize_unit_struct(name: &'static str)
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, D::Error> {
        self.deserialize_map(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Methods of a visitor that get a value without parts.
macro_rules! leaves {
    ($($method:ident: $type:ty)*) => {
        $(fn $method<E: Error>(self, value: $type) -> std::result::Result<V::Value, E> {
            self.0.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, what: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(what)
    }

    leaves! {
        visit_bool: bool
        visit_i64: i64
        visit_u64: u64
        visit_f64: f64
        visit_str: &str
        visit_borrowed_str: &'de str
        visit_string: String
    }

    fn visit_none<E: Error>(self) -> std::result::Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> std::result::Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> std::result::Result<V::Value, D::Error> {
        self.0.visit_some(Objects(from))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> std::result::Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(from))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> std::result::Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> std::result::Result<V::Value, A::Error> {
        self.0.visit_map(Objects(members))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> std::result::Result<V::Value, A::Error> {
        self.0.visit_enum(Objects(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<S::Value, D::Error> {
        self.0.deserialize(Objects(from))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> std::result::Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    /// A name is a string, so it has no parts.
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> std::result::Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> std::result::Result<S::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Objects<A> {
    type Error = A::Error;
    type Variant = Objects<A::Variant>;

    /// The name of a variant is a string, so it has no parts.
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> std::result::Result<(S::Value, Self::Variant), A::Error> {
        let (name, variant) = self.0.variant_seed(seed)?;
        Ok((name, Objects(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn unit_variant(self) -> std::result::Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> std::result::Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Objects(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> std::result::Result<V::Value, A::Error> {
        self.0.tuple_variant(length, Objects(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, A::Error> {
        self.0.newtype_variant_seed(Members(visitor))
    }
}

/// Reads the members of a variant that is a struct.
struct Members<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Members<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<V::Value, D::Error> {
        Objects(from).deserialize_map(self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::{from_slice, from_str, from_value, values};

    #[derive(Debug, PartialEq, Deserialize)]
    struct Point {
        x: i32,
        #[serde(default)]
        y: Option<f64>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Origin,
        Dot(Point),
        Line { from: Point, to: Point },
        Pair(i32, i32),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(transparent)]
    struct Path(Vec<Point>);

    /// A kind of place in which a struct can stand, each once.
    #[derive(Debug, Deserialize)]
    struct All {
        path: Path,
        maybe: Option<Point>,
        named: BTreeMap<String, Point>,
        shape: Shape,
        pair: (Point, u8),
        boxed: Box<Point>,
        raw: Box<RawValue>,
        value: Value,
    }

    const ALL: &str = r#"{"path":[{"x":1}],"maybe":{"x":2},"named":{"a":{"x":3}},"shape":{"line":{"from":{"x":4},
        "to":{"x":5,"y":0.5}}},"pair":[{"x":6},7],"boxed":{"x":8},"raw":[9, {}],"value":[{"x":[10]}]}"#;

    #[test]
    fn each_kind_of_value_is_read() {
        let All { path, maybe, named, shape, pair, boxed, raw, value } = from_str(ALL).unwrap();
        let at = |x| Point { x, y: None };
        assert_eq!((path, maybe, pair), (Path(vec![at(1)]), Some(at(2)), (at(6), 7)));
        assert_eq!((named, *boxed), (BTreeMap::from([("a".to_owned(), at(3))]), at(8)));
        assert_eq!(shape, Shape::Line { from: at(4), to: Point { x: 5, y: Some(0.5) } });
        assert_eq!((raw.get(), value), ("[9, {}]", json!([{ "x": [10] }])));
        assert_eq!(from_str::<Shape>(r#""origin""#).unwrap(), Shape::Origin);
        assert_eq!(from_str::<Shape>(r#"{"dot":{"x":1}}"#).unwrap(), Shape::Dot(at(1)));
        assert_eq!(from_str::<Shape>(r#"{"pair":[1,2]}"#).unwrap(), Shape::Pair(1, 2));
        assert_eq!(from_str::<Option<Point>>("null").unwrap(), None);
        assert_eq!(from_str::<&str>(r#""borrowed""#).unwrap(), "borrowed");
    }

    #[test]
    fn an_array_is_no_struct_wherever_it_stands() {
        assert_eq!(serde_json::from_str::<Point>("[1]").unwrap(), Point { x: 1, y: None }, "serde takes it");
        for object in [r#"{"x":1}"#, r#"{"x":2}"#, r#"{"x":3}"#, r#"{"x":4}"#, r#"{"x":6}"#, r#"{"x":8}"#] {
            let error = from_str::<All>(&ALL.replacen(object, "[1, 2.0]", 1)).unwrap_err().to_string();
            assert!(error.contains("invalid type: sequence, expected struct Point"), "{object}: {error}");
        }
        for json in [r#"{"line":[{"x":1},{"x":2}]}"#, r#"{"dot":[1, 2.0]}"#] {
            let error = from_str::<Shape>(json).unwrap_err().to_string();
            assert!(error.contains("invalid type: sequence, expected struct"), "{json}: {error}");
        }
    }

    #[test]
    fn errors_are_serdes_with_their_position() {
        for (json, told) in [
            (r#"{"x":"one"}"#, r#"invalid type: string "one", expected i32 at line 1 column 10"#),
            ("{\n}", "missing field `x` at line 2 column 1"),
            (r#"{"x":1} 2"#, "trailing characters at line 1 column 9"),
            (r#"{"x":1"#, "EOF while parsing an object at line 1 column 6"),
            ("7", "invalid type: integer `7`, expected struct Point at line 1 column 1"),
        ] {
            assert_eq!(from_str::<Point>(json).unwrap_err().to_string(), told, "{json}");
            assert_eq!(serde_json::from_str::<Point>(json).unwrap_err().to_string(), told, "{json}");
        }
        let of_value = from_value::<Point>(&json!({ "x": "one" })).unwrap_err();
        assert_eq!(of_value.to_string(), r#"invalid type: string "one", expected i32"#);
        assert!(from_slice::<String>(b"\"\xff\"").unwrap_err().is_data());
    }

    #[test]
    fn values_end_with_the_first_that_cannot_be_read() {
        let read: Vec<Option<i32>> = values::<Point>(r#"{"x":1} {"x":2} {"x": {"x":3}"#)
            .map(|point| point.ok().map(|point| point.x))
            .collect();
        assert_eq!(read, [Some(1), Some(2), None]);
    }
}
