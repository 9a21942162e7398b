//! Paths in a workspace. The check refuses an ambiguous path instead of repairing it. So a path means the same to the
//! model, to the storage and to a person who downloads the file.

/// The longest path in bytes. R2 takes keys of 1024, of which the root has about 80.
pub const MAX_BYTES: usize = 512;
/// How deep folders may nest.
const MAX_DEPTH: usize = 16;

/// Characters that look like a separator or a dot, or change how the rest reads: writing directions, joiners,
/// zero-width spaces.
const LOOK_ALIKES: [char; 12] = [
    '\u{2024}', '\u{2025}', '\u{2026}', '\u{2044}', '\u{2215}', '\u{29f8}', '\u{fe52}', '\u{ff0e}',
    '\u{ff0f}', '\u{ff3c}', '\u{fe68}', '\u{29f5}',
];

/// Checks a path, relative to the root of its workspace. The error describes the problem to the caller.
pub fn check(path: &str) -> Result<(), String> {
    let refused = |why: &str| Err(format!("the path {:?} is refused: {why}", shown(path)));
    if path.is_empty() {
        return refused("it is empty");
    }
    if path.len() > MAX_BYTES {
        return refused(&format!("it has {} bytes, the limit is {MAX_BYTES}", path.len()));
    }
    if path.starts_with('/') {
        return refused("paths are relative to the workspace, without a slash in front");
    }
    for character in path.chars() {
        match character {
            '\\' => return refused("folders are separated by /"),
            ':' => return refused("it has a colon"),
            '%' => return refused("it has a percent sign, as an encoded path would"),
            _ if character.is_control() => return refused("it has a control character"),
            _ if LOOK_ALIKES.contains(&character) || is_invisible(character) => {
                return refused(&format!("it has the character U+{:04X}", u32::from(character)));
            }
            _ => {}
        }
    }
    if path.split('/').count() > MAX_DEPTH {
        return refused(&format!("it is nested more than {MAX_DEPTH} deep"));
    }
    for segment in path.split('/') {
        match segment {
            "" => return refused("a part of it is empty"),
            "~" => return refused("there is no home folder here"),
            _ if segment.chars().all(|character| character == '.') => {
                return refused(". and .. are not allowed in it");
            }
            _ if segment.trim() != segment || segment.ends_with('.') => {
                return refused("a part of it begins or ends with a space, or ends with a dot");
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The beginning of a path, for the error.
fn shown(path: &str) -> &str {
    path.split_at(path.floor_char_boundary(80)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-102 N-103
    // Long: a table of paths.
    #[test]
    fn ways_out_are_refused() {
        for path in [
            "",
            "/",
            "//",
            "/etc/passwd",
            "//etc/passwd",
            "/../x",
            "..",
            "../x",
            "../../x",
            "a/..",
            "a/../b",
            "a/../../b",
            "./x",
            "a/./b",
            ".",
            "...",
            "a/.../b",
            "a/....",
            "..../a",
            "a//b",
            "a/",
            "/a",
            "a/ ",
            " a",
            "a ",
            "a /b",
            "a/ b",
            "a./b",
            "a.",
            ".. ",
            " ..",
            ".. /x",
            "..\u{a0}/x",
            "~",
            "~/x",
            "a/~/b",
            "..\\x",
            "..\\..\\x",
            "a\\b",
            "\\\\host\\x",
            "C:\\x",
            "C:/x",
            "c:x",
            "file:///etc/passwd",
            "file:a",
            "http://host/x",
            "%2e%2e/x",
            "%2e%2e%2fx",
            "..%2fx",
            "%2fetc",
            "..%5cx",
            "..%252fx",
            "%00",
            "a%00.txt",
            "%c0%ae%c0%ae/x",
            "a%2f..%2fb",
            "100%",
            "a\0b",
            "\0",
            "a\nb",
            "a\r\nb",
            "a\tb",
            "\u{1b}[2J",
            "a\u{7f}",
            "a\u{85}b",
            "\u{ff0e}\u{ff0e}/x",
            "\u{2024}\u{2024}/x",
            "\u{2025}/x",
            "\u{2026}/x",
            "a\u{ff0f}b",
            "a\u{2215}b",
            "a\u{2044}b",
            "a\u{29f8}b",
            "..\u{ff3c}x",
            "\u{fe52}\u{fe52}/x",
            "a\u{202e}txt.exe",
            "a\u{200b}b",
            ".\u{200b}./x",
            "\u{feff}a",
            "a\u{2066}b",
            "a\u{2028}b",
            "a\u{ad}b",
            "a\u{fe0f}b",
            "a\u{e0041}b",
            "a/\u{200d}/b",
        ] {
            let refusal = check(path).unwrap_err();
            assert!(refusal.contains("is refused: "), "{path:?}: {refusal}");
        }
    }

    #[test]
    fn common_names_of_files_are_accepted() {
        for path in [
            "a",
            "notes.md",
            "src/main.rs",
            ".env",
            ".github/workflows/ci.yml",
            "a b/c d.txt",
            "Über uns/Straße.txt",
            "報告/二月.md",
            "a-b_c+d=e@f,g(h)[i]{j}'k!$&;#.txt",
            "..a",
            "a..b",
            "...a",
            "a/..b/c",
            "tar.gz.sig",
            "🌳.md",
            "a?b*c|d<e>\"f",
            "~a",
            "a~",
        ] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn length_and_depth_are_bounded() {
        assert!(check(&"a".repeat(MAX_BYTES)).is_ok());
        let refusal = check(&"ä".repeat(MAX_BYTES / 2 + 1)).unwrap_err();
        assert!(refusal.len() < 300 && refusal.contains("it has 514 bytes, the limit is 512"), "{refusal}");
        let nested = |depth: usize| vec!["a"; depth].join("/");
        assert!(check(&nested(MAX_DEPTH)).is_ok() && check(&nested(MAX_DEPTH + 1)).is_err());
    }
}
