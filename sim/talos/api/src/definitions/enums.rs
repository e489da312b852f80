//! Numbers with names, of every package.

/// `talos.resource.definitions.enums.MachineType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MachineType {
    Unknown = 0,
    Init = 1,
    ControlPlane = 2,
    Worker = 3,
}

/// `talos.resource.definitions.enums.NethelpersAddressSortAlgorithm`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersAddressSortAlgorithm {
    V1 = 0,
    V2 = 1,
}

/// `talos.resource.definitions.enums.NethelpersADSelect`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersAdSelect {
    Stable = 0,
    Bandwidth = 1,
    Count = 2,
}

/// `talos.resource.definitions.enums.NethelpersARPAllTargets`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersArpAllTargets {
    Any = 0,
    All = 1,
}

/// `talos.resource.definitions.enums.NethelpersARPValidate`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersArpValidate {
    None = 0,
    Active = 1,
    Backup = 2,
    All = 3,
    Filter = 4,
    FilterActive = 5,
    FilterBackup = 6,
}

/// `talos.resource.definitions.enums.NethelpersBondMode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersBondMode {
    ModeRoundrobin = 0,
    ModeActiveBackup = 1,
    ModeXor = 2,
    ModeBroadcast = 3,
    Mode8023Ad = 4,
    ModeTlb = 5,
    ModeAlb = 6,
}

/// `talos.resource.definitions.enums.NethelpersBondXmitHashPolicy`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersBondXmitHashPolicy {
    Layer2 = 0,
    Layer34 = 1,
    Layer23 = 2,
    Encap23 = 3,
    Encap34 = 4,
}

/// `talos.resource.definitions.enums.NethelpersDuplex`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersDuplex {
    Half = 0,
    Full = 1,
    Unknown = 255,
}

/// `talos.resource.definitions.enums.NethelpersFailOverMAC`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersFailOverMac {
    None = 0,
    Active = 1,
    Follow = 2,
}

/// `talos.resource.definitions.enums.NethelpersFamily`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersFamily {
    NethelpersFamilyUnspecified = 0,
    FamilyInet4 = 2,
    FamilyInet6 = 10,
}

/// `talos.resource.definitions.enums.NethelpersLACPRate`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersLacpRate {
    Slow = 0,
    Fast = 1,
}

/// `talos.resource.definitions.enums.NethelpersLinkType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersLinkType {
    LinkNetrom = 0,
    LinkEther = 1,
    LinkEether = 2,
    LinkAx25 = 3,
    LinkPronet = 4,
    LinkChaos = 5,
    LinkIee802 = 6,
    LinkArcnet = 7,
    LinkAtalk = 8,
    LinkDlci = 15,
    LinkAtm = 19,
    LinkMetricom = 23,
    LinkIeee1394 = 24,
    LinkEui64 = 27,
    LinkInfiniband = 32,
    LinkSlip = 256,
    LinkCslip = 257,
    LinkSlip6 = 258,
    LinkCslip6 = 259,
    LinkRsrvd = 260,
    LinkAdapt = 264,
    LinkRose = 270,
    LinkX25 = 271,
    LinkHwx25 = 272,
    LinkCan = 280,
    LinkPpp = 512,
    LinkCisco = 513,
    LinkLapb = 516,
    LinkDdcmp = 517,
    LinkRawhdlc = 518,
    LinkTunnel = 768,
    LinkTunnel6 = 769,
    LinkFrad = 770,
    LinkSkip = 771,
    LinkLoopbck = 772,
    LinkLocaltlk = 773,
    LinkFddi = 774,
    LinkBif = 775,
    LinkSit = 776,
    LinkIpddp = 777,
    LinkIpgre = 778,
    LinkPimreg = 779,
    LinkHippi = 780,
    LinkAsh = 781,
    LinkEconet = 782,
    LinkIrda = 783,
    LinkFcpp = 784,
    LinkFcal = 785,
    LinkFcpl = 786,
    LinkFcfabric = 787,
    LinkFcfabric1 = 788,
    LinkFcfabric2 = 789,
    LinkFcfabric3 = 790,
    LinkFcfabric4 = 791,
    LinkFcfabric5 = 792,
    LinkFcfabric6 = 793,
    LinkFcfabric7 = 794,
    LinkFcfabric8 = 795,
    LinkFcfabric9 = 796,
    LinkFcfabric10 = 797,
    LinkFcfabric11 = 798,
    LinkFcfabric12 = 799,
    LinkIee802tr = 800,
    LinkIee80211 = 801,
    LinkIee80211prism = 802,
    LinkIee80211Radiotap = 803,
    LinkIee8021154 = 804,
    LinkIee8021154monitor = 805,
    LinkPhonet = 820,
    LinkPhonetpipe = 821,
    LinkCaif = 822,
    LinkIp6gre = 823,
    LinkNetlink = 824,
    Link6Lowpan = 825,
    LinkVoid = 65535,
    LinkNone = 65534,
}

