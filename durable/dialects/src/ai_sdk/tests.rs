mod client;
mod encoding;
mod log;
mod requests;
