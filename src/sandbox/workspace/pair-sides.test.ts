import { describe, expect, it } from "vitest";
import { fileEntry, folderEntry, linkEntry } from "../../../test/support/workspace-entries.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import type { HostEntry } from "./entry.ts";
import { fromKey } from "./entry.ts";
import { pairSides } from "./pair-sides.ts";

type Guest = Partial<FileInfo> & Pick<FileInfo, "type">;

function pair({ host = {}, guest = {} }: { readonly host?: Record<string, HostEntry>; readonly guest?: Record<string, Guest> }) {
  const plain = { size: 1, mode: 0o100_644, uid: 0, gid: 0, owner: "root", group: "root", links: 1, inode: 1n, mtimeNs: 10n };
  const infos = Object.entries(guest).map(([key, info]) => {
    const whole: FileInfo = { ...plain, path: key, rawPath: fromKey(key), ...info };
    return [key, whole] as const;
  });
  return pairSides(new Map(Object.entries(host)), new Map(infos));
}

const folders = (levels: number, name = "d"): string => Array.from({ length: levels }, () => name).join("/");
const file = { type: "file" } as const;
const folder = { type: "directory" } as const;

describe("the two sides of a path", () => {
  it("are paired by their exact names, in the order of paths", () => {
    const { pairs, unusable } = pair({
      host: { b: fileEntry(), both: fileEntry({ size: 7 }), "\u00ff": fileEntry() },
      guest: { a: file, both: { ...file, size: 9 }, B: file },
    });
    expect(pairs.map(({ key, host, guest }) => [key, host?.size, guest?.size])).toEqual([
      ["B", undefined, 1],
      ["a", undefined, 1],
      ["b", 1, undefined],
      ["both", 7, 9],
      ["\u00ff", 1, undefined],
    ]);
    expect(unusable).toEqual([]);
  });

  it("give the sandbox's side no setuid bit", () => {
    expect(pair({ guest: { f: { ...file, mode: 0o104_755 } } }).pairs).toEqual([
      { key: "f", guest: expect.objectContaining({ mode: 0o755 }) },
    ]);
  });
});

describe("what cannot be compared", () => {
  it.each<[string, Guest, string]>([
    ["a socket, a pipe or a device", { type: "other" }, "it is a socket, a pipe or a device"],
    ["a link without a text", { type: "link" }, "the link's text is not UTF-8"],
    ["a link whose text is not UTF-8", { type: "link", target: "a\uFFFD" }, "the link's text is not UTF-8"],
  ])("is named and not paired: %s, whatever the host has there", (_what, info, reason) => {
    for (const host of [undefined, fileEntry(), linkEntry("a")])
      expect(pair({ ...(host && { host: { x: host } }), guest: { x: info } })).toEqual({ pairs: [], unusable: [{ path: "x", reason }] });
  });

  it("is no link of the host alone, whatever its text", () => {
    expect(pair({ host: { l: linkEntry("a\uFFFD") } }).pairs).toHaveLength(1);
  });

  it.each<[string, { host?: Record<string, HostEntry>; guest?: Record<string, Guest> }]>([
    ["the sandbox's", { guest: { [folders(200)]: folder } }],
    ["the host's", { host: { [folders(200)]: folderEntry() } }],
    ["both sides'", { host: { [folders(200)]: folderEntry() }, guest: { [folders(200)]: folder } }],
    ["the host's, which the sandbox made a file", { host: { [folders(200)]: folderEntry() }, guest: { [folders(200)]: file } }],
  ])("is a folder 200 levels deep: %s", (_whose, sides) => {
    const reason = "with all that lies in it: it lies 200 levels deep";
    expect(pair(sides)).toEqual({ pairs: [], unusable: [{ path: folders(200), reason }] });
  });

  it("is a folder whose path is longer than 3,700 bytes", () => {
    const [short, long] = [folders(10, "n".repeat(250)), `${folders(14, "n".repeat(250))}/${"n".repeat(187)}`];
    expect(pair({ guest: { [long.slice(1)]: folder, [short]: folder } }).unusable).toEqual([]);
    const { pairs, unusable } = pair({ guest: { [long]: folder, [short]: folder } });
    expect(pairs.map(({ key }) => key)).toEqual([short]);
    expect(unusable.map(({ reason }) => reason)).toEqual(["with all that lies in it: its path has more than 3700 bytes"]);
  });

  it("is no file 200 levels deep, and no folder above it", () => {
    expect(
      pair({ guest: { [folders(199)]: folder, [`${folders(199)}/f`]: file, [`${folders(199)}/l`]: { type: "link", target: "x" } } }),
    ).toMatchObject({
      pairs: [{}, {}, {}],
      unusable: [],
    });
  });
});