/// `talos.resource.definitions.enums.NethelpersOperationalState`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersOperationalState {
    Unknown = 0,
    NotPresent = 1,
    Down = 2,
    LowerLayerDown = 3,
    Testing = 4,
    Dormant = 5,
    Up = 6,
}

/// `talos.resource.definitions.enums.NethelpersPort`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersPort {
    TwistedPair = 0,
    Aui = 1,
    Mii = 2,
    Fibre = 3,
    Bnc = 4,
    DirectAttach = 5,
    None = 239,
    Other = 255,
}

/// `talos.resource.definitions.enums.NethelpersPrimaryReselect`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersPrimaryReselect {
    Always = 0,
    Better = 1,
    Failure = 2,
}

/// `talos.resource.definitions.enums.NethelpersRouteProtocol`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersRouteProtocol {
    Unspec = 0,
    Redirect = 1,
    Kernel = 2,
    Boot = 3,
    Static = 4,
    Ra = 9,
    Mrt = 10,
    Zebra = 11,
    Bird = 12,
    Dnrouted = 13,
    Xorp = 14,
    Ntk = 15,
    Dhcp = 16,
    Mrtd = 17,
    Keepalived = 18,
    Babel = 42,
    Openr = 99,
    Bgp = 186,
    Isis = 187,
    Ospf = 188,
    Rip = 189,
    Eigrp = 192,
}

/// `talos.resource.definitions.enums.NethelpersRouteType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersRouteType {
    Unspec = 0,
    Unicast = 1,
    Local = 2,
    Broadcast = 3,
    Anycast = 4,
    Multicast = 5,
    Blackhole = 6,
    Unreachable = 7,
    Prohibit = 8,
    Throw = 9,
    Nat = 10,
    XResolve = 11,
}

