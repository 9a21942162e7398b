//! The names of a client's tools. Ours begin with `ui_` and have small letters, digits and `_`. The client's may have
//! capitals and signs, so each name becomes one of ours, from which it can be read back: `getWeather` is
//! `ui_get_weather`, `get_weather` is `ui_get__weather`, `get-x` is `ui_get_2dx`.

use std::borrow::Cow;
use std::fmt::Write;

const PREFIX: &str = "ui_";

/// Our name for a client's tool; none where it has a sign that is not of ASCII.
pub fn ours(name: &str) -> Option<String> {
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

/// The client's name for a tool. A name that is none of a client's stays as it is.
pub fn theirs(name: &str) -> Cow<'_, str> {
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
        for strange in ["wetter\u{fc}", "\n", "\u{7f}"] {
            assert_eq!(ours(strange), None, "{strange:?}");
        }
    }

    // Issue 22
    #[test]
    fn a_name_that_is_no_clients_stays() {
        for name in ["calculate", "ui_", "ui_a_", "ui_a_2", "ui_a_61", "ui_a_2D", "ui_a_zz_"] {
            assert_eq!(theirs(name), name);
        }
    }
}
