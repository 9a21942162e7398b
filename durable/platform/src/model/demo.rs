//! The demo model as a port: its script, played at the clock's pace.

use std::rc::Rc;
use std::vec;

use futures::future::{LocalBoxFuture, ready};
use futures::stream::unfold;
use futures::{FutureExt, StreamExt};

use super::route::{Answer, Endpoint, Refusal};
use engine::ports::Clock;
use providers::demo::{Beat, Stage, script};
use wire::model::ModelRequest;

/// Plays scripts. Dropping the stream stops it at the word.
pub struct DemoModel {
    clock: Rc<dyn Clock>,
    /// The wait before each reply of a subtask.
    work_ms: u64,
    version: Version,
}

/// Says the number of the open turn among the versions of its place, from 1.
pub type Version = Rc<dyn Fn() -> usize>;

impl DemoModel {
    pub fn new(clock: Rc<dyn Clock>, work_ms: u64, version: Version) -> Self {
        DemoModel { clock, work_ms, version }
    }
}

impl Endpoint for DemoModel {
    fn ask(&self, request: &ModelRequest) -> LocalBoxFuture<'static, Result<Answer, Refusal>> {
        let stage = Stage { work_ms: self.work_ms, version: (self.version)() };
        let start = (Rc::clone(&self.clock), script(request, stage).into_iter());
        let answer = unfold(start, |(clock, mut beats): (Rc<dyn Clock>, vec::IntoIter<Beat>)| async move {
            let beat = beats.next()?;
            clock.sleep(beat.after_ms).await;
            Some((Ok(vec![beat.event]), (clock, beats)))
        });
        ready(Ok(answer.boxed_local())).boxed_local()
    }
}
