mod encoding;
mod instructions;
mod requests;
mod resets;
