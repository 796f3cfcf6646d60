import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Callers } from "./auth/callers.ts";

export type RequestAudit = Pick<AuditLog, "recordRequest" | "assertWritable">;

/** The sandboxes that requests have reached, by their full ids. */
export type ReachedSandboxes = Pick<WeakMap<IncomingMessage, string>, "get">;

/**
 * What changes anything is one line of the audit, told by its route and not by its words; tool calls have their own lines.
 * While the audit cannot be written such requests are refused, as calls are, but those that only end or remove something.
 * Whoever was not let in leaves no line.
 */
export function auditRequests(app: FastifyInstance, audit: RequestAudit, { callers, reached }: AuditedRequests): void {
  app.addHook("preHandler", async (request) => {
    if (isAudited(request) && request.method !== "DELETE") audit.assertWritable();
  });
  app.addHook("onResponse", async (request, reply) => {
    const principal = callers.find(request.raw);
    if (!principal || !isAudited(request)) return;
    const { method, routeOptions, id: requestId, params } = request;
    audit.recordRequest({
      requestId,
      principal: principal.id,
      request: `${method} ${routeOptions.url ?? ""}`,
      outcome: reply.statusCode < 400 ? "ok" : String(reply.statusCode),
      durationMs: Math.round(reply.elapsedTime * 1_000) / 1_000,
      ...sandboxOf(reached.get(request.raw), params),
    });
  });
}

function isAudited({ method, routeOptions: { config } }: FastifyRequest): boolean {
  return method !== "GET" && method !== "HEAD" && config.access?.kind === "scoped";
}

interface AuditedRequests {
  readonly callers: Callers;
  readonly reached: ReachedSandboxes;
}

/** For a line of the audit: the sandbox that was reached, else what the path names. */
export function sandboxOf(reached: string | undefined, params: unknown): { readonly sandbox?: string } {
  if (reached !== undefined) return { sandbox: reached };
  const isNamed = typeof params === "object" && params !== null && "id" in params && typeof params.id === "string";
  return isNamed ? { sandbox: String(params.id).slice(0, 20) } : {};
}
