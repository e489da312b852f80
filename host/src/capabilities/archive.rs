//! Large bytes that the host keeps for a plugin, passed piece by piece.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::component::Resource;

use super::call::Guest;
use super::policy::Need;
use super::record::Readable;
use crate::bindings::emhost::plugin::{archives, types};

/// Where an archive's bytes go or come from. Whoever opens it encrypts.
pub trait Archive: Send {
    /// Takes bytes at the end.
    ///
    /// # Errors
    /// Why they could not be kept.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()>;

    /// Gives the next bytes, none at the end.
    ///
    /// # Errors
    /// Why they could not be read.
    fn read(&mut self, max: usize) -> std::io::Result<Vec<u8>>;
}

/// An archive in memory.
#[derive(Clone, Default)]
pub struct MemoryArchive(Arc<Mutex<std::collections::VecDeque<u8>>>);

impl MemoryArchive {
    /// What is in it and was not read yet.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

impl Archive for MemoryArchive {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }

    fn read(&mut self, max: usize) -> std::io::Result<Vec<u8>> {
        let mut buffer = vec![0; max];
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = Read::read(&mut *kept, &mut buffer)?;
        buffer.truncate(count);
        Ok(buffer)
    }
}

/// A guest's handle on an archive.
pub struct ArchiveHandle {
    archive: Box<dyn Archive>,
    written: u64,
}

impl ArchiveHandle {
    pub(crate) fn new(archive: Box<dyn Archive>) -> Self {
        Self { archive, written: 0 }
    }
}

/// The most that one read gives.
const PIECE: u32 = 1 << 20;

impl archives::Host for Guest {}

impl archives::HostArchive for Guest {
    async fn write(&mut self, archive: Resource<ArchiveHandle>, bytes: Vec<u8>) -> wasmtime::Result<Result<(), types::Failure>> {
        if let Err(refusal) = self.call.allow(&Need::Archive) {
            return Ok(Err(self.call.denied("archives/denied", &refusal)));
        }
        let most = self.call.limits.archive;
        let handle = self.table.get_mut(&archive)?;
        handle.written = handle.written.saturating_add(bytes.len() as u64);
        if handle.written > most {
            return Ok(Err(self.call.invalid("archives/large", &format!("an archive may have {most} bytes at most"))));
        }
        let count = bytes.len();
        let answer =
            self.call.tape.exchange("archive.write", &count, async { handle.archive.write(&bytes).map_err(|error| error.to_string()) });
        Ok(answer.await?.map_err(|error| self.call.unavailable("archives/write", &format!("the archive cannot be written: {error}"))))
    }

    async fn read(&mut self, archive: Resource<ArchiveHandle>, max: u32) -> wasmtime::Result<Result<Vec<u8>, types::Failure>> {
        if let Err(refusal) = self.call.allow(&Need::Archive) {
            return Ok(Err(self.call.denied("archives/denied", &refusal)));
        }
        let handle = self.table.get_mut(&archive)?;
        let answer = self.call.tape.exchange("archive.read", &max, async {
            handle.archive.read(max.min(PIECE) as usize).map(|bytes| Readable::new(&bytes)).map_err(|error| error.to_string())
        });
        Ok(answer
            .await?
            .map(Readable::bytes)
            .map_err(|error| self.call.unavailable("archives/read", &format!("the archive cannot be read: {error}"))))
    }

    async fn drop(&mut self, archive: Resource<ArchiveHandle>) -> wasmtime::Result<()> {
        self.table.delete(archive)?;
        Ok(())
    }
}
