//! Unknown members of a message (thought signatures, reasoning details …). The codec joins their pieces and returns
//! them to the provider unchanged.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::json::{Object, Text, Unknown};

/// Members by name, in the order in which they first came.
#[derive(Debug, Default)]
pub struct Members(Vec<(String, Member)>);

/// Keeps a member that came once as raw JSON. Parses only members that come in pieces, and only one level deep, because
/// a provider's nesting must not exhaust the stack.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Member {
    Once(Box<RawValue>),
    /// A string, joined from its pieces.
    Text(String),
    /// A list, joined from its pieces.
    List(Vec<Element>),
}

/// An element of a joined list. OpenRouter cuts one block of `reasoning_details` into elements with the same `index`
/// and `type`. The codec joins those again, because the signature must match the whole text.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Element {
    Whole(Box<RawValue>),
    Pieces(Members),
}

/// Members that each piece of an element repeats.
const REPEATED: [&str; 5] = ["type", "id", "index", "format", "signature"];

impl Members {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the members of a delta and returns their number of bytes. Skips null, which most servers send for an absent
    /// member.
    pub fn take(&mut self, unknown: &Unknown<'_>) -> usize {
        let mut bytes = 0;
        for (name, raw) in unknown.iter().filter(|(_, raw)| raw.get() != "null") {
            bytes += name.as_str().len() + raw.get().len();
            match self.find(name.as_str()) {
                Some(member) => member.join(raw),
                None => self.add(name.as_str(), Member::Once((*raw).to_owned())),
            }
        }
        bytes
    }

    /// Appends to a member that is a string, without parsing JSON.
    pub fn push_text(&mut self, name: &str, piece: &str) {
        match self.find(name) {
            Some(Member::Text(text)) => text.push_str(piece),
            Some(other) => {
                let mut text = other.as_text().into_owned();
                text.push_str(piece);
                *other = Member::Text(text);
            }
            None => self.add(name, Member::Text(piece.into())),
        }
    }

    /// Appends an element to a member that is a list, and returns its number of bytes.
    pub fn push_element(&mut self, name: &str, element: &RawValue) -> usize {
        if let Ok(list) = RawValue::from_string(format!("[{}]", element.get())) {
            match self.find(name) {
                Some(member) => member.join(&list),
                None => self.add(name, Member::Once(list)),
            }
        }
        element.get().len()
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// A member that is a string; empty for any other member.
    pub fn text(&self, name: &str) -> Cow<'_, str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map_or(Cow::Borrowed(""), |(_, member)| member.as_text())
    }

    /// The raw JSON of a member that came in one piece.
    pub fn json(&self, name: &str) -> Option<&RawValue> {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, Member::Once(raw))) => Some(raw),
            _ => None,
        }
    }

    /// Replaces the member of that name, or appends it.
    pub fn set(&mut self, name: &str, raw: Box<RawValue>) {
        match self.find(name) {
            Some(member) => *member = Member::Once(raw),
            None => self.add(name, Member::Once(raw)),
        }
    }

    /// Sets a member to a string.
    pub fn set_text(&mut self, name: &str, text: &str) {
        match self.find(name) {
            Some(member) => *member = Member::Text(text.into()),
            None => self.add(name, Member::Text(text.into())),
        }
    }

    /// Whether all members have one of these names.
    pub fn has_only(&self, names: &[&str]) -> bool {
        self.0.iter().all(|(known, _)| names.contains(&known.as_str()))
    }

    /// Removes a member that is an empty string.
    pub fn drop_if_empty(&mut self, name: &str) {
        self.0.retain(|(known, member)| {
            known != name || !matches!(member, Member::Text(text) if text.is_empty())
        });
    }

    /// Serializes the members as entries of a map.
    pub fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.iter().try_for_each(|(name, member)| map.serialize_entry(name, member))
    }

    fn find(&mut self, name: &str) -> Option<&mut Member> {
        self.0.iter_mut().find(|(known, _)| known == name).map(|(_, member)| member)
    }

    fn add(&mut self, name: &str, member: Member) {
        self.0.push((name.into(), member));
    }

    fn once(&self, name: &str) -> Option<&str> {
        self.json(name).map(RawValue::get)
    }

    fn of_element(raw: &RawValue) -> Option<Members> {
        let object: Object<'_> = wire::json::from_str(raw.get()).ok()?;
        let member =
            |(name, raw): &(Text<'_>, &RawValue)| (name.as_str().into(), Member::Once((*raw).to_owned()));
        let members = Members(object.unknown.iter().map(member).collect());
        members.once("index")?;
        Some(members)
    }

    /// Appends the next piece of an element.
    fn continue_with(&mut self, piece: Members) {
        for (name, member) in piece.0 {
            match (self.find(&name), member) {
                (None, member) => self.0.push((name, member)),
                (Some(_), Member::Once(raw)) if raw.get() == "null" => {}
                (Some(known), Member::Once(raw)) if !REPEATED.contains(&name.as_str()) => {
                    known.join_text(&raw)
                }
                (Some(known), member) => *known = member,
            }
        }
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl Member {
    fn as_text(&self) -> Cow<'_, str> {
        match self {
            Member::Text(text) => Cow::Borrowed(text),
            Member::Once(raw) => {
                wire::json::from_str::<Text<'_>>(raw.get()).map_or(Cow::Borrowed(""), |text| text.0)
            }
            Member::List(_) => Cow::Borrowed(""),
        }
    }

    fn join(&mut self, raw: &RawValue) {
        if let Member::Once(first) = self
            && first.get().starts_with('[')
            && raw.get().starts_with('[')
        {
            let mut list = vec![];
            join_list(&mut list, first);
            *self = Member::List(list);
        }
        match self {
            Member::List(list) => join_list(list, raw),
            Member::Once(_) | Member::Text(_) => self.join_text(raw),
        }
    }

    /// Joins two strings. A later value of any other type replaces the earlier one.
    fn join_text(&mut self, raw: &RawValue) {
        let piece = match raw.get().starts_with('"') {
            true => wire::json::from_str::<String>(raw.get()).ok(),
            false => None,
        };
        let Some(piece) = piece else {
            *self = Member::Once(raw.to_owned());
            return;
        };
        if let Member::Once(first) = self {
            *self = Member::Text(wire::json::from_str(first.get()).unwrap_or_default());
        }
        if let Member::Text(text) = self {
            text.push_str(&piece);
        }
    }
}

fn join_list(list: &mut Vec<Element>, raw: &RawValue) {
    let Ok(elements) = wire::json::from_str::<Vec<&RawValue>>(raw.get()) else { return };
    for raw in elements {
        let Some(piece) = Members::of_element(raw) else {
            list.push(Element::Whole(raw.to_owned()));
            continue;
        };
        let same =
            |known: &Members| ["index", "type"].iter().all(|name| known.once(name) == piece.once(name));
        match list.last_mut() {
            Some(Element::Pieces(known)) if same(known) => known.continue_with(piece),
            Some(Element::Whole(whole)) if Members::of_element(whole).as_ref().is_some_and(same) => {
                // This cannot fail: the guard has just parsed it.
                if let Some(mut known) = Members::of_element(whole) {
                    known.continue_with(piece);
                    list.pop();
                    list.push(Element::Pieces(known));
                }
            }
            _ => list.push(Element::Whole(raw.to_owned())),
        }
    }
}
