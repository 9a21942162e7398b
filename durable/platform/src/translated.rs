//! A reader's writes in a dialect. Pure: the platform pulls it as it pulls the reader, write by write.

use std::rc::Rc;

use dialects::{Broken, Header, Translation};
use futures::stream::{LocalBoxStream, StreamExt, unfold};

use crate::storage::StoreError;
use engine::ports::Clock;

/// Why a stream ends before its turn.
#[derive(Debug)]
pub enum CutOff {
    Log(StoreError),
    Dialect(Broken),
}

impl std::fmt::Display for CutOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CutOff::Log(error) => write!(f, "reader: {error}"),
            CutOff::Dialect(error) => write!(f, "translating a stream: {error}"),
        }
    }
}

type Writes<E> = LocalBoxStream<'static, Result<Vec<u8>, E>>;

/// The writes in the dialect. The reader is dropped once the client has the end of the turn.
pub fn translated(
    writes: Writes<StoreError>,
    translation: Translation,
    clock: Rc<dyn Clock>,
) -> Writes<CutOff> {
    let translated = unfold(Some((writes, translation, clock)), |state| async move {
        let (mut writes, mut translation, clock) = state?;
        let mut out = Vec::new();
        while let Some(write) = writes.next().await {
            let fed = match write {
                Ok(bytes) => translation.feed(&bytes, clock.now_ms(), &mut out).map_err(CutOff::Dialect),
                Err(error) => Err(CutOff::Log(error)),
            };
            if let Err(error) = fed {
                return Some((Err(error), None));
            }
            if translation.is_over() {
                return Some((Ok(out), None));
            }
            if !out.is_empty() {
                return Some((Ok(out), Some((writes, translation, clock))));
            }
        }
        let ended = translation.end(&mut out).map_err(CutOff::Dialect);
        match ended {
            Ok(()) if out.is_empty() => None,
            ended => Some((ended.map(|()| out), None)),
        }
    });
    translated.boxed_local()
}

/// The whole answer, its status and its header.
pub async fn collected(
    mut writes: Writes<StoreError>,
    mut translation: Translation,
    clock: Rc<dyn Clock>,
) -> Result<(u16, Header, Vec<u8>), CutOff> {
    let mut out = Vec::new();
    while !translation.is_over() {
        let Some(write) = writes.next().await else { break };
        let bytes = write.map_err(CutOff::Log)?;
        translation.feed(&bytes, clock.now_ms(), &mut out).map_err(CutOff::Dialect)?;
    }
    translation.end(&mut out).map_err(CutOff::Dialect)?;
    let (status, header) = translation.head();
    Ok((status, header, out))
}
