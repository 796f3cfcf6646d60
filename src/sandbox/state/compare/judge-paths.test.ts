import { describe, expect, it } from "vitest";
import type { StateChange, StateEntry } from "../../../runtime/contract/state-store.ts";
import { judgePaths } from "./judge-paths.ts";

const entry = (more: Partial<StateEntry> = {}): StateEntry => ({
  type: "file",
  mode: 0o644,
  uid: 1000,
  gid: 1000,
  size: 1,
  mtimeNs: 1n,
  ...more,
});
const FOLDER = entry({ type: "directory", mode: 0o755, size: 0 });

type Sides = readonly [before: StateEntry | undefined, after: StateEntry | undefined];

function changes(rows: Readonly<Record<string, Sides>>): ReadonlyMap<string, StateChange> {
  return new Map(Object.entries(rows).map(([path, [before, after]]) => [path, { path: Buffer.from(path), ...(before && { before }), ...(after && { after }) }])); // prettier-ignore
}

/** `between` has all paths of both, unless it is said. */
function judge(
  theirs: Readonly<Record<string, Sides>>,
  ours: Readonly<Record<string, Sides>>,
  alike: readonly string[] = [],
): Readonly<Record<string, string>> {
  const all = Object.fromEntries(Object.entries({ ...theirs, ...ours }).filter(([path]) => !alike.includes(path)));
  const verdicts = judgePaths({ theirs: changes(theirs), ours: changes(ours), between: changes(all) });
  return Object.fromEntries(
    verdicts.map((one) => [one.kind === "write" ? one.write.key : one.key, one.kind === "conflict" ? one.reason : one.kind]),
  );
}

describe("paths that they changed", () => {
  it("are taken where ours did not change them", () => {
    const theirs = { "/added": [undefined, entry()], "/changed": [entry(), entry({ size: 2 })], "/removed": [entry(), undefined] } as const;
    expect(judge(theirs, {})).toEqual({ "/added": "write", "/changed": "write", "/removed": "write" });
  });

  it("are no change where both did the same", () => {
    const same = { "/a": [entry(), entry({ size: 2 })], "/gone": [entry(), undefined] } as const;
    expect(judge(same, same, ["/a", "/gone"])).toEqual({});
  });

  it("are merged as texts, with the mode and owner that one side changed", () => {
    const verdicts = judgePaths({
      theirs: changes({ "/a": [entry(), entry({ size: 2, mode: 0o755 })] }),
      ours: changes({ "/a": [entry(), entry({ size: 3, uid: 0 })] }),
      between: changes({ "/a": [entry(), entry()] }),
    });
    expect(verdicts).toMatchObject([{ kind: "merge", key: "/a", mode: 0o755, theirs: { uid: 0 } }]);
  });

  it("are conflicts where ours changed them otherwise", () => {
    const link = (target: string): StateEntry => entry({ type: "link", target: Buffer.from(target) });
    expect(
      judge(
        { "/d": [entry(), undefined], "/c": [entry(), entry({ size: 2 })], "/n": [undefined, entry()], "/t": [entry(), FOLDER], "/l": [link("a"), link("b")], "/m": [entry(), entry({ mode: 0o600 })], "/o": [entry(), entry({ uid: 1 })] },
        { "/d": [entry(), entry({ size: 2 })], "/c": [entry(), undefined], "/n": [undefined, entry({ size: 2 })], "/t": [entry(), entry({ size: 3 })], "/l": [link("a"), link("c")], "/m": [entry(), entry({ mode: 0o755 })], "/o": [entry(), entry({ uid: 2 })] },
      ),
    ).toEqual({
      "/c": "they changed it, and it was removed here",
      "/d": "they removed it, and it was changed here",
      "/l": "both changed where the link leads",
      "/m": "both changed its mode",
      "/n": "both added it, with other contents",
      "/o": "both changed its owner",
      "/t": "both changed it, into something of another kind",
    }); // prettier-ignore
  });

  it("leave a folder in which ours has something new, and all below one that is not replaced", () => {
    const theirs = {
      "/one": [FOLDER, undefined],
      "/one/f": [entry(), undefined],
      "/two": [FOLDER, entry()],
      "/two/f": [entry(), undefined],
    } as const;
    const ours = { "/one/new": [undefined, entry()], "/two/new": [undefined, entry()] } as const;
    const reason = "they removed or replaced the folder, and something in it was changed here";
    expect(judge(theirs, ours)).toEqual({ "/one": reason, "/one/f": "write", "/two": reason });
  });

  it("are not put into a folder that ours has no more", () => {
    const theirs = { "/gone/new": [undefined, FOLDER], "/gone/new/f": [undefined, entry()] } as const;
    expect(judge(theirs, { "/gone": [FOLDER, undefined] })).toEqual({
      "/gone/new": "the folder that holds it was removed or replaced here",
    });
  });
});
