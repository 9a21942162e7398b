mod encoding;
mod history;
mod instructions;
mod requests;
mod resets;
mod shapes;
mod time_zone;
