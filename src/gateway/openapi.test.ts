import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, it } from "vitest";
import * as z from "zod";
import { createCallProbe } from "../../test/support/call-probe.ts";
import { createNoSandboxes } from "../../test/support/no-sandboxes.ts";
import { createNoSettings } from "../../test/support/no-settings.ts";
import { createGateway } from "./gateway.ts";

interface Described {
  readonly summary: string;
  readonly security: readonly unknown[];
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: unknown }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: unknown }>> }>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

async function openServer() {
  const { tools } = createCallProbe();
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    tools,
    facade: { defaultSandbox: () => ({ name: "default", options: {} }), tools, settings: createNoSettings() },
    isolation: () => Promise.reject(new Error("Nobody asks")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = await gateway.listen();
  const document = (await (await fetch(new URL("/openapi.json", url))).json()) as Document;
  const describedAs = (method: string, path: string): Described => {
    const described = document.paths[path]?.[method];
    if (!described) throw new Error(`${method} ${path} is not described`);
    return described;
  };
  return { url, gateway, document, describedAs, [Symbol.asyncDispose]: () => gateway.close(0) };
}

it("is a valid document", async () => {
  await using server = await openServer();
  const { valid, errors } = await new Validator().validate(structuredClone({ ...server.document }));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(server.document).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
});

it("describes every route of REST and of the façade, and no other", async () => {
  await using server = await openServer();
  const served = server.gateway.routes.filter(({ surface, method }) => surface !== "mcp" && method !== "HEAD");
  const described = Object.entries(server.document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const expected = served.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  expect(described.toSorted()).toEqual(expected.toSorted());
});

it("says of each route what it asks of its caller", async () => {
  await using server = await openServer();
  expect(server.describedAs("get", "/health").security).toEqual([]);
  expect(server.describedAs("get", "/tools").security).toEqual([{ token: [] }, {}]);
  expect(server.describedAs("post", "/register-codex").security).toEqual([{ token: ["settings", "toolset:sandbox"] }, {}]);
});

it("describes what comes in by the schemas that check it", async () => {
  await using server = await openServer();
  const { requestBody, parameters } = server.describedAs("post", "/v1/sandboxes/{id}/extend");
  expect(parameters).toMatchObject([{ in: "path", name: "id", required: true }]);
  const sent = requestBody?.content["application/json"]?.schema;
  expect(sent).toMatchObject({
    properties: { timeoutMs: { type: "integer" } },
    required: ["timeoutMs"],
    additionalProperties: false,
  });
  expect(server.describedAs("get", "/v1/sandboxes").parameters).toMatchObject(
    ["state", "cursor", "limit"].map((name) => ({ in: "query", name, required: false })),
  );
  for (const [body, status] of [
    [{ timeoutMs: 1 }, 404],
    [{ timeoutMs: "1" }, 400],
    [{ timeoutMs: 1, more: 1 }, 400],
  ] as const) {
    const answer = await fetch(new URL("/v1/sandboxes/aaaaaaaa/extend", server.url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(status);
  }
});

it("describes what goes out: dates as texts, nothing where nothing comes, text where no JSON comes", async () => {
  await using server = await openServer();
  const sandbox = server.describedAs("get", "/v1/sandboxes/{id}").responses["200"]?.content?.["application/json"]?.schema;
  expect(sandbox).toMatchObject({ properties: { createdAt: { type: "string", format: "date-time" } } });
  expect(server.describedAs("delete", "/v1/sandboxes/{id}").responses["204"]?.content).toBeUndefined();
  expect(Object.keys(server.describedAs("get", "/metrics").responses["200"]?.content ?? {})).toEqual(["text/plain"]);
  expect(Object.keys(server.describedAs("delete", "/v1/sandboxes/{id}").responses)).toEqual(["204", "400", "401", "403", "429", "default"]);
});

const SENT = {
  413: { type: "application/json", body: JSON.stringify("x".repeat(5 * 1024 * 1024)) },
  415: { type: "text/plain", body: "{}" },
};

it.each([413, 415] as const)("describes the status %i of every route with a body, and answers it as described", async (status) => {
  await using server = await openServer();
  const withBody = Object.entries(server.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) => (described.requestBody ? [{ path, method, described }] : [])),
  );
  expect(withBody.length).toBeGreaterThan(10);
  for (const { path, method, described } of withBody) {
    const { type, body } = SENT[status];
    const url = new URL(path.replaceAll(/\{\w+\}/g, "a"), server.url);
    const answer = await fetch(url, { method: method.toUpperCase(), headers: { "content-type": type }, body });
    expect(`${method} ${path}: ${answer.status}`).toBe(`${method} ${path}: ${status}`);
    const schema = described.responses[status]?.content?.["application/json"]?.schema;
    expect(z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(await answer.json())).toMatchObject({ success: true });
  }
});

it("describes the refusal of a quota wherever a caller is known, and nowhere else", async () => {
  await using server = await openServer();
  expect(Object.keys(server.describedAs("post", "/tools/call").responses)).toContain("429");
  expect(Object.keys(server.describedAs("get", "/health").responses)).not.toContain("429");
});
