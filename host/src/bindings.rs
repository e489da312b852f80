//! The contract as generated code, and nothing else.
#![expect(missing_docs, reason = "the documentation is in wit/ and docs/contract.md")]
#![allow(clippy::all, clippy::pedantic, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "host",
    imports: { default: async | trappable },
    exports: { default: async },
    with: {
        "emhost:plugin/operations.operation": crate::capabilities::operation::Operation,
        "emhost:plugin/inventory.cluster": crate::capabilities::inventory::ClusterHandle,
        "emhost:plugin/inventory.node": crate::capabilities::inventory::NodeHandle,
        "emhost:plugin/secrets.secret": crate::capabilities::secrets::SecretHandle,
        "emhost:plugin/grpc.channel": crate::capabilities::grpc::Channel,
        "emhost:plugin/grpc.inbound": crate::capabilities::grpc::Inbound,
        "emhost:plugin/archives.archive": crate::capabilities::archive::ArchiveHandle,
    },
    additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
});
