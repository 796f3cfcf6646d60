import { expect, it } from "vitest";
import { LOCAL } from "../../../sandbox/sandbox.ts";
import type { Hub } from "../hub.ts";
import { ServedServers } from "./served-servers.ts";
import type { ServerStore } from "./server-store.ts";

it("forgets what was approved of a server once the server is removed, and not before", async () => {
  const done: string[] = [];
  let fails = true;
  const hub: Partial<Hub> = {
    own: () => undefined,
    watchPins: async () => undefined,
    restored: async () => undefined,
    set: () => void done.push("set"),
    forgetting: () => async () => void done.push("forgotten"),
  };
  const store: Partial<ServerStore> = {
    keyOf: (owner) => owner,
    watch: async () => ({ close: () => undefined }),
    read: async () => new Map([["memo", { entry: { command: "memo" }, origin: "machine" }]]),
    change: async () => {
      if (fails) throw new Error("the disk is full");
      done.push("removed");
    },
  };
  const scope = { env: {}, workspaceFolder: "/", userHome: "/", inputs: new Map<string, string>(), lookOnHost: () => undefined };
  const parts = { hub: hub as Hub, store: store as ServerStore, scope, file: undefined };
  await using served = await ServedServers.open({ ...parts, sent: async () => ({}), report: () => undefined });
  done.length = 0;
  await expect(served.remove(LOCAL, "memo")).rejects.toThrow("the disk is full");
  expect(done).toEqual([]);
  fails = false;
  await served.remove(LOCAL, "memo");
  expect(done).toEqual(["removed", "set", "forgotten"]);
});
