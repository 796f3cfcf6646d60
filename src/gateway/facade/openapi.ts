import * as z from "zod";
import { callBody, credentialBody, customMcpBody, toolServerBody } from "./facade-bodies.ts";

interface Operation {
  readonly method: "get" | "post";
  readonly path: string;
  readonly summary: string;
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
  /** Beside 400 and 401. */
  readonly failures?: Readonly<Record<number, string>>;
}

const status = z.object({ status: z.literal("success") });
const tool = z.object({ name: z.string(), title: z.string(), description: z.string(), inputSchema: z.looseObject({}) });
const content = z.looseObject({ type: z.enum(["text", "image", "resource_link"]) });

function operations(): readonly Operation[] {
  const unknown = { 404: "There is no such tool" };
  return [
    { method: "get", path: "/health", summary: "Whether the server lives; needs no token", answer: z.object({ status: z.literal("ok") }) },
    { method: "get", path: "/tools", summary: "Every tool that the caller may call", answer: z.object({ tools: z.array(tool) }) },
    {
      method: "post",
      path: "/tools/call",
      summary: "Call a tool; what a model can act on is an answer with isError",
      body: callBody,
      answer: z.object({ content: z.array(content), structuredContent: z.looseObject({}).optional(), isError: z.boolean().optional() }),
      failures: unknown,
    },
    {
      method: "post",
      path: "/credential",
      summary: "Give the credential for the outside tool server",
      body: credentialBody,
      answer: status,
    },
    {
      method: "post",
      path: "/tool-server-url",
      summary: "Name the outside tool server; its /health must answer",
      body: toolServerBody,
      answer: status,
      failures: { 403: "Not an address that this caller may name", 502: "The tool server does not work" },
    },
    { method: "post", path: "/custom-mcp", summary: "Add MCP servers of the caller's own", body: customMcpBody, answer: status },
    {
      method: "post",
      path: "/register-codex",
      summary: "Add Codex as an MCP server of the caller's sandbox",
      body: z.object({}),
      answer: z.object({ status: z.enum(["success", "already_running", "error"]), url: z.string(), message: z.string().optional() }),
    },
  ];
}

/** The façade as OpenAPI 3.1, made from the schemas that check its requests. */
export function createOpenApi(version: string): Readonly<Record<string, unknown>> {
  const paths = operations().flatMap((operation) => {
    const { method, path } = operation;
    const described = { [method]: describe(operation) };
    return [
      [path, described],
      [`/mcp${path}`, { [method]: { ...describe(operation), operationId: operationId(operation, "mcp_") } }],
    ];
  });
  return {
    openapi: "3.1.0",
    info: { title: "Belljar", version, description: "Tools of a sandbox over plain HTTP" },
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } }, schemas: { Error: errorSchema() } },
    security: [{ token: [] }, {}],
    paths: Object.fromEntries(paths),
  };
}

function describe(operation: Operation): Readonly<Record<string, unknown>> {
  const { summary, body, answer, failures = {} } = operation;
  const known = { 400: "The request is not as described", 401: "The token is missing or not valid", ...failures };
  return {
    operationId: operationId(operation),
    summary,
    ...(body && { requestBody: { required: true, content: json(z.toJSONSchema(body, { io: "input", target: "draft-2020-12" })) } }),
    responses: {
      200: { description: "OK", content: json(z.toJSONSchema(answer, { target: "draft-2020-12" })) },
      ...Object.fromEntries(
        Object.entries(known).map(([code, description]) => [code, { description, content: json({ $ref: "#/components/schemas/Error" }) }]),
      ),
    },
  };
}

function operationId({ method, path }: Operation, prefix = ""): string {
  return prefix + method + path.replaceAll(/[^a-z]/g, "_");
}

function json(schema: unknown): Readonly<Record<string, unknown>> {
  return { "application/json": { schema } };
}

function errorSchema(): unknown {
  const error = z.object({ code: z.string(), message: z.string(), retryable: z.boolean(), requestId: z.string() });
  return z.toJSONSchema(z.object({ error }), { target: "draft-2020-12" });
}
