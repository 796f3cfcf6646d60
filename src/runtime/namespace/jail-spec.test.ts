import { expect, it } from "vitest";
import { HEAD_BYTES, TAG } from "../../protocol/wire.ts";
import type { SandboxSpec } from "../contract/sandbox-spec.ts";
import { encodeClearSpec, encodeJailSpec, type JailPaths, type JailRequest } from "./jail-spec.ts";

const PLACE: JailPaths = {
  id: "a1b2c3d4e5f6g7h8i9j0",
  generation: 1,
  folder: "/home/runs/1",
  sockets: "/run/a1",
  layers: "/home/layers",
  slots: "/home/slots",
  idMap: { kind: "single" },
  storage: "home",
};
const LIMITS = { memoryBytes: 4096, cpus: 1.5, pids: 7, diskBytes: 8192, openFiles: 9 };
const SPEC: SandboxSpec = {
  id: PLACE.id,
  generation: 1,
  folder: PLACE.folder,
  base: { template: "base" },
  inside: { home: "/home/user", workspace: "/home/user", cwd: "/home/user", env: {} },
  hostname: "box",
  limits: LIMITS,
  required: [],
  ephemeral: false,
};
const TEMPLATE = {
  name: "base",
  fingerprint: "f",
  rootLayers: ["/root1", "/root2"],
  usrLayers: ["/usr1", "/usr"],
  env: {},
  user: "user",
  folders: SPEC.inside,
};
const REQUEST: JailRequest = {
  place: PLACE,
  spec: SPEC,
  template: { ...TEMPLATE, binds: [{ from: "/host/node", to: "/opt/belljar/node", readOnly: true }] },
  base: { below: [] },
  cgroups: [],
  groupLimits: ["memoryBytes", "cpus"],
  bootId: "boot",
};
const NESTED = new Set(["SETUP", "CGROUP"]);

/** Each field as `NAME=value`, in the order of the wire. */
function fieldsOf(bytes: Buffer): string[] {
  const fields: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    const value = bytes.subarray(at + 5, end);
    const [name, { width }] = Object.entries(TAG).find(([, { id }]) => id === bytes[at]) ?? ["?", { width: 0 }];
    const shown = NESTED.has(name) ? fieldsOf(value).join(" ") : width === 0 ? value.toString() : BigInt(`0x${value.toString("hex")}`);
    fields.push(`${name}=${shown}`);
    at = end;
  }
  return fields;
}

function jailFields(request: Partial<Omit<JailRequest, "place" | "spec">> & { place?: Partial<JailPaths>; spec?: Partial<SandboxSpec> }) {
  const [place, spec] = [
    { ...PLACE, ...request.place },
    { ...SPEC, ...request.spec },
  ];
  return fieldsOf(encodeJailSpec({ ...REQUEST, ...request, place, spec }).subarray(HEAD_BYTES));
}

const named = (name: string, fields: readonly string[]) => fields.filter((field) => field.startsWith(name));
const clearFields = (...of: Parameters<typeof encodeClearSpec>) => fieldsOf(encodeClearSpec(...of).subarray(HEAD_BYTES));

it("spells a sandbox as the jail reads it", () => {
  expect(jailFields({})).toEqual([
    "ID=a1b2c3d4e5f6g7h8i9j0",
    "RUN=1",
    "FOLDER=/home/runs/1",
    "SOCKETS=/run/a1",
    "LAYERS=/home/layers",
    "SLOTS=/home/slots",
    "STORAGE=1",
    "ID_MAP=2",
    "HOSTNAME=box",
    `SLOT=${Number.parseInt("a1b2c3d4", 36) % 32_768}`,
    "VALUE=boot",
    "DEADLINE_MS=0",
    "FLAGS=0",
    "LIMIT_MEMORY=4096",
    "LIMIT_CPU_MILLI=1500",
    "LIMIT_PIDS=7",
    "LIMIT_DISK=8192",
    "LIMIT_FILES=9",
    "SETUP=KIND=1 TARGET=/ NAME=root MODE=493 UID=0 LOWER=1/root1 LOWER=1/root2",
    "SETUP=KIND=1 TARGET=/usr NAME=usr MODE=493 UID=0 LOWER=1/usr1 LOWER=0/usr",
    "SETUP=KIND=4 TARGET=/dev SIZE=2048",
    "SETUP=KIND=3 TARGET=/proc",
    "SETUP=KIND=6 TARGET=/proc/sys",
    "SETUP=KIND=5 TARGET=/opt",
    "SETUP=KIND=6 TARGET=/opt/belljar",
    "SETUP=KIND=7 TARGET=/opt/belljar/node PATH=/host/node IDS=3",
  ]);
});

const BARE = { ...TEMPLATE, name: "bare", rootLayers: ["/root"], usrLayers: [], binds: [], user: "root", programs: "/programs" };

