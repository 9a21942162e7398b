//! The operations of the file tools.

use std::num::NonZeroUsize;
use std::rc::Rc;

use super::path::check;
use super::{
    DeleteArguments, EditArguments, ListArguments, MAX_FILE_BYTES, MAX_FILES, MAX_TOLD_BYTES,
    MAX_WORKSPACE_BYTES, MAX_WORKSPACES, ReadArguments, WriteArguments,
};
use crate::files::history;
use crate::files::port::too_long;
use crate::files::{FileInfo, Files, OnlyIf, Written};
use crate::marks::{IS_DATA, verbatim};
use engine::ports::{ToolContext, ToolError};
use engine::versions::{Seen, Versions};
use wire::protocol::{r2_key, workspaces_beside};
use wire::store::StoreError;

/// The mark around the content of a file.
pub(super) const CONTENT: &str = "file_content";

/// The workspace of one call.
pub(super) struct Workspace {
    files: Rc<dyn Files>,
    root: Rc<str>,
    seen: Rc<Seen>,
    operation_id: Rc<str>,
}

/// A checked path, and its key.
struct Location {
    path: String,
    key: String,
}

impl Workspace {
    pub(super) fn new(files: Rc<dyn Files>, context: &ToolContext) -> Result<Self, ToolError> {
        let root =
            context.workspace_root.clone().ok_or_else(|| ToolError::new("there is no workspace here"))?;
        Ok(Workspace {
            files,
            root,
            seen: Rc::clone(&context.seen),
            operation_id: Rc::clone(&context.operation_id),
        })
    }

    pub(super) async fn read(&self, arguments: ReadArguments) -> Result<String, ToolError> {
        let ReadArguments { path, from_line, lines } = arguments;
        let location = self.location(path)?;
        let Some((info, body)) = self.files.read(&location.key, MAX_FILE_BYTES).await? else {
            return Err(self.absent(&location));
        };
        let text = body.as_deref().map(std::str::from_utf8);
        self.seen.saw(&location.path, Some(info.version));
        match text {
            Some(Ok(text)) => {
                let from = from_line.map_or(1, NonZeroUsize::get);
                Ok(piece(&location.path, text, from, lines.map(NonZeroUsize::get)))
            }
            Some(Err(_)) => Ok(format!("{:?} is not text; it has {} bytes", location.path, info.bytes)),
            None => {
                let limit = MAX_FILE_BYTES;
                Ok(format!("{:?} has {} bytes, more than the limit of {limit}", location.path, info.bytes))
            }
        }
    }

    pub(super) async fn write(&self, arguments: WriteArguments) -> Result<String, ToolError> {
        let WriteArguments { path, content } = arguments;
        let location = self.location(path)?;
        let only_if = match self.seen.version(&location.path) {
            Some(Some(version)) => OnlyIf::Version(version),
            Some(None) | None => OnlyIf::Absent,
        };
        let bytes = content.len();
        self.put(&location, content, only_if).await?;
        Ok(format!("wrote {bytes} bytes to {:?}", location.path))
    }

    pub(super) async fn edit(&self, arguments: EditArguments) -> Result<String, ToolError> {
        let EditArguments { path, old_text, new_text, replace_all } = arguments;
        let location = self.location(path)?;
        if old_text.is_empty() || old_text == new_text {
            return Err(ToolError::new("old_text must not be empty, and new_text must differ from it"));
        }
        let Some((info, body)) = self.files.read(&location.key, MAX_FILE_BYTES).await? else {
            return Err(self.absent(&location));
        };
        if self.is_ours(&info) {
            self.seen.saw(&location.path, Some(info.version));
            return Ok(edited(&location, None));
        }
        match self.seen.version(&location.path) {
            Some(Some(version)) if version == info.version => {}
            Some(_) => return Err(changed(&location)),
            None => return Err(unread(&location)),
        }
        let text = body.and_then(|body| String::from_utf8(body).ok());
        let text = text.ok_or_else(|| {
            ToolError::new(format!("{:?} is not a text that can be edited here", location.path))
        })?;
        let count = text.matches(&old_text).count();
        match count {
            0 => {
                return Err(ToolError::new(format!("old_text was not found in {:?}", location.path)));
            }
            2.. if !replace_all => {
                let why = "give more of the text around it, or set replace_all";
                return Err(ToolError::new(format!(
                    "old_text occurs {count} times in {:?}: {why}",
                    location.path
                )));
            }
            _ => {}
        }
        let after = text
            .len()
            .saturating_sub(old_text.len() * count)
            .saturating_add(new_text.len().saturating_mul(count));
        check_size(after)?;
        self.put(&location, text.replace(&old_text, &new_text), OnlyIf::Version(info.version)).await?;
        Ok(edited(&location, Some(count)))
    }