/// `talos.resource.definitions.enums.NethelpersRoutingTable`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersRoutingTable {
    TableUnspec = 0,
    Table1 = 1,
    Table2 = 2,
    Table3 = 3,
    Table4 = 4,
    Table5 = 5,
    Table6 = 6,
    Table7 = 7,
    Table8 = 8,
    Table9 = 9,
    Table10 = 10,
    Table11 = 11,
    Table12 = 12,
    Table13 = 13,
    Table14 = 14,
    Table15 = 15,
    Table16 = 16,
    Table17 = 17,
    Table18 = 18,
    Table19 = 19,
    Table20 = 20,
    Table21 = 21,
    Table22 = 22,
    Table23 = 23,
    Table24 = 24,
    Table25 = 25,
    Table26 = 26,
    Table27 = 27,
    Table28 = 28,
    Table29 = 29,
    Table30 = 30,
    Table31 = 31,
    Table32 = 32,
    Table33 = 33,
    Table34 = 34,
    Table35 = 35,
    Table36 = 36,
    Table37 = 37,
    Table38 = 38,
    Table39 = 39,
    Table40 = 40,
    Table41 = 41,
    Table42 = 42,
    Table43 = 43,
    Table44 = 44,
    Table45 = 45,
    Table46 = 46,
    Table47 = 47,
    Table48 = 48,
    Table49 = 49,
    Table50 = 50,
    Table51 = 51,
    Table52 = 52,
    Table53 = 53,
    Table54 = 54,
    Table55 = 55,
    Table56 = 56,
    Table57 = 57,
    Table58 = 58,
    Table59 = 59,
    Table60 = 60,
    Table61 = 61,
    Table62 = 62,
    Table63 = 63,
    Table64 = 64,
    Table65 = 65,
    Table66 = 66,
    Table67 = 67,
    Table68 = 68,
    Table69 = 69,
    Table70 = 70,
    Table71 = 71,
    Table72 = 72,
    Table73 = 73,
    Table74 = 74,
    Table75 = 75,
    Table76 = 76,
    Table77 = 77,
    Table78 = 78,
    Table79 = 79,
    Table80 = 80,
    Table81 = 81,
    Table82 = 82,
    Table83 = 83,
    Table84 = 84,
    Table85 = 85,
    Table86 = 86,
    Table87 = 87,
    Table88 = 88,
    Table89 = 89,
    Table90 = 90,
    Table91 = 91,
    Table92 = 92,
    Table93 = 93,
    Table94 = 94,
    Table95 = 95,
    Table96 = 96,
    Table97 = 97,
    Table98 = 98,
    Table99 = 99,
    Table100 = 100,
    Table101 = 101,
    Table102 = 102,
    Table103 = 103,
    Table104 = 104,
    Table105 = 105,
    Table106 = 106,
    Table107 = 107,
    Table108 = 108,
    Table109 = 109,
    Table110 = 110,
    Table111 = 111,
    Table112 = 112,
    Table113 = 113,
    Table114 = 114,
    Table115 = 115,
    Table116 = 116,
    Table117 = 117,
    Table118 = 118,
    Table119 = 119,
    Table120 = 120,
    Table121 = 121,
    Table122 = 122,
    Table123 = 123,
    Table124 = 124,
    Table125 = 125,
    Table126 = 126,
    Table127 = 127,
    Table128 = 128,
    Table129 = 129,
    Table130 = 130,
    Table131 = 131,
    Table132 = 132,
    Table133 = 133,
    Table134 = 134,
    Table135 = 135,
    Table136 = 136,
    Table137 = 137,
    Table138 = 138,
    Table139 = 139,
    Table140 = 140,
    Table141 = 141,
    Table142 = 142,
    Table143 = 143,
    Table144 = 144,
    Table145 = 145,
    Table146 = 146,
    Table147 = 147,
    Table148 = 148,
    Table149 = 149,
    Table150 = 150,
    Table151 = 151,
    Table152 = 152,
    Table153 = 153,
    Table154 = 154,
    Table155 = 155,
    Table156 = 156,
    Table157 = 157,
    Table158 = 158,
    Table159 = 159,
    Table160 = 160,
    Table161 = 161,
    Table162 = 162,
    Table163 = 163,
    Table164 = 164,
    Table165 = 165,
    Table166 = 166,
    Table167 = 167,
    Table168 = 168,
    Table169 = 169,
    Table170 = 170,
    Table171 = 171,
    Table172 = 172,
    Table173 = 173,
    Table174 = 174,
    Table175 = 175,
    Table176 = 176,
    Table177 = 177,
    Table178 = 178,
    Table179 = 179,
    Table180 = 180,
    Table181 = 181,
    Table182 = 182,
    Table183 = 183,
    Table184 = 184,
    Table185 = 185,
    Table186 = 186,
    Table187 = 187,
    Table188 = 188,
    Table189 = 189,
    Table190 = 190,
    Table191 = 191,
    Table192 = 192,
    Table193 = 193,
    Table194 = 194,
    Table195 = 195,
    Table196 = 196,
    Table197 = 197,
    Table198 = 198,
    Table199 = 199,
    Table200 = 200,
    Table201 = 201,
    Table202 = 202,
    Table203 = 203,
    Table204 = 204,
    Table205 = 205,
    Table206 = 206,
    Table207 = 207,
    Table208 = 208,
    Table209 = 209,
    Table210 = 210,
    Table211 = 211,
    Table212 = 212,
    Table213 = 213,
    Table214 = 214,
    Table215 = 215,
    Table216 = 216,
    Table217 = 217,
    Table218 = 218,
    Table219 = 219,
    Table220 = 220,
    Table221 = 221,
    Table222 = 222,
    Table223 = 223,
    Table224 = 224,
    Table225 = 225,
    Table226 = 226,
    Table227 = 227,
    Table228 = 228,
    Table229 = 229,
    Table230 = 230,
    Table231 = 231,
    Table232 = 232,
    Table233 = 233,
    Table234 = 234,
    Table235 = 235,
    Table236 = 236,
    Table237 = 237,
    Table238 = 238,
    Table239 = 239,
    Table240 = 240,
    Table241 = 241,
    Table242 = 242,
    Table243 = 243,
    Table244 = 244,
    Table245 = 245,
    Table246 = 246,
    Table247 = 247,
    Table248 = 248,
    Table249 = 249,
    Table250 = 250,
    Table251 = 251,
    Table252 = 252,
    TableDefault = 253,
    TableMain = 254,
    TableLocal = 255,
}