it("lays an image over a bare root, makes room for the mounts, and lays the programs over it", () => {
  const base = { below: [{ files: "/image", overlays: ["root"] }] };
  const inside = { ...SPEC.inside, cwd: "/app" };
  const fields = jailFields({ template: BARE, base, spec: { inside } });
  expect(named("SETUP", fields)).toEqual([
    "SETUP=KIND=1 TARGET=/ NAME=root MODE=493 UID=0 FLAGS=2 LOWER=1/image/root/upper LOWER=1/root",
    "SETUP=KIND=8 TARGET=/dev",
    "SETUP=KIND=8 TARGET=/proc",
    "SETUP=KIND=8 TARGET=/opt/belljar",
    "SETUP=KIND=4 TARGET=/dev SIZE=2048",
    "SETUP=KIND=3 TARGET=/proc",
    "SETUP=KIND=6 TARGET=/proc/sys",
    "SETUP=KIND=5 TARGET=/opt",
    "SETUP=KIND=7 TARGET=/opt/belljar PATH=/programs IDS=1",
  ]);
  expect(named("CWD", fields)).toEqual(["CWD=/app"]);
  expect(named("CWD", jailFields({ spec: { inside } }))).toEqual(["CWD=/app"]);
  expect(named("CWD", jailFields({ spec: { inside, workspace: { path: "/host", mode: "ro" } } }))).toEqual([]);
  expect(named("CWD", jailFields({ spec: { inside: { ...inside, cwd: inside.workspace } } }))).toEqual([]);
});

it("lays shared folders over all else, with the ids of layers, and begins commands at home though one lies at /workspace", () => {
  const fields = jailFields({
    spec: {
      mounts: [
        { folder: "/volumes/a", at: "/mnt/data" },
        { folder: "/volumes/b", at: "/workspace" },
      ],
    },
  });
  expect(named("SETUP", fields).slice(-5, -1)).toEqual([
    "SETUP=KIND=8 TARGET=/mnt/data",
    "SETUP=KIND=2 TARGET=/mnt/data PATH=/volumes/a/tree IDS=1 FLAGS=1",
    "SETUP=KIND=8 TARGET=/workspace",
    "SETUP=KIND=2 TARGET=/workspace PATH=/volumes/b/tree IDS=1 FLAGS=1",
  ]);
  expect(named("CWD", fields)).toEqual(["CWD=/home/user"]);
  expect(named("CWD", jailFields({ spec: { mounts: [{ folder: "/volumes/a", at: "/mnt/data" }] } }))).toEqual([]);
});

it.each([
  ["the template's user", TEMPLATE, {}, []],
  ["the template's root", BARE, {}, ["USER=root"]],
  ["no root where there is none", BARE, { root: false }, []],
  ["whoever is named", BARE, { user: "app:web" }, ["USER=app:web"]],
  ["whoever is named, also where there is no root", TEMPLATE, { user: "0", root: false }, ["USER=0"]],
])("has for what names nobody %s", (_, template, spec, fields) => {
  expect(named("USER", jailFields({ template: { ...template, binds: [] }, spec }))).toEqual(fields);
});

it.each([
  ["copy", "KIND=1 TARGET=/work NAME=workspace MODE=493 UID=1000 LOWER=2/work"],
  ["ro", "KIND=2 TARGET=/work PATH=/work IDS=2 FLAGS=0"],
  ["rw", "KIND=2 TARGET=/work PATH=/work IDS=2 FLAGS=1"],
] as const)("shows a workspace in the mode %s, with its owner", (mode, step) => {
  const inside = { ...SPEC.inside, workspace: "/work", cwd: "/work" };
  const fields = jailFields({ spec: { workspace: { path: "/work", mode }, inside }, workspaceOwner: { uid: 5, gid: 6 } });
  expect(named("SETUP", fields).slice(-4, -1)).toEqual([
    "SETUP=KIND=8 TARGET=/work",
    "SETUP=KIND=9 TARGET=/workspace PATH=/work",
    `SETUP=${step}`,
  ]);
  expect(named("WORKSPACE", fields)).toEqual(["WORKSPACE_UID=5", "WORKSPACE_GID=6"]);
});

it.each(["/work", "/workspace"])("links the person's spelling to a workspace at %s", (workspace) => {
  const inside = { ...SPEC.inside, workspace, cwd: "/home/ada/work" };
  const fields = jailFields({ spec: { workspace: { path: "/work", mode: "ro" }, inside } });
  expect(named("SETUP", fields)).toContain(`SETUP=KIND=9 TARGET=/home/ada/work PATH=${workspace}`);
});

it("makes a folder of the link to the workspace where the workspace has no path of its own", () => {
  const inside = { ...SPEC.inside, workspace: "/workspace", cwd: "/workspace" };
  const fields = jailFields({ spec: { workspace: { path: "/work", mode: "copy" }, inside } });
  expect(named("SETUP", fields).slice(-3, -1)).toEqual([
    "SETUP=KIND=8 TARGET=/workspace",
    "SETUP=KIND=1 TARGET=/workspace NAME=workspace MODE=493 UID=1000 LOWER=2/work",
  ]);
});

