mod encoding;
mod requests;
mod tools;
