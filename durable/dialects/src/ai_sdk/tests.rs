mod answering;
mod client;
mod encoding;
mod requests;
