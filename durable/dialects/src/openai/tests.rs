mod encoding;
mod history;
mod instructions;
mod requests;
mod resets;
mod time_zone;
