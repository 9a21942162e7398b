//! Stand-ins for the features that a build leaves out. They find nothing and offer nothing.

#[cfg(not(feature = "files"))]
pub mod files {
    use engine::ports::ToolError;
    use futures::FutureExt;
    use futures::future::LocalBoxFuture;
    use worker::Env;

    use crate::storage::StoreError;
    use crate::storage::outgoing::Outgoing;

    pub fn template(_: &Env, _: &str, _: &str) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        async { Err(ToolError("this deployment has no workspaces".to_owned())) }.boxed_local()
    }

    pub fn has_workspaces(_: &Env) -> bool {
        false
    }

    pub async fn delete_of_threads(_: &Env, _: &[Outgoing]) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(not(feature = "instructions"))]
pub mod instructions {
    use wire::protocol::TreeInstructions;

    use crate::adapters::Retrieved;
    use crate::chat::Ask;
    use crate::storage::StoreError;
    use crate::thread::Thread;

    /// A thread knows no instructions.
    #[derive(Default)]
    pub struct Known {}

    /// No instructions.
    #[derive(Clone, Default)]
    pub struct Read {
        pub failure: Option<String>,
    }

    impl Read {
        pub fn section(&self) -> String {
            String::new()
        }

        pub fn in_tree(&self) -> Vec<TreeInstructions> {
            Vec::new()
        }
    }

    impl Thread {
        pub async fn instructions(&self, _: &Ask<'_>) -> Read {
            Read::default()
        }

        pub fn keep_instructions(&self, _: &Retrieved) -> Result<(), StoreError> {
            Ok(())
        }
    }
}

#[cfg(not(feature = "knowledge"))]
pub mod knowledge {
    use wire::protocol::{ApiError, ErrorCode};
    use worker::Env;

    use crate::adapters::Retrieved;
    use crate::chat::Ask;
    use crate::storage::StoreError;
    use crate::storage::outgoing::Outgoing;
    use crate::thread::Thread;

    pub async fn follow_paths(_: &Env, _: &[Outgoing]) -> Result<(), StoreError> {
        Ok(())
    }

    impl Thread {
        /// Refuses a request that names collections, because there are none.
        pub async fn collections(&self, ask: &Ask<'_>) -> Result<(), ApiError> {
            match ask.request.collections.as_deref() {
                None | Some([]) => Ok(()),
                Some(_) => {
                    let detail = "this deployment has no collections";
                    Err(ApiError::new(ErrorCode::CollectionNotFound, detail))
                }
            }
        }

        pub async fn retrieve(&self, _: &Ask<'_>, (): &()) -> Retrieved {
            Retrieved::default()
        }
    }
}

#[cfg(not(feature = "mcp"))]
pub mod mcp {
    use std::collections::BTreeSet;
    use std::rc::Rc;

    use engine::ports::{ToolError, Tools};
    use engine::toolbelt::{ToolRules, ToolSpec};
    use futures::FutureExt;
    use futures::future::LocalBoxFuture;
    use wire::protocol::{ApiError, ContextKind, Owner};

    use crate::storage::outgoing::News;
    use crate::thread::Thread;

    /// No servers, and no offers.
    pub struct Offered;

    impl Offered {
        pub fn unlisted(_: &Thread) -> Result<Self, ApiError> {
            Ok(Offered)
        }

        pub fn allowed(&self, _: ContextKind, _: &Owner) -> BTreeSet<String> {
            BTreeSet::new()
        }

        pub fn rules(&self, rules: ToolRules) -> ToolRules {
            rules
        }

        pub fn note(&self) -> String {
            String::new()
        }

        pub fn template(
            &self,
            _: &str,
            _: &str,
            _: &[ToolSpec],
        ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
            async { Err(ToolError("this deployment has no MCP servers".to_owned())) }.boxed_local()
        }

        pub fn with(&self, tools: Rc<dyn Tools>) -> Rc<dyn Tools> {
            tools
        }

        pub fn failures(&self, _: u64) -> impl Iterator<Item = News> {
            std::iter::empty()
        }
    }

