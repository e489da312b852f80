//! The fields of everyday messages.
//!
//! One message a line; a field is its number in protobuf, its name and its
//! type: `s` text, `i` whole number, `b` yes or no, `B` bytes, `T` time, `I`
//! number or text, `Q` quantity, `M…` a map of these by text, `[]…` a list, a
//! message's name, `*…` a message whose fields are the fields of this one, and
//! `?` for what is taken as it comes.

pub(super) const MESSAGES: &str = "
ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 4:selfLink:s 5:uid:s 6:resourceVersion:s 7:generation:i 8:creationTimestamp:T 9:deletionTimestamp:T 10:deletionGracePeriodSeconds:i 11:labels:Ms 12:annotations:Ms 13:ownerReferences:[]OwnerReference 14:finalizers:[]s 17:managedFields:[]?
OwnerReference 1:kind:s 3:name:s 4:uid:s 5:apiVersion:s 6:controller:b 7:blockOwnerDeletion:b
LabelSelector 1:matchLabels:Ms 2:matchExpressions:[]LabelSelectorRequirement
LabelSelectorRequirement 1:key:s 2:operator:s 3:values:[]s
DeleteOptions 1:gracePeriodSeconds:i 2:preconditions:Preconditions 3:orphanDependents:b 4:propagationPolicy:s 5:dryRun:[]s 6:ignoreStoreReadErrorWithClusterBreakingPotential:b
Preconditions 1:uid:s 2:resourceVersion:s
Namespace 1:metadata:ObjectMeta 2:spec:NamespaceSpec 3:status:?
NamespaceSpec 1:finalizers:[]s
ConfigMap 1:metadata:ObjectMeta 2:data:Ms 3:binaryData:MB 4:immutable:b
Secret 1:metadata:ObjectMeta 2:data:MB 3:type:s 4:stringData:Ms 5:immutable:b
ServiceAccount 1:metadata:ObjectMeta 2:secrets:[]ObjectReference 3:imagePullSecrets:[]LocalObjectReference 4:automountServiceAccountToken:b
LocalObjectReference 1:name:s
ObjectReference 1:kind:s 2:namespace:s 3:name:s 4:uid:s 5:apiVersion:s 6:resourceVersion:s 7:fieldPath:s
Service 1:metadata:ObjectMeta 2:spec:ServiceSpec 3:status:?
ServiceSpec 1:ports:[]ServicePort 2:selector:Ms 3:clusterIP:s 4:type:s 5:externalIPs:[]s 7:sessionAffinity:s 8:loadBalancerIP:s 9:loadBalancerSourceRanges:[]s 10:externalName:s 11:externalTrafficPolicy:s 12:healthCheckNodePort:i 13:publishNotReadyAddresses:b 14:sessionAffinityConfig:? 17:ipFamilyPolicy:s 18:clusterIPs:[]s 19:ipFamilies:[]s 20:allocateLoadBalancerNodePorts:b 21:loadBalancerClass:s 22:internalTrafficPolicy:s 23:trafficDistribution:s
ServicePort 1:name:s 2:protocol:s 3:port:i 4:targetPort:I 5:nodePort:i 6:appProtocol:s
Pod 1:metadata:ObjectMeta 2:spec:PodSpec 3:status:?
PodSpec 1:volumes:[]Volume 2:containers:[]Container 3:restartPolicy:s 4:terminationGracePeriodSeconds:i 5:activeDeadlineSeconds:i 6:dnsPolicy:s 7:nodeSelector:Ms 8:serviceAccountName:s 9:serviceAccount:s 10:nodeName:s 11:hostNetwork:b 12:hostPID:b 13:hostIPC:b 14:securityContext:? 15:imagePullSecrets:[]LocalObjectReference 16:hostname:s 17:subdomain:s 18:affinity:? 19:schedulerName:s 20:initContainers:[]Container 21:automountServiceAccountToken:b 22:tolerations:[]Toleration 23:hostAliases:[]? 24:priorityClassName:s 25:priority:i 26:dnsConfig:? 27:shareProcessNamespace:b 28:readinessGates:[]? 29:runtimeClassName:s 30:enableServiceLinks:b 31:preemptionPolicy:s 32:overhead:MQ 33:topologySpreadConstraints:[]? 34:ephemeralContainers:[]? 35:setHostnameAsFQDN:b 36:os:? 37:hostUsers:b 38:schedulingGates:[]? 39:resourceClaims:[]? 40:resources:ResourceRequirements 41:hostnameOverride:s
PodTemplateSpec 1:metadata:ObjectMeta 2:spec:PodSpec
Container 1:name:s 2:image:s 3:command:[]s 4:args:[]s 5:workingDir:s 6:ports:[]ContainerPort 7:env:[]EnvVar 8:resources:ResourceRequirements 9:volumeMounts:[]VolumeMount 10:livenessProbe:Probe 11:readinessProbe:Probe 12:lifecycle:? 13:terminationMessagePath:s 14:imagePullPolicy:s 15:securityContext:? 16:stdin:b 17:stdinOnce:b 18:tty:b 19:envFrom:[]EnvFromSource 20:terminationMessagePolicy:s 21:volumeDevices:[]? 22:startupProbe:Probe 23:resizePolicy:[]? 24:restartPolicy:s 25:restartPolicyRules:[]?
ContainerPort 1:name:s 2:hostPort:i 3:containerPort:i 4:protocol:s 5:hostIP:s
EnvVar 1:name:s 2:value:s 3:valueFrom:EnvVarSource
EnvVarSource 1:fieldRef:ObjectFieldSelector 2:resourceFieldRef:? 3:configMapKeyRef:KeySelector 4:secretKeyRef:KeySelector 5:fileKeyRef:?
KeySelector 1:-:*LocalObjectReference 2:key:s 3:optional:b
ObjectFieldSelector 1:apiVersion:s 2:fieldPath:s
EnvFromSource 1:prefix:s 2:configMapRef:EnvSource 3:secretRef:EnvSource
EnvSource 1:-:*LocalObjectReference 2:optional:b
ResourceRequirements 1:limits:MQ 2:requests:MQ 3:claims:[]?
VolumeMount 1:name:s 2:readOnly:b 3:mountPath:s 4:subPath:s 5:mountPropagation:s 6:subPathExpr:s 7:recursiveReadOnly:s
Volume 1:name:s 2:-:*VolumeSource
VolumeSource 1:hostPath:HostPath 2:emptyDir:EmptyDir 3:gcePersistentDisk:? 4:awsElasticBlockStore:? 5:gitRepo:? 6:secret:SecretFiles 7:nfs:? 8:iscsi:? 9:glusterfs:? 10:persistentVolumeClaim:ClaimSource 11:rbd:? 12:flexVolume:? 13:cinder:? 14:cephfs:? 15:flocker:? 16:downwardAPI:? 17:fc:? 18:azureFile:? 19:configMap:ConfigFiles 20:vsphereVolume:? 21:quobyte:? 22:azureDisk:? 23:photonPersistentDisk:? 24:portworxVolume:? 25:scaleIO:? 26:projected:? 27:storageos:? 28:csi:? 29:ephemeral:? 30:image:?
Toleration 1:key:s 2:operator:s 3:value:s 4:effect:s 5:tolerationSeconds:i
Probe 1:-:*ProbeHandler 2:initialDelaySeconds:i 3:timeoutSeconds:i 4:periodSeconds:i 5:successThreshold:i 6:failureThreshold:i 7:terminationGracePeriodSeconds:i
HostPath 1:path:s 2:type:s
EmptyDir 1:medium:s 2:sizeLimit:Q
ConfigFiles 1:-:*LocalObjectReference 2:items:[]KeyToPath 3:defaultMode:i 4:optional:b
SecretFiles 1:secretName:s 2:items:[]KeyToPath 3:defaultMode:i 4:optional:b
KeyToPath 1:key:s 2:path:s 3:mode:i
ClaimSource 1:claimName:s 2:readOnly:b
ProbeHandler 1:exec:Command 2:httpGet:HttpGet 3:tcpSocket:TcpSocket 4:grpc:?
Command 1:command:[]s
HttpGet 1:path:s 2:port:I 3:host:s 4:scheme:s 5:httpHeaders:[]?
TcpSocket 1:port:I 2:host:s
Binding 1:metadata:ObjectMeta 2:target:ObjectReference
PersistentVolumeClaim 1:metadata:ObjectMeta 2:spec:PersistentVolumeClaimSpec 3:status:?
PersistentVolumeClaimSpec 1:accessModes:[]s 2:resources:ResourceRequirements 3:volumeName:s 4:selector:LabelSelector 5:storageClassName:s 6:volumeMode:s 7:dataSource:? 8:dataSourceRef:? 9:volumeAttributesClassName:s
ResourceQuota 1:metadata:ObjectMeta 2:spec:ResourceQuotaSpec 3:status:?
ResourceQuotaSpec 1:hard:MQ 2:scopes:[]s 3:scopeSelector:?
Deployment 1:metadata:ObjectMeta 2:spec:DeploymentSpec 3:status:?
DeploymentSpec 1:replicas:i 2:selector:LabelSelector 3:template:PodTemplateSpec 4:strategy:Strategy 5:minReadySeconds:i 6:revisionHistoryLimit:i 7:paused:b 9:progressDeadlineSeconds:i
Strategy 1:type:s 2:rollingUpdate:RollingUpdate
RollingUpdate 1:maxUnavailable:I 2:maxSurge:I
DaemonSet 1:metadata:ObjectMeta 2:spec:DaemonSetSpec 3:status:?
DaemonSetSpec 1:selector:LabelSelector 2:template:PodTemplateSpec 3:updateStrategy:Strategy 4:minReadySeconds:i 6:revisionHistoryLimit:i
StatefulSet 1:metadata:ObjectMeta 2:spec:StatefulSetSpec 3:status:?
StatefulSetSpec 1:replicas:i 2:selector:LabelSelector 3:template:PodTemplateSpec 4:volumeClaimTemplates:[]PersistentVolumeClaim 5:serviceName:s 6:podManagementPolicy:s 7:updateStrategy:? 8:revisionHistoryLimit:i 9:minReadySeconds:i 10:persistentVolumeClaimRetentionPolicy:? 11:ordinals:?
Job 1:metadata:ObjectMeta 2:spec:JobSpec 3:status:?
JobSpec 1:parallelism:i 2:completions:i 3:activeDeadlineSeconds:i 4:selector:LabelSelector 5:manualSelector:b 6:template:PodTemplateSpec 7:backoffLimit:i 8:ttlSecondsAfterFinished:i 9:completionMode:s 10:suspend:b 11:podFailurePolicy:? 12:backoffLimitPerIndex:i 13:maxFailedIndexes:i 14:podReplacementPolicy:s 15:managedBy:s 16:successPolicy:?
CronJob 1:metadata:ObjectMeta 2:spec:CronJobSpec 3:status:?
CronJobSpec 1:schedule:s 2:startingDeadlineSeconds:i 3:concurrencyPolicy:s 4:suspend:b 5:jobTemplate:JobTemplateSpec 6:successfulJobsHistoryLimit:i 7:failedJobsHistoryLimit:i 8:timeZone:s
JobTemplateSpec 1:metadata:ObjectMeta 2:spec:JobSpec
Eviction 1:metadata:ObjectMeta 2:deleteOptions:DeleteOptions
PodDisruptionBudget 1:metadata:ObjectMeta 2:spec:PodDisruptionBudgetSpec 3:status:?
PodDisruptionBudgetSpec 1:minAvailable:I 2:selector:LabelSelector 3:maxUnavailable:I 4:unhealthyPodEvictionPolicy:s
TokenRequest 1:metadata:ObjectMeta 2:spec:TokenRequestSpec 3:status:?
TokenRequestSpec 1:audiences:[]s 3:boundObjectRef:? 4:expirationSeconds:i
SelfSubjectReview 1:metadata:ObjectMeta 2:status:?
SelfSubjectAccessReview 1:metadata:ObjectMeta 2:spec:SelfSubjectAccessReviewSpec 3:status:?
SelfSubjectAccessReviewSpec 1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:NonResourceAttributes
ResourceAttributes 1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s 8:fieldSelector:? 9:labelSelector:?
NonResourceAttributes 1:path:s 2:verb:s
SelfSubjectRulesReview 1:metadata:ObjectMeta 2:spec:SelfSubjectRulesReviewSpec 3:status:?
SelfSubjectRulesReviewSpec 1:namespace:s
PriorityClass 1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s
Ingress 1:metadata:ObjectMeta 2:spec:IngressSpec 3:status:?
IngressSpec 1:defaultBackend:IngressBackend 2:tls:[]IngressTls 3:rules:[]IngressRule 4:ingressClassName:s
IngressTls 1:hosts:[]s 2:secretName:s
IngressRule 1:host:s 2:-:*IngressRuleValue
IngressRuleValue 1:http:IngressPaths
IngressPaths 1:paths:[]IngressPath
IngressPath 1:path:s 2:backend:IngressBackend 3:pathType:s
IngressBackend 3:resource:? 4:service:IngressService
IngressService 1:name:s 2:port:IngressPort
IngressPort 1:name:s 2:number:i
Role 1:metadata:ObjectMeta 2:rules:[]PolicyRule
ClusterRole 1:metadata:ObjectMeta 2:rules:[]PolicyRule 3:aggregationRule:?
RoleBinding 1:metadata:ObjectMeta 2:subjects:[]Subject 3:roleRef:RoleRef
ClusterRoleBinding 1:metadata:ObjectMeta 2:subjects:[]Subject 3:roleRef:RoleRef
PolicyRule 1:verbs:[]s 2:apiGroups:[]s 3:resources:[]s 4:resourceNames:[]s 5:nonResourceURLs:[]s
Subject 1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s
RoleRef 1:apiGroup:s 2:kind:s 3:name:s
";
