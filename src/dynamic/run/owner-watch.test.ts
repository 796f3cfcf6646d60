import { expect, it } from "vitest";
import type { Grants, Sandbox } from "../../sandbox/sandbox.ts";
import { OwnerWatch } from "./owner-watch.ts";

function fakeSandbox(): Pick<Sandbox, "kill"> & { readonly ended: Promise<void> } {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { ended, kill: async () => end() };
}

it("ends the sandboxes of an owner whose tokens are gone, and of one whose tokens allow less, and no others", async () => {
  const grants = new Map<string, readonly Grants[]>([
    ["gone", [{}]],
    ["narrowed", [{}]],
    ["good", [{ network: "none" }]],
  ]);
  await using watch = new OwnerWatch({ of: async (owner) => grants.get(owner) ?? [] }, 1);
  const add = (owner: string, network: "none" | "all"): Sandbox => {
    const sandbox = fakeSandbox() as Sandbox & { readonly ended: Promise<void> };
    watch.add(sandbox, { owner, network });
    return sandbox;
  };
  const [gone, narrowed, good] = [add("gone", "none"), add("narrowed", "all"), add("good", "none")];
  expect([gone, narrowed].map((sandbox) => watch.hasEnded(sandbox))).toEqual([false, false]);
  grants.set("gone", []).set("narrowed", [{ network: "none" }]);
  await Promise.all([gone.ended, narrowed.ended]);
  expect([gone, narrowed, good].map((sandbox) => watch.hasEnded(sandbox))).toEqual([true, true, false]);
});

it("ends them when nobody can say what their owner may", async () => {
  await using watch = new OwnerWatch({ of: () => Promise.reject(new Error("no answer")) }, 1);
  const sandbox = fakeSandbox() as Sandbox & { readonly ended: Promise<void> };
  watch.add(sandbox, { owner: "any", network: "none" });
  await sandbox.ended;
  expect(watch.hasEnded(sandbox)).toBe(true);
});
