//! The credentials that may erase an account, and those that may not. Issue 46, L5.

use espalier_test_support::client::assert_problem;
use espalier_test_support::identity::{RSA, answered, claims, now_s, tokens};
use espalier_test_support::stored::change_at;
use espalier_test_support::{Client, Value, env, json, new_id};

use super::erasure::{CLOSED, begin, confirmed, mint, with_key};

/// A user of the tenant `e2e`, by a token that says when they signed in.
pub async fn signed_in(user: &str, auth_time: u64) -> Client {
    let mut claims = claims(RSA, "e2e", user);
    claims["auth_time"] = json!(auth_time);
    let made = tokens(&[("rsa", json!({ "alg": "RS256", "kid": "rsa" }), claims)]).await;
    let client = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let client = client.with("authorization", &format!("Bearer {}", made.first().expect("a token")));
    answered(&client).await;
    client
}

// A stolen key or an old session erases nothing. Visitors are above.
#[tokio::test]
async fn only_a_key_for_it_or_a_recent_sign_in_erases_an_account() {
    let admin = with_key(&env("ESPALIER_ADMIN_KEY").into());
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let erase = async |client: &Client| {
        client.with("content-type", "application/json").send("DELETE", "/api/me", confirmed()).await
    };
    let user = new_id();
    for scopes in [&["read"][..], &["read", "write"], &["read", "write", "admin"]] {
        let refused = erase(&with_key(&mint(&admin, &user, scopes).await)).await;
        assert!(refused.header("www-authenticate").contains("insufficient_scope"), "{scopes:?}");
        assert_problem(refused, 403, "insufficient_scope", None).await;
    }
    let key = mint(&admin, &user, &["read", "write"]).await;
    let open = async |key: &Value| {
        let session = closed.post("/api/session", &json!({ "key": key })).await.expect(200).await;
        closed.with("cookie", session.header("set-cookie").split(';').next().unwrap_or_default())
    };
    let reads = open(&mint(&admin, &user, &["read"]).await).await;
    assert_problem(erase(&reads).await, 403, "insufficient_scope", None).await;
    let session = open(&key).await;
    // Ten minutes and a second ago.
    let age = format!(
        "UPDATE sessions SET created_at = created_at - 601000 WHERE key_prefix IN \
         (SELECT prefix FROM api_keys WHERE user_id = 'key:{user}')"
    );
    change_at(CLOSED, &age).await;
    assert_problem(erase(&session).await, 403, "sign_in_again", None).await;
    session.get("/api/threads").await.expect(200).await;
    begin(&open(&key).await).await;
    // A key that may do nothing else.
    begin(&with_key(&mint(&admin, &new_id(), &["erase"]).await)).await;
    let user = new_id();
    let old = signed_in(&user, now_s() - 601).await;
    assert_problem(erase(&old).await, 403, "sign_in_again", None).await;
    begin(&signed_in(&user, now_s()).await).await;
}
