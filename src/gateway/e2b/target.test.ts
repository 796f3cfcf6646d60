import type { IncomingHttpHeaders } from "node:http";
import { expect, it } from "vitest";
import { findTarget } from "./target.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const named = { "e2b-sandbox-id": ID, "e2b-sandbox-port": "49983" };

it.each<[string, IncomingHttpHeaders, { readonly sandbox: string; readonly port: number } | undefined]>([
  ["two headers", { host: "localhost:6060", ...named }, { sandbox: ID, port: 49_983 }],
  ["a host name", { host: `3000-${ID}.localhost:6060` }, { sandbox: ID, port: 3000 }],
  ["a host name in capitals", { host: `3000-${ID}.LOCALHOST` }, { sandbox: ID, port: 3000 }],
  ["a host name that a page's headers contradict", { host: `3000-b.localhost`, ...named }, { sandbox: "b", port: 3000 }],
  ["one header", { host: "localhost", "e2b-sandbox-id": ID }, undefined],
  ["the other one", { host: "localhost", "e2b-sandbox-port": "1" }, undefined],
  ["an id that none can be", { host: "localhost", ...named, "e2b-sandbox-id": "../x" }, undefined],
  ["a port that none can be", { host: "localhost", ...named, "e2b-sandbox-port": "70000" }, undefined],
  ["a port with a sign", { host: "localhost", ...named, "e2b-sandbox-port": "+1" }, undefined],
  ["nothing", { host: "localhost" }, undefined],
  ["no host either", {}, undefined],
])("finds the sandbox of a request by %s", (_what, headers, target) => {
  expect(findTarget({ headers })).toEqual(target);
});
