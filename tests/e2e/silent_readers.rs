//! Clients that never read cost next to no memory: the log is on disk, and each reader pulls at its own pace.

#![cfg(target_os = "linux")]

use espalier_test_support::memory::resident;
use espalier_test_support::{Case, deltas, env, json, new_id};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Each of four threads has as many readers as a thread may have, and one client that reads.
const THREADS: usize = 4;
const READERS_OF_EACH: usize = 31;
const READERS: usize = THREADS * READERS_OF_EACH;
/// A quarter of the memory that the edge gives all objects of an isolate.
const MOST_GROWTH: u64 = 32 << 20;

/// Asks for the whole stream, reads the first bytes of the answer, and no more.
async fn silent(address: &str, path: &str, cookie: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    // A small buffer, so that unread bytes stay with the server.
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let mut stream = socket.connect(address.parse().expect("an address")).await.expect("a connection");
    let request = format!("GET {path}?after=0 HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("the request");
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.expect("an answer");
    assert_eq!(&head, b"HTTP/1.1 200");
    stream
}

#[tokio::test]
#[ignore = "measures the memory of the whole instance: `make e2e` runs it alone"]
async fn more_than_a_hundred_readers_that_do_not_read() {
    let case = Case::new().await;
    let piece = "x".repeat(9_000);
    let pieces: [&str; 30] = [piece.as_str(); 30];
    case.script("", [deltas(pieces)]).await;
    let mut paths = Vec::new();
    for _ in 0..THREADS {
        let thread = new_id();
        for _ in 0..3 {
            case.chat_with(&json!({ "thread_id": thread, "content": case.said("Hello", "") })).await;
        }
        paths.push(format!("/api/threads/{thread}/stream"));
    }
    let path = paths.first().expect("a thread");
    let whole = case.client.get(&format!("{path}?after=0")).await.text().await.len() as u64;
    assert!(resident() > 0, "the processes of the instance are not found");
    let cold = resident();
    // A few clients that read, one after the other, bring the instance to the memory of its work. The growth after that
    // is the cost of silence.
    for _ in 0..10 {
        assert_eq!(case.client.get(&format!("{path}?after=0")).await.text().await.len() as u64, whole);
    }
    let before = resident();

    let url = env("ESPALIER_URL");
    let address = url.trim_start_matches("http://");
    let mut readers = Vec::new();
    for path in paths.iter().flat_map(|path| std::iter::repeat_n(path, READERS_OF_EACH)) {
        readers.push(silent(address, path, case.client.header("cookie")).await);
    }
    let mut peak = resident();
    // Meanwhile a client that reads gets all events.
    for _ in 0..3 {
        let read = case.client.get(&format!("{path}?after=0")).await.text().await;
        assert_eq!(read.len() as u64, whole);
        peak = peak.max(resident());
    }
    let growth = peak.saturating_sub(before);
    let unread = whole * READERS as u64;
    println!("{READERS} readers leave {} MB unread: {} MB more in memory", unread >> 20, growth >> 20);
    assert!(unread > 2 * MOST_GROWTH && growth < MOST_GROWTH, "{growth} bytes more");
    // The free part of the heap could hide this much at most: all their text in memory would show.
    let free = before.saturating_sub(cold);
    assert!(unread > free + MOST_GROWTH, "{free} bytes of the heap were free");

    // One of them reads at last, and gets all events.
    let mut late = readers.pop().expect("a reader");
    let mut read = Vec::new();
    let mut piece = vec![0; 1 << 16];
    while !read.ends_with(b"0\r\n\r\n") {
        let count = late.read(&mut piece).await.expect("the rest");
        assert!(count > 0, "the stream broke");
        read.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
    assert!(read.len() as u64 > whole);
}
