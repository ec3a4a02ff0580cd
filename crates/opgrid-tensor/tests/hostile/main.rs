//! Safe code at the ends of every range: it ends in a result or in an error that says why, never in a panic, a race or
//! a look at memory of others. Made for the sanitizer, too.
#![forbid(unsafe_code)]

mod threads;
