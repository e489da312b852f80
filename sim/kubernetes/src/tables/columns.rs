//! Which columns the tables of everyday kinds have.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Column;

/// One kind a line. A column ends in `#` for a number, `?` for yes or no, `@` for a date, and in `+` where only wide tables show it.
const TABLE: &str = "
Pod: Name, Ready, Status, Restarts, Age, IP+, Node+, Nominated Node+, Readiness Gates+
Node: Name, Status, Roles, Age, Version, Internal-IP+, External-IP+, OS-Image+, Kernel-Version+, Container-Runtime+
Namespace: Name, Status, Age
Deployment: Name, Ready, Up-to-date, Available, Age, Containers+, Images+, Selector+
ReplicaSet: Name, Desired#, Current#, Ready#, Age, Containers+, Images+, Selector+
ReplicationController: Name, Desired#, Current#, Ready#, Age, Containers+, Images+, Selector+
DaemonSet: Name, Desired#, Current#, Ready#, Up-to-date#, Available#, Node Selector, Age, Containers+, Images+, Selector+
StatefulSet: Name, Ready, Age, Containers+, Images+
Job: Name, Status, Completions, Duration, Age, Containers+, Images+, Selector+
CronJob: Name, Schedule, Timezone, Suspend?, Active#, Last Schedule, Age
Service: Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector+
Endpoints: Name, Endpoints, Age
EndpointSlice: Name, AddressType, Ports, Endpoints, Age
ConfigMap: Name, Data, Age
Secret: Name, Type, Data, Age
ServiceAccount: Name, Secrets, Age
Event: Last Seen, Type, Reason, Object, Subobject+, Source+, Message, First Seen+, Count+, Name+
PersistentVolume: Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age, VolumeMode+
PersistentVolumeClaim: Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode+
StorageClass: Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age
PodDisruptionBudget: Name, Min Available, Max Unavailable, Allowed Disruptions#, Age
CustomResourceDefinition: Name, Created At@
ClusterRole: Name, Created At@
Role: Name, Created At@
RoleBinding: Name, Role, Age
ClusterRoleBinding: Name, Role, Age
Ingress: Name, Class, Hosts, Address, Ports, Age
APIService: Name, Service, Available, Age
Lease: Name, Holder, Age
PriorityClass: Name, Value#, Global-Default?, Age, PreemptionPolicy
RuntimeClass: Name, Handler, Age
";

static COLUMNS: LazyLock<HashMap<&'static str, Vec<Column>>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let (kind, columns) = line.split_once(": ")?;
        Some((kind, columns.split(", ").map(column).collect()))
    };
    TABLE.lines().filter_map(line).collect()
});

fn column(text: &'static str) -> Column {
    let (name, priority) = text.strip_suffix('+').map_or((text, 0), |name| (name, 1));
    let kinds = [('#', "integer"), ('?', "boolean"), ('@', "date")];
    let found = kinds.iter().find_map(|(mark, kind)| name.strip_suffix(*mark).map(|name| (name, *kind)));
    let (name, kind) = found.unwrap_or((name, "string"));
    (name, kind, priority)
}

pub(super) fn columns(kind: &str) -> &'static [Column] {
    const ANY: &[Column] = &[("Name", "string", 0), ("Age", "string", 0)];
    COLUMNS.get(kind).map_or(ANY, Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_cell_for_each_column() {
        for (kind, columns) in COLUMNS.iter() {
            assert_eq!(super::super::cells::cells(kind, &serde_json::json!({})).len(), columns.len(), "{kind}");
        }
        assert_eq!(columns("Pod")[5], ("IP", "string", 1));
        assert_eq!(columns("ReplicaSet")[1], ("Desired", "integer", 0));
    }
}
