//! The C declarations of libckitchen. `ckitchen.h` is the manual; the crate `ckitchen` is what programs use.
//!
//! Every `ck_..._args` implements [`Operator`], which ties it to its three functions, and `Default`, which is CK_INIT.
#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod bindings;
pub use bindings::*;
