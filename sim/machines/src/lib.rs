//! Machines that boot what they were given, and the Image Factory their images come from.
//!
//! From the power button on: [`firmware`] finds what boots, [`acquire`] what a
//! booting Talos is told, [`lan`] who can reach it. [`image`], [`iso`] and
//! [`cloudinit`] are the bytes on disks and CDs; [`factory`] is where they come from.

pub mod acquire;
pub mod cloudinit;
pub mod factory;
pub mod firmware;
pub mod image;
pub mod iso;
pub mod lan;
mod yaml;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod testkit;
