import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { clearFolder } from "../../src/runtime/namespace/clear-folder.ts";
import { encodeClearSpec, type JailPaths } from "../../src/runtime/namespace/jail-spec.ts";

const BINARY = resolve(import.meta.dirname, "../../native/build/belljar-native");
const HEAD_BYTES = 8;
const ID = "a".repeat(20);
const NEIGHBOUR = "b".repeat(20);

interface Remains extends AsyncDisposable {
  place(id: string): JailPaths;
  /** Leaves the record of a keeper beside the sockets of the sandbox ID. */
  record(fields: Uint8Array): Promise<void>;
}

/** What a lost keeper leaves of two sandboxes: folders, layers and sockets. */
async function openRemains(): Promise<Remains> {
  const root = await mkdtemp(join(tmpdir(), "bj-"));
  const place = (id: string): JailPaths => {
    const folder = join(root, id);
    return {
      id,
      generation: 1,
      folder,
      sockets: join(root, "run", id),
      layers: join(folder, "layers"),
      slots: root,
      idMap: { kind: "single" },
      storage: "home",
    };
  };
  for (const { sockets, layers } of [place(ID), place(NEIGHBOUR)]) {
    await mkdir(sockets, { recursive: true });
    await mkdir(layers, { recursive: true });
  }
  return {
    place,
    record: (fields) => writeFile(join(place(ID).sockets, "record"), fields),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

const DELETED = { keeper: "unknown", removesLayers: true } as const;
const fieldsOf = (place: JailPaths): Buffer => encodeClearSpec(place, DELETED).subarray(HEAD_BYTES);
const clear = (place: JailPaths): Promise<boolean> => clearFolder(BINARY, encodeClearSpec(place, DELETED));

it("clears what the record of a lost keeper names", async () => {
  await using remains = await openRemains();
  const own = remains.place(ID);
  await remains.record(fieldsOf(own));
  expect(await clear(own)).toBe(true);
  expect([existsSync(own.layers), existsSync(own.sockets)]).toEqual([false, false]);
});

it("removes nothing by the record of another sandbox", async () => {
  await using remains = await openRemains();
  const [own, neighbour] = [remains.place(ID), remains.place(NEIGHBOUR)];
  await remains.record(fieldsOf(neighbour));
  await expect(clear(own)).rejects.toMatchObject({ code: "RUNTIME_FAILED", message: expect.stringContaining("another run's") });
  expect([neighbour.layers, neighbour.sockets, own.layers].map((path) => existsSync(path))).toEqual([true, true, true]);
});

it("refuses a record that is cut short or too long", async () => {
  await using remains = await openRemains();
  const own = remains.place(ID);
  for (const fields of [fieldsOf(own).subarray(0, -1), Buffer.alloc(2 ** 18 + 1)]) {
    await remains.record(fields);
    await expect(clear(own)).rejects.toMatchObject({ code: "RUNTIME_FAILED" });
    expect(existsSync(own.layers)).toBe(true);
  }
});
