import type { BelljarError } from "../errors.ts";
import { findUseRefusal } from "./grants.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import type { Principal, Sandbox } from "./sandbox.ts";

/**
 * A sandbox as a principal with grants has it: what it changes is held to them. One that reaches more than they allow, as another token
 * of the same owner may have made it, it can look at and end, and no more.
 */
export async function grantedSandbox(sandbox: LocalSandbox, principal: Principal): Promise<Sandbox> {
  if (principal.grants === undefined) return sandbox;
  const refusal = await findUseRefusal(principal, sandbox.record, await sandbox.networkState());
  return { ...delegate(sandbox, principal), ...(refusal && lock(refusal)) };
}

function delegate(sandbox: LocalSandbox, principal: Principal): Sandbox {
  return {
    id: sandbox.id,
    guest: sandbox.guest,
    ended: sandbox.ended,
    connect: (signal) => sandbox.connect(signal),
    info: () => sandbox.info(),
    usage: () => sandbox.usage(),
    setNetwork: (policy, options) => sandbox.setNetwork(policy, { ...options, principal }),
    environment: () => sandbox.environment(),
    ports: () => sandbox.ports(),
    portLinks: () => sandbox.portLinks(),
    registerPort: (port, access) => sandbox.registerPort(port, access),
    extend: (timeoutMs) => sandbox.extend(timeoutMs),
    kill: () => sandbox.kill(),
  };
}

/** All but its id, its info, its usage and its end. */
function lock(refusal: BelljarError): Omit<Sandbox, "id" | "ended" | "info" | "usage" | "kill"> {
  const refuse = (): Promise<never> => Promise.reject(refusal);
  return {
    guest: new Proxy({} as Sandbox["guest"], {
      get() {
        throw refusal;
      },
    }),
    connect: refuse,
    setNetwork: refuse,
    environment: refuse,
    ports: refuse,
    portLinks: refuse,
    registerPort: refuse,
    extend: refuse,
  };
}
