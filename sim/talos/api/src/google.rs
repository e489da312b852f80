//! What Google's packages lend: times, statuses, anything.

use std::time::SystemTime;

use prost::{Message, Name};

/// `google.protobuf.Any`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

impl Any {
    /// Packs a message of this full name, such as `machine.SequenceEvent`.
    ///
    /// Talos writes its own prefix before the names of its events.
    pub fn pack(name: &str, message: &impl Message) -> Self {
        Self { type_url: format!("talos/runtime/{name}"), value: message.encode_to_vec() }
    }

    /// The name without its prefix.
    pub fn name(&self) -> &str {
        self.type_url.rsplit('/').next().unwrap_or_default()
    }
}

/// `google.protobuf.Timestamp`
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        // A clock before 1970 is of no interest to anybody.
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: i32::try_from(since.subsec_nanos()).unwrap_or_default() }
    }
}

/// `google.protobuf.Duration`
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Duration {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl From<std::time::Duration> for Duration {
    fn from(duration: std::time::Duration) -> Self {
        Self {
            seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
            nanos: i32::try_from(duration.subsec_nanos()).unwrap_or_default(),
        }
    }
}

impl From<Duration> for std::time::Duration {
    fn from(duration: Duration) -> Self {
        let seconds = u64::try_from(duration.seconds).unwrap_or_default();
        Self::new(seconds, u32::try_from(duration.nanos).unwrap_or_default().min(999_999_999))
    }
}

/// `google.protobuf.Empty`
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Empty {}

/// A message that nobody here looks into.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Opaque {}

/// `google.rpc.Status`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

impl Name for Status {
    const NAME: &'static str = "Status";
    const PACKAGE: &'static str = "google.rpc";
}

#[cfg(test)]
mod tests {
    use std::time::{Duration as Std, SystemTime};

    use super::*;

    #[test]
    fn times_are_carried_over() {
        let time = Timestamp::from(SystemTime::UNIX_EPOCH + Std::new(5, 7));
        assert_eq!((time.seconds, time.nanos), (5, 7));
        let wrong = Duration { seconds: -3, nanos: -5 };
        assert_eq!(Std::from(wrong), Std::ZERO);
        assert_eq!(Std::from(Duration::from(Std::new(3, 9))), Std::new(3, 9));
    }

    #[test]
    fn what_is_packed_knows_its_name() {
        let packed = Any::pack("machine.SequenceEvent", &Empty {});
        assert_eq!((packed.type_url.as_str(), packed.name()), ("talos/runtime/machine.SequenceEvent", "machine.SequenceEvent"));
    }
}
