//! Reads enums whose tag stands among the members. Serde's derived reader buffers such a value, and compiles every type
//! within it a second time for the buffer: 80 KB of gzipped wasm. This one takes the value as raw JSON, looks for the
//! tag, and reads the same JSON as the fields of that variant.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Declares an enum with its JSON: its tag is a member beside those of the variant, and each variant has its name there.
/// Serde's derived code writes it. So one list has the names, the fields and their types, for both directions.
///
/// ```
/// wire::tagged! {
///     #[derive(Debug, PartialEq)]
///     pub enum Shape by "is" {
///         "point" => Point,
///         "circle" => Circle {
///             radius: f64,
///             #[serde(default)]
///             color: String,
///         },
///         "other" => Other(Vec<String>),
///     }
/// }
/// # let circle = serde_json::from_str(r#"{"radius": 1, "is": "circle"}"#);
/// # assert!(matches!(circle, Ok(Shape::Circle { radius: 1.0, .. })));
/// ```
///
/// A field after `..` is flattened: the object has the fields of its struct, which stand in braces. A struct with such a
/// field is declared in the same way: `tagged! { pub struct Dot { pub size: u32, ..pub at: Point { x, y } } }`. The
/// attributes of a field come in this order: its documentation, `serde`, `cfg_attr`.
#[macro_export]
macro_rules! tagged {
    ($(#[$meta:meta])* $vis:vis enum $type:ident by $tag:literal { $(
        $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])?
        $name:literal => $variant:ident $(($inner:ty))? $({
            $($(#[doc = $text:literal])* $(#[serde($($rule:tt)*)])? $(#[cfg_attr($($cfg:tt)*)])? $field:ident: $of:ty),*
            $(, ..$flat:ident: $part:ident { $($member:ident),* } $(,
                $(#[doc = $more_text:literal])* $(#[serde($($more_rule:tt)*)])? $more:ident: $more_of:ty)*)?
            $(,)?
        })?
    ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        #[serde(tag = $tag)]
        $vis enum $type { $(
            $(#[doc = $doc])* $(#[serde($($serde)*)])?
            #[serde(rename = $name)]
            $variant $(($inner))? $({
                $($(#[doc = $text])* $(#[serde($($rule)*)])? $(#[cfg_attr($($cfg)*)])? $field: $of,)*
                $(#[serde(flatten)] $flat: $part, $(
                    $(#[doc = $more_text])* $(#[serde($($more_rule)*)])? $more: $more_of,)*)?
            })?,
        )* }

        #[allow(non_camel_case_types, reason = "the parameters of `Fields` are named like the fields")]
        impl $crate::tagged::Tagged for $type {
            const TAG: &'static str = $tag;
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn name(&self) -> &'static str {
                match self {
                    $($type::$variant { .. } => $name,)*
                }
            }

            fn variant(name: &str, json: &str) -> serde_json::Result<Self> {
                let json = $crate::json::Objects(&mut serde_json::Deserializer::from_str(json));
                match name {
                    $($name => $crate::tagged!(@ json, $(#[serde($($serde)*)])? ($type::$variant) $(($inner))? $({
                        $($(#[serde($($rule)*)])? $field: $of,)*
                        $($($(#[serde($($more_rule)*)])? $more: $more_of,)* ..$flat: $part { $($member),* })?
                    })?),)*
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
    ($(#[$meta:meta])* $vis:vis struct $type:ident {
        $($(#[doc = $text:literal])* $(#[serde($($rule:tt)*)])? pub $field:ident: $of:ty,)*
        ..pub $flat:ident: $part:ident { $($member:ident),* } $(,
            $(#[doc = $more_text:literal])* $(#[serde($($more_rule:tt)*)])? pub $more:ident: $more_of:ty)* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        $vis struct $type {
            $($(#[doc = $text])* $(#[serde($($rule)*)])? pub $field: $of,)*
            #[serde(flatten)]
            pub $flat: $part,
            $($(#[doc = $more_text])* $(#[serde($($more_rule)*)])? pub $more: $more_of,)*
        }

        #[allow(non_camel_case_types, reason = "the parameters of `Fields` are named like the fields")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::tagged!(@ from, ($type) {
                    $($(#[serde($($rule)*)])? $field: $of,)*
                    $($(#[serde($($more_rule)*)])? $more: $more_of,)*
                    ..$flat: $part { $($member),* }
                })
            }
        }
    };
    (@ $from:ident, ($($type:tt)*)) => {
        Ok($($type)*)
    };
    (@ $from:ident, ($($type:tt)*) ($inner:ty)) => {
        serde::Deserialize::deserialize($from).map($($type)*)
    };
    (@ $from:ident, $(#[$rules:meta])? ($($type:tt)*) {
        $($(#[$rule:meta])? $field:ident: $of:ty,)* $(..$flat:ident: $part:ident { $($member:ident),* })?
    }) => {{
        // The types of the flattened fields are those of their struct, which the compiler infers.
        #[derive(serde::Deserialize)]
        $(#[$rules])?
        struct Fields<$($($member),*)?> {
            $($(#[$rule])? $field: $of,)*
            $($($member: $member),*)?
        }
        serde::Deserialize::deserialize($from).map(|Fields { $($field,)* $($($member),*)? }| $($type)* {
            $($field,)*
            $($flat: $part { $($member),* })?
        })
    }};
}

/// An enum whose tag stands among the members.
pub trait Tagged: Sized {
    /// The name of the member that is the tag.
    const TAG: &'static str;
    /// The names of the variants, in their order.
    const NAMES: &'static [&'static str];

    /// The name of this variant.
    fn name(&self) -> &'static str;

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

    crate::tagged! {
        #[derive(Debug, PartialEq)]
        enum Shape by "is" {
            "Origin" => Origin,
            "Circle" => Circle {
                radius: u32,
                ..at: At { x, y },
                #[serde(default)]
                color: String,
            },
            "Other" => Other(At),
        }
    }

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
