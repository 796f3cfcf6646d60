import { expect, it } from "vitest";
import type { IdMap } from "./id-map.ts";
import { namespaceSharedFolders } from "./shared-folders.ts";

const [uid, gid] = [process.getuid?.() ?? -1, process.getgid?.() ?? -1];
const foldersOf = (idMap: IdMap) => namespaceSharedFolders(idMap, { remove: async () => {}, measure: async () => 0 });
const both = (id: number) => ({ uid: id, gid: id });

it("has each id inside at its place in the range of layers, as root", () => {
  const slot = foldersOf({ kind: "slot" });
  for (const id of [0, 1000, 65_535]) expect(slot.toInside(slot.toHost(both(id)) ?? both(-1))).toEqual(both(id));
  expect([slot.toHost(both(1000)), slot.toHost(both(65_536)), slot.toInside(both(0))]).toEqual([
    both(1_000_001_000),
    undefined,
    both(65_534),
  ]);
});

it("gives files to the user alone, as an ordinary user, and tells who has them with sub-ids as the map does", () => {
  const single = foldersOf({ kind: "single" });
  expect([single.toHost(both(1000)), single.toHost(both(0)), single.toInside({ uid, gid }), single.toInside(both(70_000))]).toEqual([
    { uid, gid },
    undefined,
    both(1000),
    both(65_534),
  ]);
  const subids = foldersOf({ kind: "subids", subuid: 5_000_000, subgid: 5_000_000, newuidmap: "u", newgidmap: "g" });
  const inside = [0, 999, 1000, 65_534, 65_535].map((place) => subids.toInside(both(5_000_000 + place)).uid);
  expect([inside, subids.toInside({ uid, gid }), subids.toHost(both(0))]).toEqual([[0, 999, 1001, 65_535, 65_534], both(1000), undefined]);
});
