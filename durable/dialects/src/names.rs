//! The names of a client's tools. Ours begin with `ui_` and have small letters, digits and `_`. The client's may have
//! capitals and signs, so each name becomes one of ours, from which it can be read back: `getWeather` is
//! `ui_get_weather`, `get_weather` is `ui_get__weather`, `get-x` is `ui_get_2dx`. Where ours would be too long for
//! providers, its end is a digest of the client's, which the turn keeps beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use wire::tool_names::{MAX_TOOL_NAME, shortened};

const PREFIX: &str = "ui_";

/// Our name for a client's tool, and whether it is a shortened one. The error says what is wrong with the client's.
pub fn named(name: &str) -> Result<(String, bool), &'static str> {
    let whole = Some(name).filter(|name| !name.is_empty()).and_then(ours);
    let ours = whole.ok_or("a name has letters, digits and signs of ASCII")?;
    if name.len() > MAX_TOOL_NAME {
        return Err("a name has 64 characters at most");
    }
    let is_long = ours.len() > MAX_TOOL_NAME;
    Ok((if is_long { shortened(&ours, name) } else { ours }, is_long))
}

/// The client's names of one turn, by those of ours that are shortened.
#[derive(Default)]
pub struct ClientNames(BTreeMap<String, String>);

impl ClientNames {
    /// Those of the event `session`.
    pub fn new(names: &BTreeMap<String, String>) -> Self {
        ClientNames(names.clone())
    }

    /// The client's name for a tool. A name that is none of a client's stays as it is.
    pub fn theirs<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        self.0.get(name).map_or_else(|| theirs(name), |own| Cow::Borrowed(own))
    }
}

fn ours(name: &str) -> Option<String> {
    let mut ours = PREFIX.to_owned();
    for letter in name.chars() {
        match letter {
            'a'..='z' | '0'..='9' => ours.push(letter),
            'A'..='Z' => ours.extend(['_', letter.to_ascii_lowercase()]),
            '_' => ours.push_str("__"),
            // The codes of the other signs that can be printed begin with a digit, so no code looks like a capital.
            ' '..='~' => write!(ours, "_{:02x}", u32::from(letter)).ok()?,
            _ => return None,
        }
    }
    Some(ours)
}

fn theirs(name: &str) -> Cow<'_, str> {
    let read = name.strip_prefix(PREFIX).filter(|rest| !rest.is_empty()).and_then(read_back);
    read.map_or(Cow::Borrowed(name), Cow::Owned)
}

fn read_back(rest: &str) -> Option<String> {
    let mut name = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '_' => match letters.next()? {
                '_' => name.push('_'),
                capital @ 'a'..='z' => name.push(capital.to_ascii_uppercase()),
                high => {
                    let code = high.to_digit(16)? * 16 + letters.next()?.to_digit(16)?;
                    name.push(char::from_u32(code)?);
                }
            },
            letter => name.push(letter),
        }
    }
    // Two names of ours must not be read as one of theirs.
    (ours(&name)?.strip_prefix(PREFIX)? == rest).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 22
    #[test]
    fn each_name_has_one_of_ours_and_comes_back() {
        for (name, expected) in [
            ("getWeather", "ui_get_weather"),
            ("get_weather", "ui_get__weather"),
            ("get-x", "ui_get_2dx"),
            ("get.x y", "ui_get_2ex_20y"),
            ("GET", "ui__g_e_t"),
            ("_", "ui___"),
            ("ui_paste", "ui_ui__paste"),
            ("x2", "ui_x2"),
        ] {
            assert_eq!(ours(name).as_deref(), Some(expected));
            assert_eq!(theirs(expected), name);
        }
        let printed: String = (' '..='~').collect();
        assert_eq!(theirs(&ours(&printed).unwrap()), printed);
        for name in ["get_weather", "GET"] {
            assert_eq!(named(name).ok(), Some((ours(name).unwrap(), false)));
        }
        for strange in ["wetter\u{fc}", "\n", "\u{7f}"] {
            assert_eq!(ours(strange), None, "{strange:?}");
        }
    }

    // Issue 44
    #[test]
    fn a_name_that_becomes_too_long_is_shortened_by_a_digest() {
        let (longest, longer) = ("a".repeat(61), "a".repeat(62));
        assert_eq!(named(&longest), Ok((format!("ui_{longest}"), false)));
        let (short, is_long) = named(&longer).unwrap();
        assert_eq!((short.len(), is_long), (64, true));
        assert_eq!(short, named(&longer).unwrap().0, "the same in each turn");
        assert_ne!(short, named(&format!("{longest}b")).unwrap().0);
        let names = ClientNames::new(&BTreeMap::from([(short.clone(), longer.clone())]));
        assert_eq!(names.theirs(&short), longer);
        assert_eq!(names.theirs("ui_get_weather"), "getWeather");
        assert_eq!(names.theirs("calculate"), "calculate");
        for most in ["A".repeat(64), "-".repeat(64)] {
            assert_eq!(named(&most).map(|(short, is_long)| (short.len(), is_long)), Ok((64, true)));
            assert_eq!(named(&format!("{most}x")), Err("a name has 64 characters at most"));
        }
        assert!(named("").is_err());
    }

    // Issue 22
    #[test]
    fn a_name_that_is_no_clients_stays() {
        for name in ["calculate", "ui_", "ui_a_", "ui_a_2", "ui_a_61", "ui_a_2D", "ui_a_zz_"] {
            assert_eq!(theirs(name), name);
        }
    }
}