    pub(super) async fn list(&self, arguments: ListArguments) -> Result<String, ToolError> {
        let folder =
            arguments.folder.map(|folder| folder.trim_end_matches('/').to_owned()).unwrap_or_default();
        let prefix = match folder.as_str() {
            "" => self.root.to_string(),
            folder => self.location(folder.to_owned())?.key + "/",
        };
        let files = self.files.list(&prefix).await?;
        if files.is_empty() {
            return Ok("there are no files".to_owned());
        }
        let mut list = String::new();
        for (at, file) in files.iter().enumerate() {
            let path = file.key.strip_prefix(&*self.root).unwrap_or_default();
            let line = format!("{path} ({} bytes)\n", file.bytes);
            if list.len() + line.len() > MAX_TOLD_BYTES {
                list.push_str(&format!("[and {} more: list a folder of them]", files.len() - at));
                break;
            }
            list.push_str(&line);
        }
        Ok(list.trim_end().to_owned())
    }

    /// The versions of all files.
    pub(super) async fn versions(&self) -> Result<Versions, ToolError> {
        let files = self.files.list(&self.root).await?;
        let version =
            |file: FileInfo| Some((file.key.strip_prefix(&*self.root)?.to_owned(), Some(file.version)));
        Ok(files.into_iter().filter_map(version).collect())
    }

    pub(super) async fn delete(&self, arguments: DeleteArguments) -> Result<String, ToolError> {
        let location = self.location(arguments.path)?;
        let found = self.files.read(&location.key, MAX_FILE_BYTES).await?;
        if let Some((info, body)) = found {
            match self.seen.version(&location.path) {
                Some(Some(version)) if version == info.version => {}
                Some(_) => return Err(changed(&location)),
                None => return Err(unread(&location)),
            }
            history::delete(self.files.as_ref(), &self.root, &location.path, (info, body)).await?;
        }
        // A missing file counts as deleted, so a call repeated after an interruption succeeds.
        self.seen.saw(&location.path, None);
        Ok(format!("{:?} is deleted", location.path))
    }

    /// Checks a path and makes its key. Every key comes from here.
    fn location(&self, path: String) -> Result<Location, ToolError> {
        check(&path).map_err(ToolError)?;
        let key = r2_key(&self.root, &path).ok_or_else(too_long)?;
        Ok(Location { path, key })
    }

    async fn put(&self, location: &Location, text: String, only_if: OnlyIf) -> Result<(), ToolError> {
        check_size(text.len())?;
        self.check_room(location, text.len()).await?;
        let was_read = matches!(only_if, OnlyIf::Version(_));
        let (files, body) = (self.files.as_ref(), text.into_bytes());
        let written =
            history::write(files, &self.root, &location.path, body, only_if, &self.operation_id).await?;
        let version = match written {
            Written::Version(version) => version,
            Written::Refused(Some(info)) if self.is_ours(&info) => info.version,
            Written::Refused(Some(_)) if was_read => return Err(changed(location)),
            Written::Refused(Some(_)) => return Err(unread(location)),
            Written::Refused(None) => return Err(self.absent(location)),
        };
        self.seen.saw(&location.path, Some(version));
        Ok(())
    }

    /// Whether this call wrote the present file before an interruption lost its result.
    fn is_ours(&self, info: &FileInfo) -> bool {
        info.operation.as_deref() == Some(&*self.operation_id)
    }

    async fn check_room(&self, location: &Location, bytes: usize) -> Result<(), ToolError> {
        room(self.files.as_ref(), &self.root, &location.key, bytes).await?.map_err(ToolError)
    }

    fn absent(&self, location: &Location) -> ToolError {
        self.seen.saw(&location.path, None);
        ToolError::new(format!("there is no file {:?} in the workspace", location.path))
    }
}

