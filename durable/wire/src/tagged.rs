//! Reads enums whose tag stands among the members. Serde's derived reader buffers such a value, and compiles every type
//! within it a second time for the buffer: 80 KB of gzipped wasm. This one takes the value as raw JSON, looks for the
//! tag, and reads the same JSON as the fields of that variant.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Implements `Deserialize` for an enum with `#[serde(tag = "…")]`:
///
/// ```
/// # #[derive(serde::Serialize)]
/// # #[serde(tag = "is")]
/// enum Shape {
///     Point,
///     Circle { radius: f64, color: String },
///     Other(Vec<String>),
/// }
///
/// wire::tagged!(Shape by "is" {
///     "Point" => Point,
///     "Circle" => Circle { radius, #[serde(default)] color },
///     "Other" => Other(_),
/// });
/// # let circle = serde_json::from_str(r#"{"radius": 1, "is": "Circle"}"#);
/// # assert!(matches!(circle, Ok(Shape::Circle { radius: 1.0, .. })));
/// ```
///
/// A field after `..` is flattened: the object has the fields of its struct. A struct with such a field is read in the
/// same way: `tagged!(Dot { size, ..at: Point { x, y } })`.
#[macro_export]
macro_rules! tagged {
    ($type:ident by $tag:literal { $($name:literal => $variant:ident $({ $($fields:tt)* })? $(($inner:tt))?),* $(,)? }) => {
        #[allow(non_camel_case_types, reason = "the parameters of `Fields` are named like the fields")]
        impl $crate::tagged::Tagged for $type {
            const TAG: &'static str = $tag;

            fn variant(name: &str, json: &str) -> serde_json::Result<Self> {
                let json = $crate::json::Objects(&mut serde_json::Deserializer::from_str(json));
                match name {
                    $($name => $crate::tagged!(@ json, $type::$variant $({ $($fields)* })? $(($inner))?),)*
                    _ => Err($crate::tagged::unknown(name)),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::tagged::read(from)
            }
        }
    };
    ($type:ident { $($fields:tt)* }) => {
        #[allow(non_camel_case_types, reason = "the parameters of `Fields` are named like the fields")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::tagged!(@ from, $type { $($fields)* })
            }
        }
    };
    (@ $from:ident, $type:ident $(:: $variant:ident)?) => {
        Ok($type $(:: $variant)?)
    };
    (@ $from:ident, $type:ident $(:: $variant:ident)? (_)) => {
        serde::Deserialize::deserialize($from).map($type $(:: $variant)?)
    };
    (@ $from:ident, $type:ident $(:: $variant:ident)? {
        $($(#[$attribute:meta])* $field:ident),* $(, ..$flat:ident: $inner:ident { $($member:ident),* })? $(,)?
    }) => {{
        // The types of the fields are those of the struct or variant, which the compiler infers.
        #[derive(serde::Deserialize)]
        struct Fields<$($field,)* $($($member),*)?> {
            $($(#[$attribute])* $field: $field,)*
            $($($member: $member),*)?
        }
        serde::Deserialize::deserialize($from).map(|Fields { $($field,)* $($($member),*)? }| $type $(:: $variant)? {
                $($field,)*
                $($flat: $inner { $($member),* })?
            })
    }};
}

/// An enum whose tag stands among the members.
pub trait Tagged: Sized {
    /// The name of the member that is the tag.
    const TAG: &'static str;

    /// Reads the variant of this name from the whole JSON: in one pass, for a caller that knows the tag.
    fn variant(name: &str, json: &str) -> serde_json::Result<Self>;
}

/// Finds the tag, and reads the variant.
pub fn read<'de, T: Tagged, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let json = Box::<RawValue>::deserialize(from)?;
    let name = name_of(json.get(), T::TAG).map_err(D::Error::custom)?;
    T::variant(&name, json.get()).map_err(D::Error::custom)
}

/// No variant has this name.
pub fn unknown(name: &str) -> serde_json::Error {
    Error::custom(format_args!("unknown variant `{name}`"))
}

fn name_of(json: &str, tag: &'static str) -> serde_json::Result<String> {
    let mut json = serde_json::Deserializer::from_str(json);
    json.deserialize_map(TagVisitor(tag))
}

/// Finds the tag among the members.
struct TagVisitor(&'static str);

impl<'de> Visitor<'de> for TagVisitor {
    type Value = String;

    fn expecting(&self, what: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(what, "an object with the member `{}`", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<String, A::Error> {
        let mut found = None;
        while let Some(name) = members.next_key::<String>()? {
            if name == self.0 {
                found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        found.ok_or_else(|| A::Error::missing_field(self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct At {
        x: u32,
        y: Option<u32>,
    }

    #[derive(Debug, PartialEq, Serialize)]
    #[serde(tag = "is")]
    enum Shape {
        Origin,
        Circle {
            radius: u32,
            color: String,
            #[serde(flatten)]
            at: At,
        },
        Other(At),
    }

    crate::tagged!(Shape by "is" {
        "Origin" => Origin,
        "Circle" => Circle { radius, #[serde(default)] color, ..at: At { x, y } },
        "Other" => Other(_),
    });

    #[test]
    fn a_tag_may_stand_anywhere() {
        let circle =
            |color: &str, y| Shape::Circle { radius: 2, color: color.to_owned(), at: At { x: 1, y } };
        for (json, shape) in [
            (r#"{"is":"Origin"}"#, Shape::Origin),
            (r#"{"more":{"is":"Circle"},"is":"Origin"}"#, Shape::Origin),
            (r#"{"is":"Circle","radius":2,"x":1}"#, circle("", None)),
            (r#"{"x":1,"y":3,"color":"red","radius":2,"is":"Circle"}"#, circle("red", Some(3))),
            (r#"{"x":1,"is":"Other","y":null}"#, Shape::Other(At { x: 1, y: None })),
        ] {
            assert_eq!(serde_json::from_str::<Shape>(json).ok(), Some(shape), "{json}");
        }
    }

    #[test]
    fn a_shape_survives_text_and_values() {
        let shapes = [
            Shape::Origin,
            Shape::Circle { radius: 2, color: "red".to_owned(), at: At { x: 1, y: Some(3) } },
            Shape::Other(At { x: 1, y: Some(2) }),
        ];
        for shape in shapes {
            let text = serde_json::to_string(&shape).unwrap();
            assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
            let value = serde_json::to_value(&shape).unwrap();
            assert_eq!(serde_json::from_value::<Shape>(value).unwrap(), shape);
        }
    }

    #[test]
    fn an_error_names_the_variant_or_the_member() {
        for (json, told) in [
            ("{}", "missing field `is`"),
            (r#"{"is":"Square"}"#, "unknown variant `Square`"),
            (r#"{"is":"Circle","x":1}"#, "missing field `radius`"),
            (r#"{"is":"Circle","radius":1}"#, "missing field `x`"),
            (r#"{"is":7}"#, "expected a string"),
            ("[]", "expected an object with the member `is`"),
        ] {
            let error = serde_json::from_str::<Shape>(json).unwrap_err().to_string();
            assert!(error.contains(told), "{json}: {error}");
        }
    }
}
