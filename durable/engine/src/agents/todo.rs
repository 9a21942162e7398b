//! `todo_write`: a level's list of things to do, in the turn's memory.

use serde::{Deserialize, Serialize};

use crate::journal::todo_key;
use crate::memory::{MAX_TURN_BYTES, MAX_VALUE_BYTES, Overlay};
use crate::own::OwnCall;
use crate::toolbelt::arguments::{self, refused};
use crate::toolbelt::{ToolError, ToolSpec};
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Level, Turn};

pub const NAME: &str = "todo_write";

/// The most entries of a list: a longer one is a plan.
pub const MAX_TODOS: usize = 50;
/// The longest entry in characters: a line.
pub const MAX_TODO_CHARS: usize = 500;

pub(crate) const CALL: Own =
    Own { facts: OwnCall { of_agents: true, ..OwnCall::plain(NAME) }, carrier: Carrier::AtOnce(todo_write) };

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub text: String,
    #[serde(default)]
    pub status: TodoStatus,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    #[default]
    Open,
    InProgress,
    Done,
}

#[derive(Deserialize)]
struct Arguments {
    todos: Vec<Todo>,
}

pub(crate) fn spec() -> ToolSpec {
    super::declared(NAME)
}

fn todo_write(turn: &Turn, level: &Level, json: &str) -> Outcome {
    let mut overlay = Overlay::new();
    let result = write(turn.maker(level), json, &mut overlay);
    if turn.record.borrow().memory_has_room(&overlay) {
        return Outcome { overlay, ..Outcome::of(result) };
    }
    let full = format!("the memory is full: a turn may write {MAX_TURN_BYTES} bytes in all");
    Outcome::of(Err(ToolError(full)))
}

fn write(agent: &str, json: &str, overlay: &mut Overlay) -> Result<String, ToolError> {
    let Arguments { todos } = arguments::read(&spec(), json)?;
    if todos.len() > MAX_TODOS {
        let problem = format!("there are {} of them, the limit is {MAX_TODOS}", todos.len());
        return Err(refused(&spec(), "todos", &problem));
    }
    let is_long = |todo: &Todo| todo.text.chars().count() > MAX_TODO_CHARS;
    if let Some(index) = todos.iter().position(is_long) {
        let problem = format!("it has more than {MAX_TODO_CHARS} characters");
        return Err(refused(&spec(), &format!("todos[{index}].text"), &problem));
    }
    let list = serde_json::to_string(&todos).map_err(|error| ToolError(error.to_string()))?;
    if list.len() > MAX_VALUE_BYTES {
        let problem = format!("they have {} bytes, the limit is {MAX_VALUE_BYTES}", list.len());
        return Err(refused(&spec(), "todos", &problem));
    }
    let open = todos.iter().filter(|todo| todo.status != TodoStatus::Done).count();
    overlay.insert(todo_key(agent), list);
    Ok(format!("{open} of {} to do", todos.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::journal::MAIN;

    //
    #[test]
    fn a_list_is_one_value_of_the_memory_and_bounded() {
        let todos = |count: usize, chars: usize| {
            let todo = json!({"text": "x".repeat(chars), "status": "done"});
            json!({"todos": vec![todo; count]}).to_string()
        };
        let mut overlay = Overlay::new();
        let list = json!({"todos": [{"text": "read", "status": "done"}, {"text": "write"}]}).to_string();
        assert_eq!(write(MAIN, &list, &mut overlay), Ok("1 of 2 to do".to_owned()));
        let read: Vec<Todo> = serde_json::from_str(&overlay["todo"]).unwrap();
        assert_eq!(
            read,
            [
                Todo { text: "read".to_owned(), status: TodoStatus::Done },
                Todo { text: "write".to_owned(), status: TodoStatus::Open },
            ]
        );
        assert_eq!(
            write("critic", &todos(MAX_TODOS, MAX_TODO_CHARS), &mut overlay),
            Ok("0 of 50 to do".to_owned())
        );
        assert_eq!(overlay.keys().collect::<Vec<_>>(), ["todo", "todo:critic"]);
        let refused = |json: String| write(MAIN, &json, &mut Overlay::new()).unwrap_err().0;
        assert!(refused(todos(MAX_TODOS + 1, 1)).contains("at todos: there are 51"));
        assert!(refused(todos(1, MAX_TODO_CHARS + 1)).contains("todos[0].text"));
        let escaped = json!({"todos": vec![json!({"text": "\u{1}".repeat(MAX_TODO_CHARS)}); 20]});
        assert!(refused(escaped.to_string()).contains("the limit is 50000"));
        assert!(refused("{}".to_owned()).contains("todos"));
    }
}