/// The whole text of a file.
pub(super) async fn whole(files: &dyn Files, root: Option<&str>, path: &str) -> Result<String, ToolError> {
    let root = root.ok_or_else(|| ToolError::new("there is no workspace here"))?;
    check(path).map_err(ToolError)?;
    let key = r2_key(root, path).ok_or_else(too_long)?;
    let found = files.read(&key, MAX_FILE_BYTES).await?;
    let (_, body) =
        found.ok_or_else(|| ToolError::new(format!("there is no file {path:?} in the workspace")))?;
    let text = body.and_then(|body| String::from_utf8(body).ok());
    text.ok_or_else(|| ToolError::new(format!("{path:?} is no text of at most {MAX_FILE_BYTES} bytes")))
}

/// Checks that a file of this size fits into its workspace. The first file of a named workspace creates the workspace,
/// so this also checks the limit of named workspaces.
pub async fn room(
    files: &dyn Files,
    root: &str,
    key: &str,
    bytes: usize,
) -> Result<Result<(), String>, StoreError> {
    let known = files.list(root).await?;
    if known.is_empty()
        && let Some(beside) = workspaces_beside(root)
        && files.folders(beside).await?.len() >= MAX_WORKSPACES
    {
        return Ok(Err(format!("there are {MAX_WORKSPACES} named workspaces already, delete some")));
    }
    Ok(has_room(&known, key, bytes))
}

/// Checks that a file of this size fits into its workspace, replacing the file of that key or beside the others.
pub(super) fn has_room(files: &[FileInfo], key: &str, bytes: usize) -> Result<(), String> {
    let others = files.iter().filter(|file| file.key != key);
    let (count, taken) = others.fold((0, 0_u64), |(count, taken), file| (count + 1, taken + file.bytes));
    if count >= MAX_FILES {
        return Err(format!("the workspace is full: the limit is {MAX_FILES} files, delete some"));
    }
    match taken.saturating_add(bytes as u64) > MAX_WORKSPACE_BYTES {
        true => Err(format!(
            "the workspace is full: {taken} of {MAX_WORKSPACE_BYTES} bytes are taken, delete some files"
        )),
        false => Ok(()),
    }
}

/// The lines of a text that fit into one result, as data. A last line names the missing part and where to read on.
fn piece(path: &str, text: &str, from: usize, lines: Option<usize>) -> String {
    let marked = |text: &str| format!("{IS_DATA}\n{}", verbatim(CONTENT, ("path", path), text));
    if from == 1 && lines.is_none() && text.len() <= MAX_TOLD_BYTES {
        return marked(text);
    }
    let all = text.lines().count();
    let (mut told, mut cut) = (String::new(), String::new());
    let mut through = from - 1;
    for line in text.split_inclusive('\n').skip(from - 1).take(lines.unwrap_or(usize::MAX)) {
        if told.len() + line.len() > MAX_TOLD_BYTES {
            if told.is_empty() {
                let (begin, _) = line.split_at(line.floor_char_boundary(MAX_TOLD_BYTES));
                told = begin.to_owned();
                cut = format!("[line {from} has {} bytes: this is its beginning]\n", line.len());
                through += 1;
            }
            break;
        }
        told.push_str(line);
        through += 1;
    }
    if through < from {
        return format!("[there is no line {from}: the file has {all} lines]");
    }
    let more = if through < all { format!(", read on from line {}", through + 1) } else { String::new() };
    format!("{}\n{cut}[lines {from} to {through} of {all}{more}]", marked(&told))
}

fn check_size(bytes: usize) -> Result<(), ToolError> {
    match bytes > MAX_FILE_BYTES {
        true => {
            Err(ToolError::new(format!("the file would have {bytes} bytes, the limit is {MAX_FILE_BYTES}")))
        }
        false => Ok(()),
    }
}

fn edited(location: &Location, count: Option<usize>) -> String {
    match count {
        Some(1) | None => format!("edited {:?}", location.path),
        Some(count) => format!("edited {:?} in {count} places", location.path),
    }
}

fn unread(location: &Location) -> ToolError {
    ToolError::new(format!(
        "{:?} exists, and you have not read it: read it first; nothing was changed",
        location.path
    ))
}

fn changed(location: &Location) -> ToolError {
    ToolError::new(format!(
        "{:?} has changed since you read it: read it again; nothing was changed",
        location.path
    ))
}
