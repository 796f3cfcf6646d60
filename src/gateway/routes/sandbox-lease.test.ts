import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { leaseSandbox } from "./sandbox-lease.ts";

it("ends the sandbox of a client that gets a failure for it", async () => {
  const { signal } = new AbortController();
  let kills = 0;
  const silent = {
    id: "s",
    info: () => Promise.reject(new BelljarError("SANDBOX_UNRESPONSIVE", "It does not answer")),
    kill: async () => void (kills += 1),
  };
  const leased = leaseSandbox(silent, { signal, setType: () => undefined }, { error: () => undefined });
  await expect(leased).rejects.toMatchObject({ code: "SANDBOX_UNRESPONSIVE" });
  expect(kills).toBe(1);
});
