//! Espalier's engine.
