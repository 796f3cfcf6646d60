import { randomBytes } from "node:crypto";
import { BelljarError } from "../../errors.ts";
import type { PortLink } from "./port-link.ts";

const TOKEN_BYTES = 32;

/** A new link, with a token of its own unless it is public. Throws `ARGUMENTS_INVALID` for what is no port. */
export function createPortLink({ sandbox, port, access }: Pick<PortLink, "sandbox" | "port" | "access">): PortLink {
  assertPort(port);
  const link = { sandbox, port, access, createdAt: new Date() };
  return access === "public" ? link : { ...link, token: randomBytes(TOKEN_BYTES).toString("base64url") };
}

/** Throws `ARGUMENTS_INVALID`. */
export function assertPort(port: number): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  throw new BelljarError("ARGUMENTS_INVALID", `${port} is not a port: name one from 1 to 65535`);
}