it("finds what a sandbox wrote whose record shows the workspace as its home", () => {
  const fields = jailFields({ spec: { workspace: { path: "/work", mode: "copy" } } });
  expect(named("SETUP", fields)).toContain("SETUP=KIND=1 TARGET=/home/user NAME=home MODE=493 UID=1000 LOWER=2/work");
});

it("names each control group with its kind", () => {
  const kinds = ["memory", "pids", "cpu", "cpuacct", "freezer", "v2"] as const;
  expect(named("CGROUP", jailFields({ cgroups: kinds.map((kind) => ({ kind, path: `/sys/${kind}` })) }))).toEqual(
    kinds.map((kind, index) => `CGROUP=KIND=${index + 1} PATH=/sys/${kind}`),
  );
});

it("asks for no limit that the control groups cannot hold, and for the others", () => {
  expect(named("LIMIT", jailFields({ groupLimits: [] }))).toEqual(["LIMIT_PIDS=7", "LIMIT_DISK=8192", "LIMIT_FILES=9"]);
  expect(named("LIMIT", jailFields({ groupLimits: ["cpus"] }))).toContain("LIMIT_CPU_MILLI=1500");
  expect(named("LIMIT_CPU", jailFields({ spec: { limits: { cpus: 0.0001 } } }))).toEqual(["LIMIT_CPU_MILLI=1"]);
});

it("bounds what lies in memory, also without a limit", () => {
  const sizes = (fields: string[]) => [...named("LIMIT_DISK", fields), ...named("SETUP=KIND=4", fields)];
  expect(sizes(jailFields({ spec: { limits: {} }, place: { storage: "tmpfs" } }))).toEqual([
    "LIMIT_DISK=1073741824",
    "SETUP=KIND=4 TARGET=/dev SIZE=536870912",
  ]);
  expect(sizes(jailFields({ spec: { limits: { memoryBytes: 65 } }, place: { storage: "tmpfs" } }))).toEqual([
    "LIMIT_DISK=65",
    "SETUP=KIND=4 TARGET=/dev SIZE=32",
  ]);
  expect(sizes(jailFields({ spec: { limits: {} }, place: { storage: "btrfs" } }))).toEqual(["SETUP=KIND=4 TARGET=/dev SIZE=536870912"]);
});

it.each([
  [{ spec: { ephemeral: true } }, 1],
  [{ spec: { nestedFilters: true } }, 8],
  [{ spec: { root: false } }, 64],
  [{ spec: { root: true } }, 0],
  [{ place: { generation: 2 } }, 16],
  [{ spec: { ephemeral: true, nestedFilters: true }, place: { generation: 3 } }, 25],
])("sets the flags of %j", (request, flags) => {
  expect(named("FLAGS", jailFields(request))).toEqual([`FLAGS=${flags}`]);
});

it("names the ranges of ids, and the programs that map them", () => {
  const idMap = { kind: "subids", subuid: 100, subgid: 200, newuidmap: "/bin/newuidmap", newgidmap: "/bin/newgidmap" } as const;
  const fields = jailFields({ place: { idMap, storage: "tmpfs" } });
  expect(fields.slice(6, 12)).toEqual([
    "STORAGE=2",
    "ID_MAP=3",
    "SUBUID=100",
    "SUBGID=200",
    "NEWUIDMAP=/bin/newuidmap",
    "NEWGIDMAP=/bin/newgidmap",
  ]);
  expect(jailFields({ place: { idMap: { kind: "slot" }, storage: "btrfs" } }).slice(6, 9)).toEqual([
    "STORAGE=3",
    "ID_MAP=1",
    "HOSTNAME=box",
  ]);
});

it("spells the deadline and what happens then", () => {
  const spec = { deadline: new Date(1_000_000), deadlineAction: "stop" } as const;
  expect(jailFields({ spec }).slice(11, 13)).toEqual(["DEADLINE_MS=1000000", "ACTION=3"]);
});

it.each([
  ["unknown", false, 1, 0],
  ["gone", false, 1, 2],
  ["silent", false, 1, 4],
  ["unknown", true, 1, 32],
  ["gone", true, 2, 50],
] as const)("clears a folder whose keeper is %s, the layers too: %s, in run %i", (keeper, removesLayers, generation, flags) => {
  const fields = clearFields({ ...PLACE, generation }, { keeper, removesLayers });
  expect(fields.slice(0, 3)).toEqual([`ID=${PLACE.id}`, `RUN=${generation}`, "FOLDER=/home/runs/1"]);
  expect(fields.at(-1)).toBe(`FLAGS=${flags}`);
});
