//! From inventory to plan, and from plan to durable work.
