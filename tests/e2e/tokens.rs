//! JWTs of configured issuers, at the instance that has them: valid tokens open it, and forged, foreign and outdated
//! ones do not.

use espalier_test_support::client::assert_problem;
use espalier_test_support::identity::{
    ACCESS, EC, RSA, SLOW, SLOW_KEYS, answered, claims, now_s, set_of, tokens, users,
};
use espalier_test_support::{Case, Client, FakeLlm, Value, env, json, new_id, stored, text};
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;

fn closed() -> Client {
    Client::nobody_at(&env("ESPALIER_CLOSED_URL"))
}

fn with_token(token: &str) -> Client {
    closed().with("authorization", &format!("Bearer {token}"))
}

fn rs256(kid: &str) -> Value {
    json!({ "alg": "RS256", "kid": kid, "typ": "JWT" })
}

fn changed(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

#[tokio::test]
async fn a_user_of_an_issuer_chats() {
    let [ada] = users([("lab", &new_id())]).await;
    let case = Case::of(ada);
    case.script("", [text("Hi.")]).await;
    let events = case.chat("Hello").await;
    let thread = events[0].text("thread_id");
    assert_eq!(case.client.messages(thread).await.len(), 2);
}

#[tokio::test]
async fn good_tokens_of_both_algorithms_are_taken() {
    let es256 = json!({ "alg": "ES256", "kid": "ec" });
    let several = changed(claims(RSA, "lab", "ada"), "aud", json!(["other", "espalier"]));
    let good = tokens(&[
        ("rsa", rs256("rsa"), claims(RSA, "lab", "ada")),
        ("ec", es256, claims(EC, "", "ada")),
        ("ec", json!({ "alg": "ES256" }), claims(EC, "", "ada")),
        ("rsa", rs256("rsa"), several),
    ])
    .await;
    for token in good {
        // Twice: the service remembers the token the second time.
        for _ in 0..2 {
            answered(&with_token(&token)).await.expect(200).await;
        }
    }
}

#[tokio::test]
async fn forged_foreign_and_outdated_tokens_are_refused() {
    let good = || claims(RSA, "lab", "ada");
    let now = now_s();
    let mut bad = tokens(&[
        ("none", json!({ "alg": "none" }), good()),
        ("none", rs256("rsa"), good()),
        ("stranger", rs256("rsa"), good()),
        ("stranger", rs256("stranger"), good()),
        ("stranger", json!({ "alg": "RS256", "kid": "x", "jwk": set_of(&["stranger"])["keys"][0] }), good()),
        // The public key as a shared secret: the token must not choose the algorithm.
        ("rsa", json!({ "alg": "HS256", "kid": "rsa" }), good()),
        ("rsa", json!({ "alg": "RS512", "kid": "rsa" }), good()),
        ("ec", json!({ "alg": "ES256", "kid": "ec" }), good()),
        ("rsa", rs256("ec"), claims(EC, "", "ada")),
        ("rsa", rs256("rsa"), changed(good(), "exp", json!(now - 61))),
        ("rsa", rs256("rsa"), changed(good(), "nbf", json!(now + 120))),
        ("rsa", rs256("rsa"), changed(good(), "aud", json!("other"))),
        ("rsa", rs256("rsa"), changed(good(), "iss", json!("https://evil.example"))),
        ("rsa", rs256("rsa"), changed(good(), "sub", json!(""))),
        ("rsa", rs256("rsa"), changed(good(), "org", json!(null))),
        ("rsa", json!({ "alg": "RS256", "kid": "rsa", "crit": ["x"] }), good()),
        // A valid token in the wrong header: its issuer's tokens come in another one.
        ("rsa", rs256("rsa"), claims(ACCESS, "", "ada")),
    ])
    .await;
    let two =
        tokens(&[("rsa", rs256("rsa"), good()), ("rsa", rs256("rsa"), claims(RSA, "lab", "eve"))]).await;
    let [one, other] = [0, 1].map(|index| two[index].split('.').collect::<Vec<_>>());
    bad.push(format!("{}.{}.{}", one[0], other[1], one[2]));
    bad.push(format!("{}.{}.{}", one[0], one[1], one[2].chars().rev().collect::<String>()));
    bad.push(format!("{}.{}.", one[0], one[1]));
    for token in bad {
        eprintln!("{token}");
        assert_problem(answered(&with_token(&token)).await, 401, "unauthenticated", None).await;
    }
    // An instance without issuers accepts no token.
    let main = Client::nobody_at(&env("ESPALIER_URL")).with("authorization", &format!("Bearer {}", two[0]));
    assert_problem(main.get("/api/threads").await, 401, "unauthenticated", None).await;
}

// Cloudflare Access adds the token to every request of a browser, so it counts as a cookie does.
#[tokio::test]
async fn a_token_that_a_proxy_adds_changes_nothing_for_a_foreign_page() {
    let token = tokens(&[("rsa", rs256("rsa"), claims(ACCESS, "", &new_id()))]).await.remove(0);
    let ada = closed().with("cf-access-jwt-assertion", &token);
    answered(&ada).await.expect(200).await;
    let body = json!({ "content": "Hello" });
    for foreign in [ada.with("origin", "https://evil.example"), ada.with("sec-fetch-site", "cross-site")] {
        assert_problem(foreign.post("/api/chat", &body).await, 403, "forbidden_origin", None).await;
    }
    let case = Case::of(ada.with("origin", "https://friend.example"));
    case.script("", [text("Hi.")]).await;
    case.chat("Hello").await;
    // In the other header it is no credential.
    assert_problem(with_token(&token).get("/api/threads").await, 401, "unauthenticated", None).await;
}

#[tokio::test]
async fn a_key_that_is_rotated_in_is_found() {
    let token = tokens(&[("rotated", rs256("rotated"), claims(RSA, "lab", &new_id()))]).await.remove(0);
    FakeLlm::from_env().publish("rsa", &set_of(&["rotated", "rsa"])).await;
    // The service fetches the set at most every ten seconds.
    let client = with_token(&token);
    stored::eventually("the new key verifies", || async {
        (client.get("/api/threads").await.status == 200).then_some(())
    })
    .await;
    let [old] = users([("lab", "ada")]).await;
    old.get("/api/threads").await.expect(200).await;
}

// Anybody can make tokens with unknown keys, so they must not cause requests to the issuer.
#[tokio::test]
async fn of_twenty_tokens_that_come_together_one_makes_a_request_to_the_issuer() {
    let llm = FakeLlm::from_env();
    llm.publish(SLOW_KEYS, &set_of(&["rsa"])).await;
    let token = tokens(&[("stranger", rs256("unknown"), claims(SLOW, "", "ada"))]).await.remove(0);
    let client = with_token(&token);
    let mut replies: FuturesUnordered<_> = (0..20).map(|_| client.get("/api/threads")).collect();
    // The issuer does not answer yet: one request waits for it, and the others do not.
    for _ in 0..19 {
        let reply = replies.next().await.expect("a reply");
        assert_eq!(reply.header("retry-after"), "5");
        assert_problem(reply, 503, "issuer_unavailable", None).await;
    }
    // Its request may still be on its way.
    let asked = || async { Some(llm.fetches(SLOW_KEYS).await).filter(|fetches| *fetches > 0) };
    assert_eq!(stored::eventually("the issuer is asked", asked).await, 1);
    llm.release(SLOW_KEYS).await;
    let last = replies.next().await.expect("a reply");
    assert_problem(last, 401, "unauthenticated", None).await;
    // Now the issuer's keys are known, and this token's key is not among them.
    for reply in join_all((0..20).map(|_| client.get("/api/threads"))).await {
        assert_problem(reply, 401, "unauthenticated", None).await;
    }
    assert_eq!(llm.fetches(SLOW_KEYS).await, 1);
    let good = tokens(&[("rsa", rs256("rsa"), claims(SLOW, "", "ada"))]).await.remove(0);
    with_token(&good).get("/api/threads").await.expect(200).await;
}

// The Worker asks D1 about the user of a token that it does not remember. An outage lets nobody past an erasure.
#[tokio::test]
#[ignore = "takes a table from all users of the instance: `make e2e` runs it alone"]
async fn a_token_that_d1_cannot_be_asked_about_is_refused_unless_it_is_known() {
    const STATE: &str = "ESPALIER_CLOSED_STATE_DIR";
    let [known] = users([("lab", &new_id())]).await;
    answered(&known).await.expect(200).await;
    let token = tokens(&[("rsa", rs256("rsa"), claims(RSA, "lab", &new_id()))]).await.remove(0);
    let unknown = with_token(&token);
    stored::change_at(STATE, "ALTER TABLE erasures RENAME TO erasures_away").await;
    let refused = unknown.get("/api/threads").await;
    let goes_on = known.get("/api/threads").await;
    stored::change_at(STATE, "ALTER TABLE erasures_away RENAME TO erasures").await;
    assert_problem(refused, 500, "internal", None).await;
    goes_on.expect(200).await;
    unknown.get("/api/threads").await.expect(200).await;
}
