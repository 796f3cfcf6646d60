import { expect, it } from "vitest";
import { LOCAL } from "../sandbox/sandbox.ts";
import { parseTemplate, type TemplateRecord, toDetail, toSource } from "./template-record.ts";

const RECORD: TemplateRecord = {
  version: 1,
  id: "a".repeat(20),
  name: "app",
  owner: "local",
  createdAt: new Date("2026-01-02T03:04:05.678Z"),
  source: { kind: "image", from: "/srv/image", digest: "sha256:1", platform: "linux/amd64" },
  runtime: "namespace",
  base: "bare",
  layers: ["b".repeat(20), "c".repeat(20)],
  bytes: 7,
  env: { A: "b" },
  user: "ann",
  home: "/home/ann",
  cwd: "/srv",
};

it("is read as it was written", () => {
  expect(parseTemplate(RECORD.id, JSON.stringify(RECORD))).toEqual(RECORD);
});

it.each([
  ["nothing", ""],
  ["half of one", JSON.stringify(RECORD).slice(0, 100)],
  ["one of another version", JSON.stringify({ ...RECORD, version: 2 })],
  ["one of another template", JSON.stringify({ ...RECORD, id: "d".repeat(20) })],
  ["one of no known source", JSON.stringify({ ...RECORD, source: { kind: "elsewhere" } })],
])("takes %s for none", (_what, text) => {
  expect(parseTemplate(RECORD.id, text)).toBeUndefined();
});

it("names to callers how many layers there are, and not which", () => {
  const { version: _version, home: _home, ...told } = RECORD;
  expect(toDetail({ ...RECORD, tried: "d".repeat(64) }, true, LOCAL)).toEqual({ ...told, layers: 2, isShared: true });
});

it("tells the domain what sandboxes begin with", () => {
  const { id, name, owner, runtime, base, layers, createdAt, env, user, home, cwd } = RECORD;
  expect(toSource(RECORD)).toEqual({ id, name, owner, runtime, base, layers, createdAt, env, user, home, cwd });
});

it.each([[{ kind: "folder", path: "/srv/secret" }], [RECORD.source], [{ kind: "dockerfile", from: "/srv/secret.tar" }]] as const)(
  "tells others than its owner no path of the host: %j",
  (source) => {
    const record = { ...RECORD, source };
    expect(toDetail(record, true, LOCAL).source).toEqual(source);
    const { source: told } = toDetail(record, true, { id: "token:bob" });
    expect(JSON.stringify(told)).not.toContain("/srv");
    expect(told.kind).toBe(source.kind);
  },
);
