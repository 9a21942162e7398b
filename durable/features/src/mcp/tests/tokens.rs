use super::*;

const SECRET: &str = "s3cret/+";

fn client_credentials() -> Auth {
    Auth::ClientCredentials {
        token_url: "https://id.test/token".to_owned(),
        client_id: "me:1".to_owned(),
        client_secret: Secret::new(SECRET),
        scope: Some("read".to_owned()),
    }
}

fn token(text: &str, expires_in: u64) -> Says {
    Says::json(&json!({"access_token": text, "token_type": "Bearer", "expires_in": expires_in}))
}

fn call(connection: &Connection) -> Result<String, McpError> {
    block_on(connection.call("tools/call", &json!({}))).map(|result| result.get().to_owned())
}

fn tokens_asked(case: &Case) -> usize {
    case.server.asked.borrow().iter().filter(|asked| asked.url == "https://id.test/token").count()
}

#[test]
fn a_bearer_token_goes_with_each_request() {
    let case = Case::opening(|asked| Says::json(&asked.result(json!({}))));
    call(&case.connection_with(Auth::Bearer(Secret::new("token-1")))).unwrap();
    case.server.methods();
    let asked = case.server.asked.borrow();
    assert!(asked.iter().all(|asked| asked.headers["authorization"] == "Bearer token-1"));
    assert_eq!(asked.last().unwrap().method, Method::Delete);
}

#[test]
fn client_credentials_are_asked_for_once_and_kept_until_shortly_before_their_end() {
    let case = Case::new(|asked| match asked.url.as_str() {
        "https://id.test/token" => token("token-1", 100),
        _ => opened(asked).unwrap_or_else(|| Says::json(&asked.result(json!({})))),
    });
    let connection = case.connection_with(client_credentials());
    let nothing = json!({});
    let both = futures::future::join(connection.call("a", &nothing), connection.call("b", &nothing));
    assert!(matches!(block_on(both), (Ok(_), Ok(_))));
    assert_eq!(tokens_asked(&case), 1);
    let asked = case.server.asked.borrow()[0].clone();
    assert_eq!(asked.text, "grant_type=client_credentials&resource=https%3A%2F%2Fdocs.test%2Fmcp&scope=read");
    assert_eq!(asked.headers["content-type"], "application/x-www-form-urlencoded");
    // RFC 6749 2.3.1: both are form-encoded first. `me%3A1:s3cret%2F%2B`
    assert_eq!(asked.headers["authorization"], "Basic bWUlM0ExOnMzY3JldCUyRiUyQg==");
    assert_eq!(case.last("a").headers["authorization"], "Bearer token-1");

    // A connection of another object in the isolate.
    case.time.now.set(69_999);
    call(&case.connection_with(client_credentials())).unwrap();
    assert_eq!(tokens_asked(&case), 1);
    case.time.now.set(70_000);
    call(&connection).unwrap();
    assert_eq!(tokens_asked(&case), 2);
}

#[test]
fn a_token_that_is_refused_is_replaced_once() {
    let given = Cell::new(0);
    let case = Case::new(move |asked| match asked.url.as_str() {
        "https://id.test/token" => {
            given.set(given.get() + 1);
            token(&format!("token-{}", given.get()), 1_000)
        }
        _ if asked.headers["authorization"] == "Bearer token-1" => Says::status(401, "", ""),
        _ => opened(asked).unwrap_or_else(|| Says::json(&asked.result(json!({})))),
    });
    call(&case.connection_with(client_credentials())).unwrap();
    assert_eq!(tokens_asked(&case), 2);

    let case = Case::new(|asked| match asked.url.as_str() {
        "https://id.test/token" => token("token-1", 1_000),
        _ => Says::status(401, "", ""),
    });
    let refused = call(&case.connection_with(client_credentials())).unwrap_err();
    assert_eq!(refused, McpError::Unauthorized("it answered 401".to_owned()));
    assert_eq!(tokens_asked(&case), 2);

    let case = Case::new(|_| Says::status(401, "", ""));
    assert!(call(&case.connection_with(Auth::Bearer(Secret::new("t")))).is_err());
    assert_eq!(case.server.asked.borrow().len(), 1, "a token that we were given is all that we have");
}

#[test]
fn failures_of_a_token_endpoint_are_told() {
    let long = "x".repeat(70_000);
    let one = |bytes: usize| json!({"access_token": "x".repeat(bytes), "token_type": "bearer"}).to_string();
    for (says, part) in [
        (Says::Down, "could not be reached"),
        (Says::Hang, "did not answer"),
        (
            Says::status(400, "", r#"{"error": "invalid_client", "error_description": "s3cret/+"}"#),
            "400 invalid_client",
        ),
        (Says::status(400, "", r#"{"error": "s3cret/+"}"#), "answered 400 "),
        (Says::status(302, "", ""), "answered 302"),
        (Says::status(200, "", &long), "sent too much"),
        (Says::status(200, "", "no"), "sent no token"),
        (Says::status(200, "", r#"{"access_token": "t", "token_type": "mac"}"#), "no bearer token"),
        (Says::status(200, "", r#"{"access_token": "a b", "token_type": "bearer"}"#), "no bearer token"),
        (Says::status(200, "", &one(0)), "no bearer token"),
        (Says::status(200, "", &one((16 << 10) + 1)), "no bearer token"),
    ] {
        let says = RefCell::new(Some(says));
        let case = Case::new(move |_| says.take().unwrap());
        let told = call(&case.connection_with(client_credentials())).unwrap_err().explained("docs");
        assert!(told.contains(part) && !told.contains(SECRET), "{told}");
    }
    let fits = one(16 << 10);
    let case = Case::new(move |asked| match asked.url.as_str() {
        "https://id.test/token" => Says::status(200, "", &fits),
        _ => opened(asked).unwrap_or_else(|| Says::json(&asked.result(json!({})))),
    });
    call(&case.connection_with(client_credentials())).unwrap();
}

// The client hides our secrets in every reply.
#[test]
fn secrets_in_replies_are_hidden() {
    let case = Case::new(|asked| match asked.url.as_str() {
        "https://id.test/token" => token("token-1", 1_000),
        _ => {
            opened(asked).unwrap_or_else(|| Says::status(500, "text/plain", "you said token-1 and s3cret/+"))
        }
    });
    let connection = case.connection_with(client_credentials());
    let told = call(&connection).unwrap_err().explained("docs");
    assert!(told.ends_with("you said [redacted] and [redacted]"), "{told}");
    assert_eq!(connection.hidden("Bearer token-1, s3cret/+".to_owned()), "Bearer [redacted], [redacted]");
}
