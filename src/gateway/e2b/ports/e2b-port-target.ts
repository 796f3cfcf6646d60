import { BelljarError } from "../../../errors.ts";
import { isSecure } from "../../../network/http/is-secure.ts";
import type { PortAddress, PortTarget } from "../../../network/ports/port-target.ts";
import { assertPlainAddress, hostNameOf } from "../../../network/ports/port-target.ts";
import type { SandboxTarget } from "../target.ts";
import { assertWholeTarget, findTarget } from "../target.ts";

/**
 * The port that a request is for: by the host name below the domain, which is asked by TLS alone, else by the two headers. Throws
 * `ARGUMENTS_INVALID` for one of them alone, and `ROUTE_NOT_FOUND` for a name that is not of a port.
 */
export function e2bPortTarget(request: PortAddress, domain: string | undefined): PortTarget {
  const path = assertPlainAddress(request);
  const named = domain !== undefined && isSecure(request) ? findBelow(hostNameOf(request), domain) : undefined;
  if (named) return { style: "host", ...named, path, prefix: "", base: "" };
  assertWholeTarget(request);
  const target = findTarget(request);
  if (!target) throw notFound(domain);
  return { style: "header", ...target, path, prefix: "", base: "" };
}

/** Undefined for a name outside the domain. */
function findBelow(name: string, domain: string): SandboxTarget | undefined {
  if (!name.endsWith(`.${domain}`)) return undefined;
  const label = name.slice(0, -domain.length - 1);
  const target = label.includes(".") ? undefined : findTarget({ headers: { host: name } });
  if (!target) throw notFound(domain);
  return target;
}

function notFound(domain: string | undefined): BelljarError {
  const name = domain === undefined ? "" : `https://PORT-ID.${domain}/, or `;
  return new BelljarError(
    "ROUTE_NOT_FOUND",
    `No port has this address: it is ${name}that of this server with the headers E2b-Sandbox-Id and E2b-Sandbox-Port`,
  );
}
