import type { IncomingMessage } from "node:http";
import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import type { WebSearch } from "../../tools/web/web-search.ts";
import type { FacadeSettings } from "./facade-settings.ts";
import { askToolServer, toolServerFailure } from "./tool-server-request.ts";

const SEARCH = { method: "POST", path: "/web-search" } as const;
const TIMEOUT_MS = 60_000;
const ANSWER_MAX_BYTES = 262_144;

/** Searches through each caller's own tool server, with the credential that was given for that address and goes to no other. */
export function createToolServerSearch(settings: Pick<FacadeSettings, "toolServer">): WebSearch {
  return {
    async search(principal, query, signal) {
      const server = await settings.toolServer(principal);
      if (!server) {
        throw new BelljarError(
          "FORBIDDEN",
          "No tool server is set for you: send its credential to /credential and its address to /tool-server-url",
        );
      }
      const { user_api_key: key, session_id: session } = server.credential;
      using time = limitTime(signal, TIMEOUT_MS);
      const response = await askToolServer(principal, server.url, {
        ...SEARCH,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({ query, session_id: session }),
        signal: time.signal,
      });
      return withoutKey(await readAnswer(server.url, response), key);
    },
  };
}

async function readAnswer(url: string, response: IncomingMessage): Promise<string> {
  const status = response.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (status < 200 || status > 299) throw toolServerFailure(url, SEARCH, `it answers HTTP ${status}`);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > ANSWER_MAX_BYTES) throw toolServerFailure(url, SEARCH, `its answer is larger than ${ANSWER_MAX_BYTES} bytes`);
    }
  } catch (cause) {
    throw cause instanceof BelljarError ? cause : toolServerFailure(url, SEARCH, "its answer broke off", cause);
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** An answer that repeats what it was asked must not show the key to a model. What is no JSON is a text. */
function withoutKey(answer: string, key: string): unknown {
  const clean = answer.replaceAll(JSON.stringify(key).slice(1, -1), "[redacted]").replaceAll(key, "[redacted]");
  try {
    return JSON.parse(clean) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return clean;
    throw error;
  }
}
