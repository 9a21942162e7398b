//! The data about servers that all objects of an isolate share: their offers and their tokens. Each turn has its own
//! sessions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::offer::Offer;
use wire::model::RawValueEq;
use wire::redact::Secret;

/// How long a list stays valid. A server announces changes only during a call, so a new tool appears after five minutes
/// at the latest.
const LISTED_MS: u64 = 5 * 60_000;
/// The pause after a failed listing, because each attempt may delay a turn by seconds.
const FAILED_MS: u64 = 30_000;

/// How long a server counts as one of an earlier revision: then the client asks again, because servers are updated.
const LEGACY_MS: u64 = 3_600_000;

/// The shared data. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Known(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    listings: BTreeMap<String, Listing>,
    tokens: BTreeMap<String, (u64, Secret)>,
    /// The servers of an earlier revision, and until when that is believed.
    legacy: BTreeMap<String, u64>,
}

#[derive(Clone, Debug)]
struct Listing {
    until_ms: u64,
    /// None if the listing failed.
    offers: Option<Rc<[Offer]>>,
}

impl Known {
    /// The offers of a server, if a listing is still valid. The inner none means that the listing failed.
    pub(super) fn offers(&self, server: &str, now_ms: u64) -> Option<Option<Rc<[Offer]>>> {
        let state = self.0.borrow();
        let listing = state.listings.get(server).filter(|listing| now_ms < listing.until_ms)?;
        Some(listing.offers.clone())
    }

    /// The schema of a tool's structured results, by the newest listing, however old it is.
    pub(super) fn output_schema(&self, server: &str, tool: &str) -> Option<Rc<RawValueEq>> {
        let state = self.0.borrow();
        let offers = state.listings.get(server)?.offers.as_ref()?;
        offers.iter().find(|offer| offer.spec.mcp_tool.as_deref() == Some(tool))?.output_schema.clone()
    }

    pub(super) fn listed(&self, server: &str, offers: Option<Rc<[Offer]>>, now_ms: u64) {
        let until_ms = now_ms + if offers.is_some() { LISTED_MS } else { FAILED_MS };
        self.0.borrow_mut().listings.insert(server.to_owned(), Listing { until_ms, offers });
    }

    /// Forgets the listing after the server announced a change.
    pub(super) fn changed(&self, server: &str) {
        self.0.borrow_mut().listings.remove(server);
    }

    /// Whether a server is of an earlier revision, as far as is known.
    pub(super) fn is_legacy(&self, server: &str, now_ms: u64) -> bool {
        self.0.borrow().legacy.get(server).is_some_and(|until_ms| now_ms < *until_ms)
    }

    pub(super) fn legacy(&self, server: &str, now_ms: u64) {
        self.0.borrow_mut().legacy.insert(server.to_owned(), now_ms.saturating_add(LEGACY_MS));
    }

    pub(super) fn token(&self, server: &str, now_ms: u64) -> Option<Secret> {
        let state = self.0.borrow();
        state.tokens.get(server).filter(|(until_ms, _)| now_ms < *until_ms).map(|(_, token)| token.clone())
    }

    pub(super) fn keep_token(&self, server: &str, token: Secret, until_ms: u64) {
        self.0.borrow_mut().tokens.insert(server.to_owned(), (until_ms, token));
    }

    /// Forgets a token that the server refused, unless a new one has replaced it.
    pub(super) fn forget_token(&self, server: &str, refused: &Secret) {
        let mut state = self.0.borrow_mut();
        if state.tokens.get(server).is_some_and(|(_, token)| token == refused) {
            state.tokens.remove(server);
        }
    }
}
