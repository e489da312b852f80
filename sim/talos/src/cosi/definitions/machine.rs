//! The machine: hardware, kernel, services, files, time, and the definitions themselves.

use super::{Definition, row};

pub(super) const TABLE: &[Definition] = &[
    row("APIServiceConfigs.runtime.talos.dev", "APIServiceConfig", "runtime").since(13),
    row("AcquireConfigSpecs.v1alpha1.talos.dev", "AcquireConfigSpec", "runtime"),
    row("AcquireConfigStatuses.v1alpha1.talos.dev", "AcquireConfigStatus", "runtime"),
    row("AdjtimeStatuses.v1alpha1.talos.dev", "AdjtimeStatus", "runtime").columns(&[
        ("Offset", "{.offset}"),
        ("EstError", "{.estError}"),
        ("MaxError", "{.maxError}"),
        ("Status", "{.status}"),
        ("Sync", "{.syncStatus}"),
    ]),
    row("BootedEntries.talos.dev", "BootedEntry", "runtime").columns(&[("Booted Entry", "{.bootedEntry}")]).since(11),
    row("CPUStats.perf.talos.dev", "CPUStat", "perf").columns(&[("User", "{.cpuTotal.user}"), ("System", "{.cpuTotal.system}")]),
    row("DevicesStatuses.runtime.talos.dev", "DevicesStatus", "runtime").columns(&[("Ready", "{.ready}")]),
    row("Diagnostics.runtime.talos.dev", "Diagnostic", "runtime").columns(&[("Message", "{.message}")]),
    row("Environments.runtime.talos.dev", "Environment", "runtime").aliases(&["env"]).columns(&[("Variables", "{.variables}")]).since(13),
    row("EtcFileSpecs.files.talos.dev", "EtcFileSpec", "files"),
    row("EtcFileStatuses.files.talos.dev", "EtcFileStatus", "files"),
    row("EventSinkConfigs.runtime.talos.dev", "EventSinkConfig", "runtime"),
    row("ExtensionServiceConfigStatuses.runtime.talos.dev", "ExtensionServiceConfigStatus", "runtime"),
    row("ExtensionServiceConfigs.runtime.talos.dev", "ExtensionServiceConfig", "runtime"),
    row("ExtensionStatuses.runtime.talos.dev", "ExtensionStatus", "runtime")
        .aliases(&["extensions"])
        .columns(&[("Name", "{.metadata.name}"), ("Version", "{.metadata.version}")]),
    row("ImageCacheConfigs.cri.talos.dev", "ImageCacheConfig", "cri")
        .columns(&[("Status", "{.status}"), ("CopyStatus", "{.copyStatus}"), ("Roots", "{.roots}")])
        .since(9),
    row("ImageVerificationRules.security.talos.dev", "ImageVerificationRule", "security")
        .columns(&[("Pattern", "{.imagePattern}"), ("Skip", "{.skip}"), ("Deny", "{.deny}")])
        .since(13),
    row("KernelCmdlines.runtime.talos.dev", "KernelCmdline", "runtime")
        .aliases(&["cmdline"])
        .columns(&[("Cmdline", "{.cmdline}")])
        .since(11),
    row("KernelModuleSpecs.runtime.talos.dev", "KernelModuleSpec", "runtime"),
    row("KernelParamDefaultSpecs.runtime.talos.dev", "KernelParamDefaultSpec", "runtime"),
    row("KernelParamSpecs.runtime.talos.dev", "KernelParamSpec", "runtime"),
    row("KernelParamStatuses.runtime.talos.dev", "KernelParamStatus", "runtime")
        .aliases(&["sysctls", "kernelparameters", "kernelparams"])
        .columns(&[("Current", "{.current}"), ("Default", "{.default}"), ("Unsupported", "{.unsupported}")]),
    row("KmsgLogConfigs.runtime.talos.dev", "KmsgLogConfig", "runtime"),
    row("LoadedKernelModules.runtime.talos.dev", "LoadedKernelModule", "runtime")
        .aliases(&["module", "modules"])
        .columns(&[("State", "{.state}")])
        .since(11),
    row("MachineResetSignals.runtime.talos.dev", "MachineResetSignal", "runtime"),
    row("MachineStatuses.runtime.talos.dev", "MachineStatus", "runtime").columns(&[("Stage", "{.stage}"), ("Ready", "{.status.ready}")]),
    row("MaintenanceServiceConfigs.runtime.talos.dev", "MaintenanceServiceConfig", "runtime"),
    row("MaintenanceServiceRequests.runtime.talos.dev", "MaintenanceServiceRequest", "runtime"),
    row("MemoryModules.hardware.talos.dev", "MemoryModule", "hardware").aliases(&["memorymodules", "ram"]).columns(&[
        ("Manufacturer", "{.manufacturer}"),
        ("Model", "{.productName}"),
        ("SizeMiB", "{.sizeMiB}"),
    ]),
    row("MemoryStats.perf.talos.dev", "MemoryStat", "perf").columns(&[("Used", "{.used}"), ("Total", "{.total}")]),
    row("MetaKeys.runtime.talos.dev", "MetaKey", "runtime").aliases(&["meta"]).columns(&[("Value", "{.value}")]),
    row("MetaLoads.runtime.talos.dev", "MetaLoad", "runtime").columns(&[("Done", "{.done}")]),
    row("MountStatuses.runtime.talos.dev", "MountStatus", "runtime")
        .aliases(&["mounts"])
        .columns(&[("Source", "{.source}"), ("Target", "{.target}"), ("Filesystem Type", "{.filesystemType}")])
        .plain(),
    row("Namespaces.meta.cosi.dev", "Namespace", "meta").aliases(&["ns"]),
    row("OOMActions.talos.dev", "OOMAction", "runtime")
        .aliases(&["oomaction", "oomactions"])
        .columns(&[("Time", "{.time}"), ("Score", "{.score}")])
        .sensitive()
        .since(12),
    row("PCIDevices.hardware.talos.dev", "PCIDevice", "hardware").aliases(&["devices", "device"]).columns(&[
        ("Class", "{.class}"),
        ("Subclass", "{.subclass}"),
        ("Vendor", "{.vendor}"),
        ("Product", "{.product}"),
    ]),
    row("PCIDriverRebindConfigs.runtime.talos.dev", "PCIDriverRebindConfig", "hardware")
        .columns(&[("Name", "{.name}"), ("PCI ID", "{.pciID}"), ("TargetDriver", "{.targetDriver}")])
        .since(10),
    row("PCIDriverRebindStatuses.runtime.talos.dev", "PCIDriverRebindStatus", "hardware")
        .aliases(&["pcidriverrebinds"])
        .columns(&[("Name", "{.name}"), ("PCI ID", "{.pciID}"), ("TargetDriver", "{.targetDriver}")])
        .since(10),
    row("PCRStatuses.hardware.talos.dev", "PCRStatus", "hardware").since(10),
    row("PlatformMetadatas.talos.dev", "PlatformMetadata", "runtime").columns(&[
        ("Platform", "{.platform}"),
        ("Type", "{.instanceType}"),
        ("Region", "{.region}"),
        ("Zone", "{.zone}"),
    ]),
    row("Processors.hardware.talos.dev", "Processor", "hardware").aliases(&["cpus", "cpu"]).columns(&[
        ("Manufacturer", "{.manufacturer}"),
        ("Model", "{.productName}"),
        ("Cores", "{.coreCount}"),
        ("Threads", "{.threadCount}"),
    ]),
    row("RegistryConfigs.cri.talos.dev", "RegistryConfig", "cri").since(9),
    row("ResourceDefinitions.meta.cosi.dev", "ResourceDefinition", "meta")
        .aliases(&["api-resources"])
        .columns(&[("Aliases", "{.aliases[:]}")]),
    row("SBOMItems.talos.dev", "SBOMItem", "runtime")
        .aliases(&["sbom", "sboms"])
        .columns(&[("Version", "{.version}"), ("License", "{.license}"), ("Extension", "{.extension}")])
        .since(11),
    row("SeccompProfiles.cri.talos.dev", "SeccompProfile", "cri"),
    row("SecurityStates.talos.dev", "SecurityState", "runtime").columns(&[
        ("SecureBoot", "{.secureBoot}"),
        ("UKISigningKeyFingerprint", "{.ukiSigningKeyFingerprint}"),
        ("PCRSigningKeyFingerprint", "{.pcrSigningKeyFingerprint}"),
        ("SELinuxState", "{.selinuxState}"),
        ("ModuleSignatureEnforced", "{.moduleSignatureEnforced}"),
    ]),
    row("ServicePIDs.runtime.talos.dev", "ServicePID", "runtime").columns(&[("PID", "{.pid}")]).since(13),
    row("Services.v1alpha1.talos.dev", "Service", "runtime").aliases(&["svc"]).columns(&[
        ("Running", "{.running}"),
        ("Healthy", "{.healthy}"),
        ("Health Unknown", "{.unknown}"),
    ]),
    row("SystemInformations.hardware.talos.dev", "SystemInformation", "hardware").aliases(&["systeminformation"]).columns(&[
        ("Manufacturer", "{.manufacturer}"),
        ("ProductName", "{.productName}"),
        ("Version", "{.version}"),
        ("SerialNumber", "{.serialnumber}"),
        ("UUID", "{.uuid}"),
        ("WakeUpType", "{.wakeUpType}"),
        ("SKUNumber", "{.skuNumber}"),
    ]),
    row("TUFTrustedRoots.security.talos.dev", "TUFTrustedRoot", "security").columns(&[("Last Refresh", "{.lastRefreshTime}")]).since(13),
    row("TimeStatuses.v1alpha1.talos.dev", "TimeStatus", "runtime").columns(&[("Synced", "{.synced}")]),
    row("UniqueMachineTokens.runtime.talos.dev", "UniqueMachineToken", "runtime").columns(&[("Token", "{.token}")]),
    row("Versions.runtime.talos.dev", "Version", "runtime").columns(&[("Version", "{.version}")]).since(10),
    row("WatchdogTimerConfigs.runtime.talos.dev", "WatchdogTimerConfig", "runtime")
        .columns(&[("Device", "{.device}"), ("Timeout", "{.timeout}")]),
    row("WatchdogTimerStatuses.runtime.talos.dev", "WatchdogTimerStatus", "runtime")
        .columns(&[("Device", "{.device}"), ("Timeout", "{.timeout}")]),
];
