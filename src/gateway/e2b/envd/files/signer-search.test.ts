import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { createSandboxTokens } from "../../sandbox-tokens.ts";
import type { SignedFile } from "./file-signature.ts";
import { createSignerSearch } from "./signer-search.ts";

const tokens = createSandboxTokens(Buffer.alloc(32, 7));
const FORGED = `v1_${"A".repeat(43)}`;

function signedBy(id: string, path = "a"): SignedFile {
  const digest = createHash("sha256")
    .update(`${path}:read::${tokens.of("access", id)}`)
    .digest("base64");
  return { operation: "read", path, username: "", signature: `v1_${digest.replace(/=+$/, "")}`, expiration: undefined };
}

/** So many sandboxes, and a clock that stands. */
function open(count: number) {
  const ids = Array.from({ length: count }, (_, at) => `sandbox${at}`);
  let now = 0;
  let lists = 0;
  const sandboxes = {
    async linkedIds() {
      lists += 1;
      return ids;
    },
  };
  const search = createSignerSearch({ tokens, sandboxes }, { triesPerS: 500, triesMax: 1_000, now: () => now });
  const forged = (): Promise<unknown> => search.find({ ...signedBy("nobody"), signature: FORGED }).catch((error: unknown) => error);
  return { search, ids, forged, lists: () => lists, pass: (ms: number) => void (now += ms) };
}

it("finds whose signature it is, the first, the last and one that was made meanwhile, and nobody for all others", async () => {
  const { search, ids } = open(700);
  for (const id of ["sandbox0", "sandbox699", "sandbox350"]) expect(await search.find(signedBy(id))).toBe(id);
  ids.push("late");
  expect(await search.find(signedBy("late", "b"))).toBe("late");
  expect(await search.find(signedBy("nobody"))).toBeUndefined();
  expect(await search.find({ ...signedBy("sandbox1"), operation: "write" })).toBeUndefined();
});

it("looks in vain as long as the budget lasts, then refuses, and goes on with time", async () => {
  const { forged, search, pass, lists } = open(500);
  // The budget may go below nothing once.
  expect([await forged(), await forged()]).toEqual([undefined, undefined]);
  const before = lists();
  expect(await forged()).toMatchObject({ code: "QUOTA_EXCEEDED", retryAfterMs: 1_000 });
  await expect(search.find(signedBy("sandbox2"))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect(lists(), "a refusal looks at no sandbox").toBe(before);
  pass(1_000);
  expect(await search.find(signedBy("sandbox2"))).toBe("sandbox2");
  expect(await forged()).toBeUndefined();
  expect(await forged()).toMatchObject({ code: "QUOTA_EXCEEDED" });
});

it("finds those that were found lately while forged signatures use up the budget, and spends nothing on what is found", async () => {
  const { forged, search } = open(500);
  for (let time = 0; time < 5; time += 1) expect(await search.find(signedBy("sandbox9", `p${time}`))).toBe("sandbox9");
  await forged();
  await forged();
  expect(await forged()).toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect(await search.find(signedBy("sandbox9", "another"))).toBe("sandbox9");
});

it("makes a forged signature cost something where there are no sandboxes, also of many that come together", async () => {
  const { forged } = open(0);
  const all = await Promise.all(Array.from({ length: 200 }, forged));
  expect(all.filter((one) => one === undefined).length).toBeLessThanOrEqual(10);
  const { forged: again } = open(0);
  for (let time = 0; time < 10; time += 1) expect(await again()).toBeUndefined();
  expect(await again()).toMatchObject({ code: "QUOTA_EXCEEDED" });
});
