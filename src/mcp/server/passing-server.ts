import { Server } from "@modelcontextprotocol/server";
import type { JSONRPCRequest, Result, ServerContext } from "@modelcontextprotocol/server";

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/**
 * The SDK's server checks what a tool answers, and sends a copy that has the fields alone that the SDK knows. This one sends the answer that
 * was checked: other servers' answers pass whole. It also knows the level of log messages that its client has asked for.
 */
export class PassingServer extends Server {
  /** Of a client of an older revision; undefined as long as it has named none. */
  #logLevel: string | undefined;

  get logLevel(): string | undefined {
    return this.#logLevel;
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    if (method === "logging/setLevel")
      return super._wrapHandler(method, async (request, context) => {
        const answer = await handler(request, context);
        const level: unknown = request.params?.["level"];
        // The SDK's constructor made this handler before there was any private field.
        if (typeof level === "string") this.#logLevel = level;
        return answer;
      });
    if (method !== "tools/call") return super._wrapHandler(method, handler);
    return async (request, context) => {
      let given: Result | undefined;
      const checked = await super._wrapHandler(method, async (asked, inner) => (given = await handler(asked, inner)))(request, context);
      return given && "content" in given ? { ...checked, content: given["content"] } : checked;
    };
  }
}
