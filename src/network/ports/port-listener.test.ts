import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { OwnListeners } from "../own-listeners.ts";
import { openOwnListeners } from "../own-listeners.ts";
import { openPortListener } from "./port-listener.ts";

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "bj-pl-"))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("releases its claim if another program takes the port first", async () => {
  const listeners = openOwnListeners(directory);
  const thief = createServer();
  let port = 0;
  const claim: OwnListeners["claim"] = async (wanted) => {
    const claimed = await listeners.claim(wanted);
    port = claimed.port;
    thief.listen(claimed);
    await once(thief, "listening");
    return claimed;
  };
  const find = (): Promise<never> => Promise.reject(new Error("Nobody looks for a sandbox here"));
  const opened = openPortListener({ listeners: { claim }, find, onFailure: () => undefined });
  await expect(opened).rejects.toThrow(expect.objectContaining({ code: "EADDRINUSE" }));
  expect(await listeners.has(port)).toBe(false);
  thief.close();
});
