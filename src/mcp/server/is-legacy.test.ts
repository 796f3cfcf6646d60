import type { IncomingMessage } from "node:http";
import { classifyInboundRequest, PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { isLegacy } from "./is-legacy.ts";

const ENVELOPE = {
  [PROTOCOL_VERSION_META_KEY]: "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
};
const PARAMS = [
  undefined,
  {},
  [],
  { _meta: [] },
  { _meta: {} },
  { _meta: ENVELOPE },
  { _meta: { [PROTOCOL_VERSION_META_KEY]: 1 } },
  { _meta: { [PROTOCOL_VERSION_META_KEY]: "2025-06-18" } },
];
const KINDS = [
  { id: 1, method: "tools/call" },
  { id: 1, method: "initialize" },
  { method: "notifications/cancelled" },
  { method: 1 },
  { id: 1, result: {} },
  { id: 1, method: "tools/call", result: {} },
  { id: 1, error: { code: 1, message: "x" } },
  { id: 1, method: "tools/call", error: { code: 1, message: "x" } },
];
const MESSAGES = KINDS.flatMap((kind) => PARAMS.map((params) => ({ jsonrpc: "2.0", ...kind, ...(params && { params }) })));
const BODIES: readonly unknown[] = [undefined, null, "x", [], MESSAGES.slice(0, 1), ...MESSAGES];
const VERSIONS = [undefined, "2025-06-18", "2026-07-28"];

it.each(["POST", "GET", "DELETE"])("is what the SDK says of a %s, whatever comes with it", (httpMethod) => {
  const asked = VERSIONS.flatMap((version) => BODIES.map((body) => ({ version, body })));
  const given = asked.map(({ version, body }) => {
    const request = { method: httpMethod, headers: { ...(version && { "mcp-protocol-version": version }) } } as unknown as IncomingMessage;
    return { version, body, legacy: isLegacy({ request, body }) };
  });
  const wanted = asked.map(({ version, body }) => {
    const { kind } = classifyInboundRequest({ httpMethod, protocolVersionHeader: version, body });
    return { version, body, legacy: kind === "legacy" };
  });
  expect(given).toEqual(wanted);
});
