import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../../errors.ts";
import type { PortRouterOptions, PortSandbox, PortTerms } from "../../../network/ports/port-router.ts";
import { findPortSandbox } from "../../../sandbox/port-sandbox.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
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
  const findPlain = findPortSandbox(e2b.sandboxes);
  return {
    find: async (id) => (await findMade(e2b, id)) ?? findPlain(id),
    async tell(failure, request) {
      const id = findTarget(request)?.sandbox;
      return id !== undefined && (await madeOf(e2b, id)) ? tellPortFailure(failure, request) : undefined;
    },
  };
}

/** Ports of the sandboxes that E2B's clients made. Any other one is unknown. */
export function findE2bPort(e2b: Parts): (id: string) => Promise<PortSandbox> {
  return async (id) => {
    const found = await findMade(e2b, id);
    if (found) return found;
    throw new BelljarError("SANDBOX_NOT_FOUND", `No sandbox ${id}`);
  };
}

async function findMade(e2b: Parts, id: string): Promise<PortSandbox | undefined> {
  const made = await madeOf(e2b, id);
  return made && openMade(e2b, await e2b.sandboxes.getLinked(id), made);
}

/** Undefined for a sandbox that no client of E2B's made. It may have ended. */
async function madeOf({ sandboxes }: Parts, id: string): Promise<MadeWith | undefined> {
  return madeWith((await sandboxes.labelsOf(id)) ?? {});
}

function openMade(e2b: Parts, sandbox: Sandbox, made: MadeWith): PortSandbox {
  return {
    dial: (port, signal) => sandbox.guest.dial(port, signal),
    links: () => sandbox.portLinks(),
    async resume() {
      await assertAwake(e2b, sandbox);
      // One that sleeps because nobody used it: a connection that was kept would wait.
      await sandbox.resume();
    },
    terms: termsOf(e2b, sandbox, made),
  };
}

function termsOf({ keys, tokens, settings }: Parts, { id, owner }: Sandbox, { allowPublicTraffic, maskRequestHost }: MadeWith): PortTerms {
  const isPublic = settings.publicTraffic && allowPublicTraffic !== false;
  return {
    // In path style a page would have the server's own address: that needs a link.
    async admits(request, { style }) {
      const isOpen = style !== "path" && (isPublic || holdsToken(request, (token) => tokens.isValid("traffic", id, token)));
      return isOpen && (await keys.of(owner)).length > 0;
    },
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