    impl Thread {
        pub async fn offered(&self, _: ContextKind, _: &Owner) -> Result<Offered, ApiError> {
            Ok(Offered)
        }
    }
}

#[cfg(not(feature = "records"))]
pub mod records {
    use std::rc::Rc;

    use uuid::Uuid;
    use wire::protocol::{ApiError, ErrorCode, Owner};
    use worker::{Env, Response};

    use crate::adapters::Ending;
    use crate::storage::StoreError;
    use crate::storage::outgoing::Outgoing;
    use crate::thread::Thread;

    /// This build keeps no records, so it sends none.
    #[derive(Default)]
    pub struct Sending {}

    impl Sending {
        pub fn is_under_way(&self) -> bool {
            false
        }
    }

    pub fn ending(_: &Thread) -> Option<Ending> {
        None
    }

    pub async fn delete_of_threads(_: &Env, _: &[Outgoing]) -> Result<(), StoreError> {
        Ok(())
    }

    fn not_kept() -> ApiError {
        ApiError::new(ErrorCode::RecordNotKept, "this deployment keeps no records")
    }

    impl Thread {
        /// Forgets the journals that another build has left.
        pub async fn send_records(&self, _: bool) {
            let forget = || {
                while self.store.exists()?
                    && let Some(turn) = self.store.ended_journal()?
                {
                    self.store.forget_journal(&turn.turn_id)?;
                }
                Ok::<_, StoreError>(())
            };
            if let Err(error) = forget() {
                worker::console_error!("journals of ended turns: {error}");
            }
        }

        pub async fn record(self: &Rc<Self>, owner: &Owner, _: Uuid) -> Result<Response, ApiError> {
            self.found(owner)?;
            Err(not_kept())
        }

        pub async fn records(
            self: &Rc<Self>,
            owner: &Owner,
            _: u32,
            _: Option<&str>,
        ) -> Result<Response, ApiError> {
            self.found(owner)?;
            Err(not_kept())
        }
    }
}

#[cfg(not(feature = "shares"))]
mod shares {
    use std::rc::Rc;

    use wire::protocol::{ApiError, ErrorCode, Owner, Shown};
    use worker::Response;

    use crate::thread::Thread;

    impl Thread {
        pub fn snapshot(
            self: &Rc<Self>,
            owner: &Owner,
            _: Option<&str>,
            _: Shown,
        ) -> Result<Response, ApiError> {
            self.found(owner)?;
            Err(ApiError::new(ErrorCode::SharesOff, "this deployment has no share links"))
        }
    }
}

#[cfg(not(feature = "telemetry"))]
pub mod telemetry {
    use crate::storage::StoreError;
    use crate::storage::outgoing::Outgoing;
    use crate::thread::Thread;

    pub async fn tell(_: &Thread, _: &[Outgoing]) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(not(feature = "titles"))]
pub mod titles {
    use std::rc::Rc;

    use crate::adapters::AtEnd;
    use crate::storage::StoreError;
    use crate::storage::outgoing::Outgoing;
    use crate::storage::sql::Store;
    use crate::storage::thread::ThreadMeta;
    use crate::thread::Thread;

    pub fn at_end(_: &Thread) -> Option<AtEnd> {
        None
    }

    pub fn named(_: &Store) -> Result<(), StoreError> {
        Ok(())
    }

    pub fn lost(_: &Store, _: &ThreadMeta, _: u64) -> Result<Option<Outgoing>, StoreError> {
        Ok(None)
    }

    pub fn spawn(_: &Rc<Thread>) {}
}

#[cfg(not(feature = "web"))]
pub mod web {
    use crate::thread::Thread;
    use wire::protocol::Owner;

    pub async fn post(_: &Thread, _: &Owner, _: &str, _: Vec<u8>) -> Result<(), String> {
        Err("this deployment sends nothing to the web".to_owned())
    }
}

#[cfg(not(feature = "workflows"))]
pub mod workflows {
    use wire::protocol::{ApiError, Owner, WorkflowDetail};
    use worker::Env;

    pub async fn find(_: &Env, _: &Owner, _: &str) -> Result<Option<WorkflowDetail>, ApiError> {
        Ok(None)
    }
}
