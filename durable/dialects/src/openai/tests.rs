mod encoding;
mod requests;
mod resets;
