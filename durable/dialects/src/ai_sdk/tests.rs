mod client;
mod encoding;
mod requests;
