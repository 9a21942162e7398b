//! The demo model as a port: its script, played at the clock's pace.

use std::rc::Rc;
use std::vec;

use futures::StreamExt;
use futures::stream::{LocalBoxStream, unfold};

use crate::model::{ModelError, ModelEvent, ModelRequest};
use crate::ports::{Clock, Model};
use crate::providers::demo::{Beat, script};

/// Plays scripts. Dropping the stream stops it at the word.
pub struct DemoModel {
    clock: Rc<dyn Clock>,
}

impl DemoModel {
    pub fn new(clock: Rc<dyn Clock>) -> Self {
        DemoModel { clock }
    }
}

impl Model for DemoModel {
    fn call(&self, request: &ModelRequest) -> LocalBoxStream<'static, Result<Vec<ModelEvent>, ModelError>> {
        let start = (Rc::clone(&self.clock), script(request).into_iter());
        unfold(start, |(clock, mut beats): (Rc<dyn Clock>, vec::IntoIter<Beat>)| async move {
            let beat = beats.next()?;
            clock.sleep(beat.after_ms).await;
            Some((Ok(vec![beat.event]), (clock, beats)))
        })
        .boxed_local()
    }
}