/// `talos.resource.definitions.enums.NethelpersScope`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersScope {
    Global = 0,
    Site = 200,
    Link = 253,
    Host = 254,
    Nowhere = 255,
}

/// `talos.resource.definitions.enums.NethelpersVLANProtocol`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersVlanProtocol {
    NethelpersVlanprotocolUnspecified = 0,
    VlanProtocol8021Q = 33024,
    VlanProtocol8021Ad = 34984,
}

/// `talos.resource.definitions.enums.BlockEncryptionProviderType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlockEncryptionProviderType {
    None = 0,
    Luks2 = 1,
}

/// `talos.resource.definitions.enums.BlockFilesystemType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlockFilesystemType {
    None = 0,
    Xfs = 1,
    Vfat = 2,
    Ext4 = 3,
    Iso9660 = 4,
    Swap = 5,
    Virtiofs = 6,
}

/// `talos.resource.definitions.enums.BlockVolumePhase`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlockVolumePhase {
    Waiting = 0,
    Failed = 1,
    Missing = 2,
    Located = 3,
    Provisioned = 4,
    Prepared = 5,
    Ready = 6,
    Closed = 7,
}

/// `talos.resource.definitions.enums.BlockVolumeType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlockVolumeType {
    Partition = 0,
    Disk = 1,
    Tmpfs = 2,
    Directory = 3,
    Symlink = 4,
    Overlay = 5,
    External = 6,
}

/// `talos.resource.definitions.enums.CriImageCacheStatus`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CriImageCacheStatus {
    Unknown = 0,
    Disabled = 1,
    Preparing = 2,
    Ready = 3,
}

/// `talos.resource.definitions.enums.CriImageCacheCopyStatus`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CriImageCacheCopyStatus {
    Unknown = 0,
    Skipped = 1,
    Pending = 2,
    Ready = 3,
}

/// `talos.resource.definitions.enums.KubespanPeerState`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum KubespanPeerState {
    Unknown = 0,
    Up = 1,
    Down = 2,
}

/// `talos.resource.definitions.enums.RuntimeMachineStage`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RuntimeMachineStage {
    Unknown = 0,
    Booting = 1,
    Installing = 2,
    Maintenance = 3,
    Running = 4,
    Rebooting = 5,
    ShuttingDown = 6,
    Resetting = 7,
    Upgrading = 8,
}

/// `talos.resource.definitions.enums.RuntimeSELinuxState`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RuntimeSeLinuxState {
    Disabled = 0,
    Permissive = 1,
    Enforcing = 2,
}

/// `talos.resource.definitions.enums.RuntimeFIPSState`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RuntimeFipsState {
    Disabled = 0,
    Enabled = 1,
    Strict = 2,
}

/// `talos.resource.definitions.enums.NethelpersADLACPActive`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NethelpersAdlacpActive {
    Off = 0,
    On = 1,
}

/// `talos.resource.definitions.enums.BlockFSParameterType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlockFsParameterType {
    StringValue = 0,
    BooleanValue = 1,
    BinaryValue = 2,
}
