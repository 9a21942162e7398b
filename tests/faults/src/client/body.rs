//! The request of a turn, and of the workflow that some turns need.

use espalier_test_support::{Value, json};

use std::time::Duration;

use tokio::time::sleep;

use super::{Clients, Order, User};
use crate::script::{self, Shape};

/// The request of a turn.
pub(super) fn body_of(order: &Order) -> Value {
    let mut body = json!({
        "thread_id": order.thread_id, "turn_id": script::turn_id(order.number),
        "content": order.shape.message(order.number), "request_seq": order.request_seq,
    });
    if let Some(id) = &order.beside {
        body["replaces_message_id"] = json!(id);
    }
    if order.queued {
        body["request_seq"] = json!(null);
        body["if_running"] = json!("queue");
        // Its start asks D1: a kill may come between the end of the turn before and the start.
        body["memory_enabled"] = json!(true);
    }
    if order.shape == Shape::Asks {
        body["chat_context"] = json!({ "kind": "editor" });
        body["client_tools"] = script::client_tools();
    }
    if order.shape == Shape::Talks {
        body["agents"] = json!(true);
    }
    if order.shape == Shape::Steps {
        body["workflow_target"] = json!("workflow");
        body["workflow_id"] = json!(script::steps::WORKFLOW);
    }
    if order.shape == Shape::Plans {
        body["chat_context"] = json!({ "context_type": "project" });
    }
    if order.shape == Shape::Limited {
        body["chat_context"] = json!({ "context_type": script::LIMITED_CONTEXT });
    }
    if order.shape == Shape::Grows {
        body["chat_context"] = json!({ "context_type": script::GROWING_CONTEXT });
    }
    if order.shape == Shape::Long {
        body["chat_context"] = json!({ "context_type": script::LONG_CONTEXT });
    }
    match order.continues {
        Some(continued) => json!({
            "thread_id": order.thread_id, "turn_id": script::turn_id(order.number),
            "continue": script::turn_id(continued), "chat_context": body["chat_context"],
        }),
        None => body,
    }
}

impl Clients {
    /// Gives a user the workflow of the turns with steps.
    pub(super) async fn define(&self, user: &User) {
        let path = format!("/api/workflows/{}", script::steps::WORKFLOW);
        loop {
            match user.send("PUT", &path, &[], &script::steps::definition()).await {
                Some(reply) if reply.status < 300 => return,
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(30)).await;
        }
    }
}
