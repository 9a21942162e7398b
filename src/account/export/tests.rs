use std::convert::Infallible;

use futures::FutureExt;
use serde_json::{Value, json};

use wire::protocol::{ApiError, ErrorCode};

use super::{
    Line, PAGE_BYTES, PAGE_REQUESTS, Place, Refused, STEP_REQUESTS, Section, Source, Step, line, page,
    refused,
};

/// A source with so many steps of one line each.
struct Counted {
    steps: usize,
    bytes: usize,
    requests_of_step: u32,
    requests: u32,
}

impl Source for Counted {
    type Error = Infallible;

    async fn step(&mut self, place: &Place) -> Result<Step, Infallible> {
        self.requests += self.requests_of_step;
        let text = "x".repeat(self.bytes);
        let next = (place.at + 1 < self.steps).then(|| place.clone().numbered(place.at + 1));
        Ok(Step { lines: vec![line("step", json!({ "at": place.at, "text": text }))], next })
    }

    fn requests(&self) -> u32 {
        self.requests
    }
}

fn lines(page: &[u8]) -> Vec<Line> {
    let text = std::str::from_utf8(page).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The numbers of the steps of each page, until the export is complete.
fn pages(steps: usize, bytes: usize, requests_of_step: u32) -> Vec<Vec<u64>> {
    let (mut place, mut all) = (Place::default(), Vec::new());
    loop {
        let mut source = Counted { steps, bytes, requests_of_step, requests: 0 };
        let mut read = lines(&page(&mut source, place).now_or_never().unwrap().unwrap());
        assert!(source.requests <= PAGE_REQUESTS);
        let last = read.pop().unwrap();
        all.push(read.iter().map(|line| line["at"].as_u64().unwrap()).collect());
        match last["kind"].as_str().unwrap() {
            "end" => {
                assert_eq!(Value::Object(last), json!({ "kind": "end", "complete": true }));
                return all;
            }
            _ => place = Place::read(last["next_cursor"].as_str()).unwrap(),
        }
    }
}

// Issue 23, 3
#[test]
fn a_page_ends_at_its_bytes_and_at_its_requests_and_the_next_goes_on_there() {
    assert_eq!(pages(3, 10, 1), [[0, 1, 2]]);
    // A page that has one byte less than the limit takes one step more.
    let of_line = line("step", json!({ "at": 0, "text": "" }));
    let rest = PAGE_BYTES - Value::Object(of_line).to_string().len() - 1;
    assert_eq!(pages(3, rest, 1), vec![vec![0], vec![1], vec![2]]);
    assert_eq!(pages(3, rest - 1, 1), vec![vec![0, 1], vec![2]]);
    // Each step is free to make as many requests as a step may.
    assert_eq!(pages(8, 10, STEP_REQUESTS), [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
    let most = u64::from(PAGE_REQUESTS - STEP_REQUESTS) + 1;
    let single = pages(80, 10, 1);
    assert_eq!(single[0], (0..most).collect::<Vec<_>>());
    assert_eq!(single.concat(), (0..80).collect::<Vec<_>>());
}

/// A source that fails at its third step, each time or once.
struct Failing {
    once: bool,
    steps: usize,
}

impl Source for Failing {
    type Error = &'static str;

    async fn step(&mut self, place: &Place) -> Result<Step, &'static str> {
        self.steps += 1;
        if place.at == 2 && !(self.once && self.steps == 1) {
            return Err("the third step");
        }
        let next = (place.at < 3).then(|| place.clone().numbered(place.at + 1));
        Ok(Step { lines: vec![line("step", json!({ "at": place.at }))], next })
    }

    fn requests(&self) -> u32 {
        0
    }
}

#[test]
fn a_page_that_fails_in_the_middle_ends_there_and_loses_nothing() {
    let read = |once: bool, place: Place| {
        page(&mut Failing { once, steps: 0 }, place).now_or_never().unwrap().map(|page| lines(&page))
    };
    let first = read(false, Place::default()).unwrap();
    let at: Vec<_> = first.iter().map(|line| line.get("at").cloned()).collect();
    assert_eq!(at, [Some(json!(0)), Some(json!(1)), None]);
    let next = Place::read(first[2]["next_cursor"].as_str()).unwrap();
    assert_eq!(read(false, next.clone()), Err("the third step"));
    let rest = read(true, next).unwrap();
    assert_eq!(rest.iter().map(|line| line["kind"].clone()).collect::<Vec<_>>(), ["step", "step", "end"]);
}

#[test]
fn an_object_that_refuses_is_gone_or_fails_or_has_the_client_wait() {
    let problem = |code: ErrorCode| serde_json::to_value(ApiError::new(code, "why").problem()).unwrap();
    let told = |code: ErrorCode| refused(code.status(), &problem(code));
    assert_eq!(told(ErrorCode::ThreadNotFound), Refused::Gone);
    assert_eq!(told(ErrorCode::MessageNotFound), Refused::Gone);
    let waits = ApiError::new(ErrorCode::VersionsDiffer, "why").retry_after(10);
    assert_eq!(told(ErrorCode::VersionsDiffer), Refused::Told(waits));
    let Refused::Told(error) = told(ErrorCode::InvalidRequest) else { panic!("a cursor can be wrong") };
    assert_eq!((error.code.as_str(), error.field.as_deref()), ("invalid_request", Some("cursor")));
    let failed = |text: &str| Refused::Failed(text.to_owned());
    assert_eq!(told(ErrorCode::ObjectTooNew), failed("its object answered 503 object_too_new"));
    assert_eq!(refused(500, &Value::Null), failed("its object answered 500 "));
}

#[test]
fn a_cursor_comes_back_as_it_was_and_other_texts_are_refused() {
    let places = [
        Place::default(),
        Place { at: 7, after: vec![json!("é/:\""), json!(9_007_199_254_740_991_u64)], ..Place::default() },
        Place { piece: Some(("etag".to_owned(), 196_608)), ..Place::of(Section::Files, "t").numbered(2) },
    ];
    for place in places {
        assert_eq!(Place::read(Some(&place.cursor())), Ok(place));
    }
    // The longest key of R2, in characters that JSON escapes.
    let longest = Place::of(Section::Files, &"0".repeat(36)).after(vec!["\"".repeat(1_024).into()]);
    assert_eq!(Place::read(Some(&longest.cursor())), Ok(longest));
    for text in ["", "x", "!!", "e30x", &"A".repeat(4_097)] {
        let error = Place::read(Some(text)).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.field.as_deref()),
            ("invalid_request", Some("cursor")),
            "{text}"
        );
    }
}
