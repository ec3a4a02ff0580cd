//! Loops over elements, shared by operators.
