import type { IncomingMessage } from "node:http";
import { closeSignal } from "../../async/close-signal.ts";
import { BelljarError } from "../../errors.ts";
import type { Principal, Sandbox } from "../../sandbox/sandbox.ts";
import { assertAwake } from "./control/lifecycle.ts";
import type { E2b } from "./e2b.ts";
import { assertWholeTarget, findTarget } from "./target.ts";

/** A request to a sandbox plane that was let in. */

interface AdmittedTo {
  readonly sandboxes: Pick<E2b["sandboxes"], "getLinked">;
  readonly keys: E2b["keys"];
  readonly turns: E2b["turns"];
}

/** Who asks on the planes of sandboxes: whoever holds a token of the sandbox. */
export interface SandboxAdmission {
  /** For a surface's `identify`. */
  readonly identify: (request: IncomingMessage) => Promise<Principal | undefined>;
  /** The sandbox of a request that was let in. */
  of(request: object): Sandbox;
}

/** Tells which sandbox the request is for and that it may use that; undefined: it may not. */
export type FindHolder = (request: IncomingMessage) => Promise<string | undefined>;

/**
 * A sandbox is found for whoever holds its token while its owner has a key: the request then acts as the owner. Rejects as `getLinked` does,
 * after the token was looked at, so that nobody learns by an id alone whether it lives. A paused sandbox rejects too, unless its maker chose
 * that requests wake it.
 */
export function createSandboxAdmission({ sandboxes, keys, turns }: AdmittedTo, findHolder: FindHolder): SandboxAdmission {
  const admitted = new WeakMap<object, Sandbox>();
  return {
    async identify(request) {
      assertWholeTarget(request);
      const id = await findHolder(request);
      if (id === undefined) return undefined;
      const sandbox = await sandboxes.getLinked(id);
      const owner = sandbox.owner;
      const grants = await keys.of(owner);
      if (grants.length === 0) return undefined;
      // A request that is being served is looked at again every few seconds: that wakes nobody, and ends no stream of one that was paused.
      if (!admitted.has(request)) await wake({ turns }, sandbox, request);
      admitted.set(request, sandbox);
      return { id: owner, name: owner.replace(/^token:/, ""), grants: { surfaces: ["e2b"] } };
    },
    of(request) {
      const sandbox = admitted.get(request);
      // Fails closed: a route that is open to everybody has no sandbox.
      if (!sandbox) throw new TypeError("A request is served that was never admitted to a sandbox");
      return sandbox;
    },
  };
}

/** A client that goes while others have their turns waits no longer. */
async function wake(turns: Pick<E2b, "turns">, sandbox: Sandbox, { socket }: IncomingMessage): Promise<void> {
  using closed = closeSignal(socket);
  await assertAwake(turns, sandbox, closed.signal);
}

/** The sandbox that the request's `X-Access-Token` opens: that which it names, or else the one that the token is for. */
export function holderOfAccess({ tokens }: Pick<E2b, "tokens">, request: Pick<IncomingMessage, "headers">): string | undefined {
  const token = request.headers["x-access-token"];
  if (typeof token !== "string") return undefined;
  const id = tokens.idOf("access", token);
  const target = findTarget(request);
  return target === undefined || target.sandbox === id ? id : undefined;
}

/** For `identify` of a request that names a sandbox and holds nothing for it. */
export function unauthorized(): BelljarError {
  return new BelljarError("UNAUTHORIZED", "unauthorized access, please provide a valid access token or method signing if supported");
}
