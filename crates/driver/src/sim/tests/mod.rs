//! The model against theory, and the driver against its contract.
