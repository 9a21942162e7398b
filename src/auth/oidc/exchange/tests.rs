use serde_json::json;

use super::super::tests::{attempt, discovery, provider};
use super::{Discovery, Refusal, code, id_token, request};

const REDIRECT: &str = "https://chat.example/api/oidc/acme/callback";

#[test]
fn the_answer_belongs_to_the_sign_in_of_this_browser() {
    let provider = provider(json!({}));
    let attempt = attempt(&provider, 1_000);
    let state = "01".repeat(16);
    let plain = discovery();
    let named = Discovery { answers_name_issuer: true, ..discovery() };
    let iss = "iss=https%3A%2F%2Fid.acme.example";
    let table = [
        (&plain, format!("code=c%2F1&state={state}"), Ok("c/1".to_owned())),
        (&plain, format!("code=c&state={state}&{iss}"), Ok("c".to_owned())),
        (&named, format!("code=c&state={state}&{iss}"), Ok("c".to_owned())),
        (&named, format!("code=c&state={state}"), Err(Refusal::Failed)),
        (&plain, format!("code=c&state={state}&iss=https%3A%2F%2Fevil.example"), Err(Refusal::Failed)),
        (&plain, format!("code=c&state={}", "03".repeat(16)), Err(Refusal::Expired)),
        (&plain, "code=c&state=".to_owned(), Err(Refusal::Expired)),
        (&plain, "code=c".to_owned(), Err(Refusal::Expired)),
        (&plain, format!("state={state}"), Err(Refusal::Failed)),
        (&plain, format!("code=&state={state}"), Err(Refusal::Failed)),
        (&plain, format!("error=access_denied&state={state}"), Err(Refusal::Denied)),
        (&plain, format!("error=server_error&state={state}"), Err(Refusal::Failed)),
        (&plain, format!("error=login_required&code=c&state={state}"), Err(Refusal::Failed)),
        // An error that nobody here asked for.
        (&plain, "error=access_denied".to_owned(), Err(Refusal::Expired)),
    ];
    for (discovery, query, expected) in table {
        assert_eq!(code(&query, &attempt, &provider, discovery), expected, "{query}");
    }
    // The answer of another provider than the one where the sign-in began.
    let other = super::super::tests::provider(json!({ "issuer": "https://b.example" }));
    let mut renamed = other.clone();
    renamed.issuer.name = "other".to_owned();
    let query = format!("code=c&state={state}");
    assert_eq!(code(&query, &attempt, &renamed, &plain), Err(Refusal::Expired));
}

#[test]
fn the_code_is_exchanged_with_the_verifier_and_the_secret() {
    let verifier = "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM";
    let form = format!(
        "grant_type=authorization_code&code=c%2F1&redirect_uri=https%3A%2F%2Fchat.example%2Fapi%2Foidc%2Facme\
         %2Fcallback&code_verifier={verifier}"
    );
    let in_body = Discovery { secret_in_body: true, ..discovery() };
    let asked = |more, discovery: &Discovery| {
        let provider = provider(more);
        let request = request("c/1", &attempt(&provider, 1_000), &provider, discovery, REDIRECT);
        assert_eq!(request.url, "https://id.acme.example/token");
        (request.authorization, request.body)
    };
    // `espalier:s3cret+%26+more`
    let basic = Some("Basic ZXNwYWxpZXI6czNjcmV0KyUyNittb3Jl".to_owned());
    assert_eq!(asked(json!({}), &discovery()), (basic, form.clone()));
    let posted = format!("{form}&client_id=espalier&client_secret=s3cret+%26+more");
    assert_eq!(asked(json!({}), &in_body), (None, posted));
    let public = || json!({ "client_secret_secret": null });
    for discovery in [discovery(), in_body] {
        assert_eq!(asked(public(), &discovery), (None, format!("{form}&client_id=espalier")));
    }
}

#[test]
fn only_a_good_answer_has_an_id_token() {
    let table = [
        (200, r#"{"access_token":"a","token_type":"Bearer","id_token":"x.y.z"}"#, Ok("x.y.z".to_owned())),
        (200, r#"{"access_token":"a","token_type":"Bearer"}"#, Err(Refusal::Failed)),
        (200, r#"{"id_token":null}"#, Err(Refusal::Failed)),
        (200, "", Err(Refusal::Failed)),
        (200, "<html>", Err(Refusal::Failed)),
        (201, r#"{"id_token":"x.y.z"}"#, Err(Refusal::Failed)),
        (302, "", Err(Refusal::Failed)),
        (400, r#"{"error":"invalid_grant"}"#, Err(Refusal::Failed)),
        (401, r#"{"error":"invalid_client","id_token":"x.y.z"}"#, Err(Refusal::Failed)),
        (500, r#"{"id_token":"x.y.z"}"#, Err(Refusal::Unavailable)),
        (503, "", Err(Refusal::Unavailable)),
    ];
    for (status, json, expected) in table {
        assert_eq!(id_token(status, json.as_bytes()), expected, "{status} {json}");
    }
}

#[test]
fn the_page_hears_why_it_failed() {
    assert_eq!(Refusal::Denied.address("/"), "/?sign_in=denied");
    assert_eq!(Refusal::Expired.address("/?thread=x"), "/?thread=x&sign_in=expired");
}
