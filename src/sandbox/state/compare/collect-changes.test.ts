import { expect, it } from "vitest";
import type { StateChange, StateEntry, StateStore, StateView } from "../../../runtime/contract/state-store.ts";
import { collectChanges } from "./collect-changes.ts";

const COUNT = 20_000;
const ENTRY = { mode: 0o777, uid: 0, gid: 0, size: 0, mtimeNs: 0n } as const;
const signal = new AbortController().signal;

/** The paths `/0`, `/1` and so on, each added. */
function statesWith(entry: StateEntry): StateStore {
  async function* compare(): AsyncGenerator<StateChange> {
    for (let at = 0; at < COUNT; at++) yield { path: Buffer.from(`/${at}`), after: entry };
  }
  return { compare } as unknown as StateStore;
}

it.each<readonly [string, Partial<StateEntry>]>([
  ["texts of links", { type: "link", target: Buffer.alloc(4_000) }],
  ["extended attributes", { type: "file", attributes: new Map([["user.a", Buffer.alloc(4_000)]]) }],
])("holds no more of %s than it may", async (_, entry) => {
  const states = statesWith({ ...ENTRY, type: "file", ...entry });
  const { changes, omitted } = await collectChanges({} as StateView, {} as StateView, { states, isSelected: () => true, signal });
  expect(changes.size + omitted).toBe(COUNT);
  expect(changes.size * 4_000).toBeLessThanOrEqual(64 * 1024 * 1024);
});
