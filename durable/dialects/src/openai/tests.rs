mod encoding;
mod instructions;
mod requests;
mod resets;
mod time_zone;
