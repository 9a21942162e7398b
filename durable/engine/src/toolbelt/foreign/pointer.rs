//! References of a foreign schema: from ids, anchors and paths of the given schema to paths of the rewritten one.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{COMBINED, LISTS, MAPS, PARTS};

/// The paths under which the dialects keep definitions at the root.
const DEFINITIONS: [&str; 3] = ["/$defs", "/definitions", "/components/schemas"];
/// The signs that a fragment must not have as they are: RFC 3986, section 3.5.
const FRAGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b'$')
    .remove(b'!')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'?');

/// The places of a given schema.
pub struct Pointers<'a> {
    root: &'a Value,
    /// The paths of the schemas that have a name: an id, or an anchor with its `#`.
    named: BTreeMap<String, String>,
    /// The definitions of the root: the given path, the name in `$defs`, the schema.
    definitions: Vec<(String, String, &'a Value)>,
}

impl<'a> Pointers<'a> {
    pub fn new(root: &'a Value) -> Self {
        let mut pointers = Pointers { root, named: BTreeMap::new(), definitions: Vec::new() };
        let mut taken = BTreeSet::new();
        for at in DEFINITIONS {
            for (name, schema) in root.pointer(at).and_then(Value::as_object).into_iter().flatten() {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
                let plain: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
                // Numbers, because a hostile schema has many names that differ by other signs alone.
                let numbered = (pointers.definitions.len()..).map(|number| format!("{plain}_{number}"));
                let mut names = [plain.clone(), format!("{plain}_")].into_iter().chain(numbered);
                let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
                taken.insert(free.clone());
                pointers.definitions.push((format!("{at}/{}", escaped(name)), free, schema));
            }
        }
        pointers.name(root, String::new());
        for (path, _, schema) in pointers.definitions.clone() {
            pointers.name(schema, path);
        }
        pointers
    }

    /// The members of the root.
    pub fn root(&self) -> *const Map<String, Value> {
        self.root.as_object().map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// The definitions of the root, with their names in `$defs`.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &'a Value)> {
        self.definitions.iter().map(|(_, name, schema)| (name.as_str(), *schema))
    }

    /// The path of a schema that has an id of its own: its references begin there.
    pub fn base(&self, schema: &Map<String, Value>) -> Option<String> {
        let id = ids(schema).find(|id| !id.starts_with('#'))?;
        self.named.get(id.trim_end_matches('#')).cloned()
    }

    fn name(&mut self, schema: &'a Value, path: String) {
        let Value::Object(members) = schema else { return };
        let anchors =
            ["$anchor", "$dynamicAnchor"].into_iter().filter_map(|name| members.get(name)?.as_str());
        let anchors = anchors.map(|anchor| format!("#{anchor}"));
        for name in ids(members).map(|id| id.trim_end_matches('#').to_owned()).chain(anchors) {
            self.named.entry(name).or_insert_with(|| path.clone());
        }
        for (name, member) in members {
            let path = format!("{path}/{}", escaped(name));
            let is_definitions = path == "/$defs" || path == "/definitions";
            match member {
                Value::Object(parts) if MAPS.contains(&name.as_str()) && !is_definitions => {
                    parts
                        .iter()
                        .for_each(|(name, part)| self.name(part, format!("{path}/{}", escaped(name))));
                }
                Value::Array(parts) if name == "items" || LISTS.contains(&name.as_str()) => {
                    parts.iter().enumerate().for_each(|(at, part)| self.name(part, format!("{path}/{at}")));
                }
                member if PARTS.contains(&name.as_str()) => self.name(member, path),
                _ => {}
            }
        }
    }

    /// A reference as the rewritten schema needs it. One that leads nowhere stays, and the bounds refuse it.
    pub fn rewritten(&self, target: &str, base: &str) -> String {
        let named = self.named.get(target.trim_end_matches('#')).filter(|_| target != "#");
        let found = match (named, target.split_once('#')) {
            (Some(path), _) => self.path(path),
            (None, Some((id, fragment))) => {
                let fragment = percent_decode_str(fragment).decode_utf8_lossy();
                let from = if id.is_empty() { Some(base) } else { self.named.get(id).map(String::as_str) };
                let within = from.and_then(|from| self.path(&format!("{from}{fragment}")));
                within.or_else(|| self.path(&fragment))
            }
            (None, None) => None,
        };
        found.map_or_else(|| target.to_owned(), |path| format!("#{}", utf8_percent_encode(&path, FRAGMENT)))
    }

    /// The path in the rewritten schema of a path in the given one; none where it leads nowhere.
    fn path(&self, given: &str) -> Option<String> {
        self.root.pointer(given)?;
        let is_within = |path: &str| {
            given.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let definition = self.definitions.iter().find(|(path, ..)| is_within(path));
        let (mut at, mut path, rest) = match definition {
            Some((path, name, schema)) => (*schema, format!("/$defs/{name}"), given.get(path.len()..)?),
            None => (self.root, String::new(), given),
        };
        let mut tokens = rest.split('/').skip(1);
        while let Some(token) = tokens.next() {
            let name = unescaped(token);
            if at.as_object().is_some_and(is_wrapped) && !std::ptr::eq(at, self.root) {
                path.push_str("/anyOf/0");
            }
            let is_tuple = at.get("items").is_some_and(Value::is_array);
            let renamed = match token {
                "items" if is_tuple => "prefixItems",
                "additionalItems" if is_tuple => "items",
                "dependencies" => "dependentSchemas",
                token => token,
            };
            path.push('/');
            path.push_str(renamed);
            at = at.get(&name)?;
            // The next part of the path is a name or a place in a list, and no keyword.
            let is_list = at.is_array();
            if is_list || MAPS.contains(&name.as_str()) || name == "dependencies" {
                let Some(token) = tokens.next() else { break };
                path.push('/');
                path.push_str(token);
                at = match is_list {
                    true => at.get(token.parse::<usize>().ok()?)?,
                    false => at.get(unescaped(token))?,
                };
            }
        }
        Some(path)
    }
}

/// Whether a schema becomes one of two alternatives, of which the other is null.
pub fn is_wrapped(members: &Map<String, Value>) -> bool {
    members.get("nullable") == Some(&Value::Bool(true))
        && COMBINED.iter().any(|name| members.get(*name).is_some_and(|member| !member.is_null()))
}

/// The ids of a schema.
fn ids(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$id", "id"].into_iter().filter_map(|name| members.get(name).and_then(Value::as_str))
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
