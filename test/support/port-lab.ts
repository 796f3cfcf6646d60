import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import { createPortLink } from "../../src/network/ports/port-link.ts";
import type { PortLink } from "../../src/network/ports/port-link.ts";
import type { PortListener } from "../../src/network/ports/port-listener.ts";
import { openPortListener } from "../../src/network/ports/port-listener.ts";
import type { PortRouterOptions, PortSandbox } from "../../src/network/ports/port-router.ts";
import { BelljarError } from "../../src/errors.ts";
import { NO_LISTENERS } from "./no-listeners.ts";

/** A listener of ports for sandboxes that a test adds, and what it logged. */
export interface PortLab extends AsyncDisposable {
  readonly origin: URL;
  readonly failures: unknown[];
  /** Makes a link to a port of a sandbox, which `dial` reaches. */
  link(sandbox: string, port: number, options: LinkOptions): PortLink;
  /** What looking the sandbox up rejects with from now on. */
  end(sandbox: string, error: BelljarError): void;
}

export interface LinkOptions {
  readonly dial: PortSandbox["dial"];
  readonly access?: PortLink["access"];
}

export async function openPortLab(options: Pick<PortRouterOptions, "isOwnToken" | "limits"> = {}): Promise<PortLab> {
  const sandboxes = new Map<string, { dial: PortSandbox["dial"]; links: PortLink[]; error?: BelljarError }>();
  const failures: unknown[] = [];
  const listener: PortListener = await openPortListener({
    ...options,
    listeners: NO_LISTENERS,
    find: async (id) => {
      const found = sandboxes.get(id);
      if (!found || found.error) throw found?.error ?? new BelljarError("SANDBOX_NOT_FOUND", "No such sandbox");
      return { dial: found.dial, links: async () => found.links, resume: async () => {} };
    },
    onFailure: (error) => void failures.push(error),
  });
  return {
    origin: listener.origin,
    failures,
    link(sandbox, port, { dial, access = "token" }) {
      const link = createPortLink({ sandbox, port, access });
      const known = sandboxes.get(sandbox);
      sandboxes.set(sandbox, { dial, links: [...(known?.links ?? []), link] });
      return link;
    },
    end(sandbox, error) {
      const known = sandboxes.get(sandbox);
      if (known) known.error = error;
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

export interface AskedFor {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  /** The name in Host, without its port. */
  readonly host?: string;
}

export interface Told {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Resolves with the head of the answer; the caller reads or destroys it. */
export async function openAnswer(
  origin: URL,
  { method = "GET", path = "/", headers = {}, body, host }: AskedFor,
): Promise<IncomingMessage> {
  const named = { ...(host !== undefined && { host: `${host}:${origin.port}` }), ...headers } as Record<string, string | string[]>;
  const asked = requestHttp({ host: origin.hostname, port: origin.port, method, path, headers: named, agent: false });
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  asked.on("error", () => undefined);
  return answer;
}

/** `fetch` refuses to set Host. */
export async function askPort(origin: URL, asked: AskedFor): Promise<Told> {
  const answer = await openAnswer(origin, asked);
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() };
}

export function hostOf({ sandbox, port }: PortLink): string {
  return `${port}-${sandbox}.localhost`;
}

/** The header that a program sends. */
export function tokenOf({ token = "" }: PortLink): Readonly<Record<string, string>> {
  return { "belljar-port-token": token };
}

/** Resolves when a program inside has said `ready` on its stdout. */
export async function startInside(guest: Guest, argv: readonly string[], signal: AbortSignal): Promise<void> {
  const process = await guest.exec({ argv, stdin: false, signal });
  process.exited.catch(() => undefined);
  process.stderr.resume();
  const [chunk] = (await once(process.stdout, "data")) as [Buffer];
  if (!chunk.toString().includes("ready")) throw new Error(`The program said ${chunk.toString()}`);
  process.stdout.resume();
}
