import { randomBytes } from "node:crypto";
import { BelljarError } from "../../errors.ts";
import { assertStorableTime } from "../../files/storable-time.ts";

/** Gives access from outside to one port of a sandbox. */
export interface PortLink {
  readonly sandbox: string;
  readonly port: number;
  /** `token`: only with the link's token. `public`: for everybody who can reach the server. */
  readonly access: "token" | "public";
  /** 32 random bytes in base64url; absent when public. */
  readonly token?: string;
  readonly createdAt: Date;
  /** From then on it gives access to nobody. Absent: it does until it is removed. */
  readonly expiresAt?: Date | undefined;
}

/** A port that a program inside listens on, with or without a link. */
export interface ListeningPort {
  readonly port: number;
  /** The address that it listens on, such as `127.0.0.1` or `::`. */
  readonly address: string;
  readonly uid: number;
}

const TOKEN_BYTES = 32;

/** Creates a link, with a new token unless it is public. Throws `ARGUMENTS_INVALID` for an invalid port or time. */
export function createPortLink({
  sandbox,
  port,
  access,
  expiresAt,
}: Pick<PortLink, "sandbox" | "port" | "access" | "expiresAt">): PortLink {
  assertPort(port);
  if (expiresAt) assertStorableTime("The end of the link", expiresAt);
  const link = { sandbox, port, access, createdAt: new Date(), ...(expiresAt && { expiresAt }) };
  return access === "public" ? link : { ...link, token: randomBytes(TOKEN_BYTES).toString("base64url") };
}

/** Whether it still gives access. */
export function isOpenLink({ expiresAt }: Pick<PortLink, "expiresAt">): boolean {
  return !expiresAt || expiresAt.getTime() > Date.now();
}

/** Throws `ARGUMENTS_INVALID`. */
export function assertPort(port: number): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  throw new BelljarError("ARGUMENTS_INVALID", `${port} is not a port: name one from 1 to 65535`);
}
