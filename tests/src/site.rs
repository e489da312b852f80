//! A cluster on the fixture world.

use emhost_world::World;

pub use crate::place::{Place, Ran, binary, wait};

/// A cluster's folder, and the world it is built in.
pub struct Site {
    /// The world.
    pub world: World,
    place: Place,
}

impl Site {
    /// A cluster of so many nodes, of which nothing exists yet.
    ///
    /// # Panics
    /// When there is no room for it.
    pub fn new(control_planes: usize, workers: usize) -> Self {
        Self::on(World::start(), control_planes, workers)
    }

    /// The same on a world that is there.
    ///
    /// # Panics
    /// When there is no room for it.
    pub fn on(world: World, control_planes: usize, workers: usize) -> Self {
        let place = Place::new("dev");
        emhost_world::lay(&place.path(), &world, control_planes, workers);
        Self { world, place }
    }
}

impl std::ops::Deref for Site {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}
