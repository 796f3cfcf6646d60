import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createNoSandboxes } from "../../support/no-sandboxes.ts";
import * as z from "zod";
import { createAuditLog } from "../../../src/audit/audit-log.ts";
import { readAuditTail } from "../../../src/audit/audit-tail.ts";
import { createCatalog } from "../../../src/catalog/catalog.ts";
import { fixedTools } from "../../../src/catalog/tool-source.ts";
import { defineTool } from "../../../src/catalog/tool.ts";
import { textResult } from "../../../src/catalog/tool-result.ts";
import { BelljarError } from "../../../src/errors.ts";
import { createNoSettings } from "../../support/no-settings.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { createServerMetrics } from "../../../src/gateway/metrics/server-metrics.ts";

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "bj-observed-"))));
afterEach(() => rmSync(home, { recursive: true }));

const echo = defineTool({
  name: "echo",
  title: "Echo",
  description: "Answers what it is given",
  toolset: "test",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ text: z.string() }),
  run: async (_context, { text }) => textResult(text),
});
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
};
const CALL = { name: "echo", arguments: { text: "hi" } };
const JSON_TYPE = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function openServer({ isReady }: { readonly isReady?: () => boolean } = {}) {
  const metrics = createServerMetrics();
  const audit = metrics.counted(createAuditLog({ home }));
  const sandboxes = createNoSandboxes();
  const tools = createCatalog({
    sources: [fixedTools([echo])],
    sandboxes,
    audit,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes,
    tools,
    facade: { defaultSandbox: () => ({ name: "default", options: {} }), tools, settings: createNoSettings() },
    isolation: () => Promise.reject(new Error("Nobody asks")),
    metrics,
    liveSandboxes: () => 3,
    assertReady: () => {
      if (isReady?.() === false) throw new BelljarError("AUDIT_FAILED", "The audit is full");
    },
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = await gateway.listen();
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(new URL(path, url), { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) });
  return {
    url,
    audit,
    post,
    callModern: (headers: Record<string, string>) =>
      post(
        "/mcp",
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...CALL, _meta: META } },
        { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo", ...headers },
      ),
    read: async (path: string) => (await fetch(new URL(path, url))).text(),
    async audited(): Promise<readonly string[]> {
      await audit.close();
      return (await readAuditTail(join(home, "audit"), 100)).map(({ fields }) => String(fields["requestId"]));
    },
    [Symbol.asyncDispose]: () => gateway.close(0),
  };
}

describe("a request", () => {
  it("keeps the id that its client gave it, in the answer and the audit", async () => {
    await using server = await openServer();
    const headers = { "x-request-id": "trace-7:a.b" };
    const modern = await server.callModern(headers);
    expect([modern.status, modern.headers.get("x-request-id")]).toEqual([200, "trace-7:a.b"]);
    expect(await modern.text()).toContain("hi");
    const plain = await server.post("/tools/call", CALL, { "x-request-id": "trace-8" });
    expect(plain.headers.get("x-request-id")).toBe("trace-8");
    expect(await server.audited()).toEqual(["trace-7:a.b", "trace-8"]);
  });

  it("of an older client keeps it too", async () => {
    await using server = await openServer();
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const opened = await server.post("/mcp", { jsonrpc: "2.0", id: 1, method: "initialize", params });
    await opened.text();
    const headers = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
    const body = { jsonrpc: "2.0", id: 2, method: "tools/call", params: CALL };
    const called = await server.post("/mcp", body, { ...headers, "x-request-id": "trace-9" });
    expect([await called.text(), called.headers.get("x-request-id")]).toEqual([expect.stringContaining("hi"), "trace-9"]);
    expect(await server.audited()).toEqual(["trace-9"]);
  });

  it.each(["", "a b", "x".repeat(129), '{"a":1}', "-"])("is given a fresh id instead of %j", async (sent) => {
    await using server = await openServer();
    const answered = await server.callModern({ "x-request-id": sent });
    await answered.text();
    const id = answered.headers.get("x-request-id");
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await server.audited()).toEqual([id]);
  });

  it("that fails says its id", async () => {
    await using server = await openServer();
    const refused = await server.post("/tools/call", {}, { "x-request-id": "trace-10" });
    expect(await refused.json()).toMatchObject({ error: { requestId: "trace-10" } });
  });
});

describe("/metrics", () => {
  it("counts calls, requests, connections, sandboxes and sessions", async () => {
    await using server = await openServer();
    await (await server.callModern({})).text();
    await server.post("/tools/call", { name: "echo", arguments: {} });
    await server.post("/tools/call", { name: "a-name-that-anybody-may-send" });
    server.audit.recordConnection({ via: "http", verdict: "refused", host: "secret.example", sentBytes: 5, receivedBytes: 7 });
    const text = await server.read("/metrics");
    expect(text).toContain('belljar_tool_call_duration_seconds_count{tool="echo",outcome="ok"} 1');
    expect(text).toContain('belljar_tool_call_duration_seconds_count{tool="echo",outcome="ARGUMENTS_INVALID"} 1');
    expect(text).toContain('belljar_tool_call_duration_seconds_count{tool="unknown",outcome="TOOL_NOT_FOUND"} 1');
    expect(text).toContain('belljar_egress_connections_total{via="http",verdict="refused"} 1');
    expect(text).toContain('belljar_egress_bytes_total{direction="received"} 7');
    expect(text).toMatch(/belljar_http_request_duration_seconds_count\{method="POST",route="\/mcp",status="200"\} 1/);
    expect(text).toContain("belljar_sandboxes 3");
    expect(text).toContain("belljar_mcp_sessions 0");
    expect(text).toContain("process_resident_memory_bytes");
    expect(text).not.toMatch(/anybody|secret\.example/);
  });
});

describe("/ready", () => {
  it("says whether calls are served", async () => {
    let isReady = true;
    await using server = await openServer({ isReady: () => isReady });
    expect(JSON.parse(await server.read("/ready"))).toEqual({ status: "ready" });
    isReady = false;
    const refused = await fetch(new URL("/ready", server.url));
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: "AUDIT_FAILED" } }]);
  });
});
