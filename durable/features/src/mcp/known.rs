//! What the objects of an isolate know of servers: what these offer, and the tokens that they gave. Data alone: sessions
//! are each turn's own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::offer::Offer;
use wire::redact::Secret;

/// How long a list holds. A server says when it has changed, but only to who listens at that moment, and a turn
/// listens while it calls. So a new tool is there after five minutes at the latest, and a chat costs no listing.
const LISTED_MS: u64 = 5 * 60_000;
/// How long a server that could not be asked is not asked again: each attempt may hold a turn up for seconds.
const FAILED_MS: u64 = 30_000;

/// Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Known(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    listings: BTreeMap<String, Listing>,
    tokens: BTreeMap<String, (u64, Secret)>,
}

#[derive(Clone, Debug)]
struct Listing {
    until_ms: u64,
    /// None where the server could not be asked.
    offers: Option<Rc<[Offer]>>,
}

impl Known {
    /// What a server offers, as far as that is known; the inner none where it could not be asked lately.
    pub(super) fn offers(&self, server: &str, now_ms: u64) -> Option<Option<Rc<[Offer]>>> {
        let state = self.0.borrow();
        let listing = state.listings.get(server).filter(|listing| now_ms < listing.until_ms)?;
        Some(listing.offers.clone())
    }

    pub(super) fn listed(&self, server: &str, offers: Option<Rc<[Offer]>>, now_ms: u64) {
        let until_ms = now_ms + if offers.is_some() { LISTED_MS } else { FAILED_MS };
        self.0.borrow_mut().listings.insert(server.to_owned(), Listing { until_ms, offers });
    }

    /// The server says that it offers something else now.
    pub(super) fn changed(&self, server: &str) {
        self.0.borrow_mut().listings.remove(server);
    }

    pub(super) fn token(&self, server: &str, now_ms: u64) -> Option<Secret> {
        let state = self.0.borrow();
        state.tokens.get(server).filter(|(until_ms, _)| now_ms < *until_ms).map(|(_, token)| token.clone())
    }

    pub(super) fn keep_token(&self, server: &str, token: Secret, until_ms: u64) {
        self.0.borrow_mut().tokens.insert(server.to_owned(), (until_ms, token));
    }

    /// A token that a server refused; another one that came meanwhile stays.
    pub(super) fn forget_token(&self, server: &str, refused: &Secret) {
        let mut state = self.0.borrow_mut();
        if state.tokens.get(server).is_some_and(|(_, token)| token == refused) {
            state.tokens.remove(server);
        }
    }
}
