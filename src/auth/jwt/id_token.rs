//! The ID token that ends a sign-in by OpenID Connect: a token of the issuer with more claims to check (OpenID Connect
//! Core §3.1.3.7). The audience is the client id.

use serde_json::Value;

use super::{Issuer, Token};
use crate::auth::{Authority, Verified};

impl Issuer {
    /// Judges the claims of an ID token whose signature is good; `None` refuses it. It must be the answer to the sign-in
    /// with this nonce, so a token of another sign-in is worth nothing here.
    pub fn verify_id_token(&self, token: &Token, nonce: &str, now: u64) -> Option<Verified> {
        let text = |claim: &str| token.all_claims.get(claim).map(|value| value.as_str().unwrap_or_default());
        let is_answer = text("nonce") == Some(nonce);
        // A token for several parties names the one that asked for it.
        let is_ours = match text("azp") {
            Some(party) => party == self.audience,
            None => token.claims.aud.len() == 1,
        };
        let is_dated = token.all_claims.get("iat").is_some_and(Value::is_number);
        (is_answer && is_ours && is_dated).then(|| self.verify(token, Authority::Ambient, now)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{NOW, NOW_S, claims, issuer, token};
    use super::Token;
    use crate::auth::Authority;

    /// The user of an ID token for the nonce `n-1`, whose signature is good.
    fn judged(header: Value, more: Value) -> Option<String> {
        let issuer = issuer(json!({ "tenant": "acme" }));
        let mut all = json!({ "iat": NOW_S, "nonce": "n-1" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = token(header, claims(all));
        let token = Token::of_answer(&text)?;
        let issuers = [issuer];
        let issuer = token.issuer(&issuers, Authority::Bearer)?;
        let owner = issuer.verify_id_token(&token, "n-1", NOW)?.principal.owner;
        Some(format!("{}/{}", owner.tenant, owner.user_id()))
    }

    #[test]
    fn an_id_token_answers_one_sign_in_of_one_client() {
        let table = [
            ("good", json!({}), true),
            ("a wrong nonce", json!({ "nonce": "n-2" }), false),
            ("no nonce", json!({ "nonce": null }), false),
            ("a nonce that is no text", json!({ "nonce": ["n-1"] }), false),
            ("a wrong issuer", json!({ "iss": "https://id.acme.example/" }), false),
            ("a wrong audience", json!({ "aud": "other" }), false),
            ("an audience of several without azp", json!({ "aud": ["espalier", "other"] }), false),
            ("of several, for us", json!({ "aud": ["espalier", "other"], "azp": "espalier" }), true),
            ("of several, for another", json!({ "aud": ["espalier", "other"], "azp": "other" }), false),
            ("azp is another", json!({ "azp": "other" }), false),
            ("azp is no text", json!({ "azp": 1 }), false),
            ("azp is us", json!({ "azp": "espalier" }), true),
            ("over", json!({ "exp": NOW_S - 60 }), false),
            ("no end", json!({ "exp": null }), false),
            ("no date", json!({ "iat": null }), false),
            ("from the future", json!({ "iat": NOW_S + 61 }), false),
            ("not yet", json!({ "nbf": NOW_S + 61 }), false),
            ("no user", json!({ "sub": "" }), false),
        ];
        for (case, more, good) in table {
            let expected = good.then(|| "acme/acme:ada".to_owned());
            assert_eq!(judged(json!({ "alg": "RS256" }), more), expected, "{case}");
        }
    }

    #[test]
    fn the_configuration_alone_chooses_the_algorithm() {
        for (alg, good) in
            [("RS256", true), ("none", false), ("HS256", false), ("ES256", false), ("rs256", false)]
        {
            assert_eq!(judged(json!({ "alg": alg }), json!({})).is_some(), good, "{alg}");
        }
    }
}
