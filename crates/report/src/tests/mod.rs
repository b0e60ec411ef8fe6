//! Records for tests, and what holds for all reports together.
