import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../../errors.ts";
import type { PortRouterOptions, PortSandbox, PortTerms } from "../../../network/ports/port-router.ts";
import { findPortSandbox } from "../../../sandbox/port-sandbox.ts";
import type { Principal, Sandbox } from "../../../sandbox/sandbox.ts";
import { createTokenWatch } from "../../auth/token-watch.ts";
import { assertAwake } from "../control/lifecycle.ts";
import type { MadeWith } from "../control/made-with.ts";
import { madeWith } from "../control/made-with.ts";
import type { E2b } from "../e2b.ts";
import { findTarget } from "../target.ts";
import { tellPortFailure } from "./tell-port-failure.ts";

type Parts = Pick<E2b, "sandboxes" | "keys" | "tokens" | "settings" | "turns">;

/**
 * For the router of every sandbox's ports: those that E2B's clients made are open as these said, and failures at them are told in E2B's form. All
 * others are open by links alone.
 */
export function portsOfAll(e2b: Parts): Pick<PortRouterOptions, "find" | "tell"> {
  const findMade = createFind(e2b);
  const findPlain = findPortSandbox(e2b.sandboxes);
  return {
    find: async (id) => (await findMade(id)) ?? findPlain(id),
    async tell(failure, request) {
      const id = findTarget(request)?.sandbox;
      return id !== undefined && (await madeOf(e2b, id)) ? tellPortFailure(failure, request) : undefined;
    },
  };
}

/** Ports of the sandboxes that E2B's clients made. Any other one is unknown. */
export function findE2bPort(e2b: Parts): (id: string) => Promise<PortSandbox> {
  const findMade = createFind(e2b);
  return async (id) => {
    const found = await findMade(id);
    if (found) return found;
    throw new BelljarError("SANDBOX_NOT_FOUND", `No sandbox ${id}`);
  };
}

/** Finds none that no client of E2B's made. */
function createFind(e2b: Parts): (id: string) => Promise<PortSandbox | undefined> {
  const watch = createOpenedWatch();
  return async (id) => {
    const made = await madeOf(e2b, id);
    return made && openMade(e2b, { sandbox: await e2b.sandboxes.getLinked(id), made, watch });
  };
}

interface OpenedWatch {
  add(request: IncomingMessage, exchange: EventEmitter, isOpen: () => Promise<boolean>): void;
}

/** Cuts what is open to a request no more, within seconds: answers and WebSockets may last for hours. */
function createOpenedWatch(): OpenedWatch {
  const asked = new WeakMap<IncomingMessage, () => Promise<boolean>>();
  const authenticate = async (request: IncomingMessage): Promise<Principal> => {
    if (await asked.get(request)?.()) return NOBODY;
    throw new BelljarError("UNAUTHORIZED", "The port is open to this request no more");
  };
  const watch = createTokenWatch({ authenticate, keyOf: (request) => request });
  return {
    add(request, exchange, isOpen) {
      asked.set(request, isOpen);
      watch.add(request, exchange);
    },
  };
}

/** Whoever uses a port acts as nobody. */
const NOBODY: Principal = { id: "", name: "" };

/** Undefined for a sandbox that no client of E2B's made. It may have ended. */
async function madeOf({ sandboxes }: Parts, id: string): Promise<MadeWith | undefined> {
  return madeWith((await sandboxes.labelsOf(id)) ?? {});
}

interface Made {
  readonly sandbox: Sandbox;
  readonly made: MadeWith;
  readonly watch: OpenedWatch;
}

function openMade(e2b: Parts, { sandbox, ...parts }: Made): PortSandbox {
  return {
    owner: sandbox.owner,
    dial: (port, signal) => sandbox.guest.dial(port, signal),
    links: () => sandbox.portLinks(),
    async resume(signal) {
      await assertAwake(e2b, sandbox, signal);
      // One that sleeps because nobody used it: a connection that was kept would wait.
      await sandbox.resume();
    },
    terms: termsOf(e2b, { sandbox, ...parts }),
  };
}

function termsOf({ keys, tokens, settings }: Parts, { sandbox: { id, owner }, made, watch }: Made): PortTerms {
  const { allowPublicTraffic, maskRequestHost } = made;
  const isPublic = settings.publicTraffic && allowPublicTraffic !== false;
  const hasKey = async (): Promise<boolean> => (await keys.of(owner)).length > 0;
  return {
    // In path style a page would have the server's own address: that needs a link.
    async admits(request, { style }) {
      const isOpen = style !== "path" && (isPublic || holdsToken(request, (token) => tokens.isValid("traffic", id, token)));
      return isOpen && (await hasKey());
    },
    opened: (request, exchange) => watch.add(request, exchange, hasKey),
    hostFor: (port) => maskFor(maskRequestHost, port),
  };
}

function holdsToken({ headers }: Pick<IncomingMessage, "headers">, isValid: (token: string) => boolean): boolean {
  const token = headers["e2b-traffic-access-token"];
  return typeof token === "string" && isValid(token);
}

/** A host, with or without a port. Nothing else goes into a header of a request. */
const HOST = /^[A-Za-z0-9._-]{1,253}(?::\d{1,5})?$/;

function maskFor(mask: string | undefined, port: number): string | undefined {
  const host = mask?.replaceAll("${PORT}", String(port));
  return host !== undefined && HOST.test(host) ? host : undefined;
}
