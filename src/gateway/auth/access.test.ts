import { describe, expect, it } from "vitest";
import type { Grants, Principal } from "../../sandbox/sandbox.ts";
import type { Access } from "./access.ts";
import { assertDeclared, assertGranted, changes, DOOR, OPEN, reads } from "./access.ts";

const holder = (grants?: Grants): Principal => ({ id: "token:ci", name: "ci", ...(grants && { grants }) });
const FILES = reads("toolset:files");

describe("a route", () => {
  it.each([OPEN, DOOR, FILES, changes("secrets")])("may ask for %j", (access) => {
    expect(assertDeclared(access, "GET /x")).toBe(access);
  });

  it.each<[unknown]>([[undefined], [{ kind: "scoped", scopes: [], changes: false }], [{ kind: "other" }]])(
    "cannot ask for %j",
    (access) => {
      expect(() => assertDeclared(access as Access, "GET /x")).toThrow("The route GET /x does not say which scope it needs");
    },
  );
});

describe("a caller", () => {
  it.each<[who: string, grants: Grants | undefined, access: Access]>([
    ["with every right", undefined, changes("toolset:files", "secrets")],
    ["whose token names no scope of this kind", { quotas: { sandboxes: 1 } }, changes("metrics")],
    ["with the toolset", { toolsets: ["shell", "files"] }, changes("toolset:files")],
    ["with the area", { toolsets: [], areas: ["settings", "secrets"] }, reads("secrets")],
    ["with both", { toolsets: ["files"], areas: ["secrets"] }, reads("toolset:files", "secrets")],
    ["who only reads, of a route that changes nothing", { readOnly: true }, FILES],
    ["who only reads, of a door", { readOnly: true, toolsets: [] }, DOOR],
    ["without any scope, of an open route", { toolsets: [] }, OPEN],
  ])("%s is served", (_who, grants, access) => {
    expect(assertGranted(holder(grants), access, "GET /x")).toBeUndefined();
  });

  it.each<[who: string, grants: Grants, access: Access, why: string]>([
    ["who only reads", { readOnly: true }, changes("toolset:files"), "may only read (its scope read-only), and GET /x changes something"],
    ["with another toolset", { toolsets: ["shell"] }, FILES, "has no scope toolset:files, which GET /x needs"],
    ["with another area", { toolsets: [], areas: ["settings"] }, reads("secrets"), "has no scope secrets, which"],
    ["with toolsets and no area", { toolsets: ["secrets"] }, reads("secrets"), "has no scope secrets, which"],
    ["with an area and no toolset", { toolsets: [], areas: ["secrets"] }, FILES, "has no scope toolset:files, which"],
    ["with one scope of two", { toolsets: ["files"] }, reads("toolset:files", "secrets"), "has no scope secrets, which"],
    [
      "with none of two",
      { toolsets: [] },
      reads("toolset:a", "metrics"),
      "has no scope toolset:a and no scope metrics, which GET /x needs",
    ],
  ])("%s is refused", (_who, grants, access, why) => {
    expect(() => assertGranted(holder(grants), access, "GET /x")).toThrow(
      expect.objectContaining({ code: "FORBIDDEN", message: expect.stringContaining(why) as string }),
    );
  });
});
